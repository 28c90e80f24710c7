package predict

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// How much of the past counts. Both are choices of this package.
const (
	runsKept   = 256  // latest runs of a recurring job
	typicalOf  = 4096 // latest jobs that the typical job is taken from, of all and of each number of GPUs
	enoughJobs = 5    // jobs of as many GPUs, below which the typical job of all sizes is taken
)

// firstGuess is the isolated run time of a job before any other has ended.
const firstGuess = trace.FirstGuess

// Key names a recurring job: its Group where it has one, else who submits it, how many workers of what request, and what
// they train how. The zero Key is that of a job of which nothing tells whose it is: it recurs with no other.
type Key struct {
	group, user, model      string
	workers, stages, tensor int32
	request                 cluster.Amount
}

// KeyOf returns the Key of the recurring job that a job is a run of.
func KeyOf(s *cluster.JobSpec) Key {
	if s.Group != "" {
		return Key{group: s.Group}
	}
	user := s.User
	if user == "" {
		if user = s.Tenant; user == "" {
			return Key{}
		}
	}
	return Key{
		user: user, model: s.Model, workers: s.Workers, stages: max(s.Stages, 1), tensor: max(s.Tensor, 1), request: s.Request,
	}
}

// runs is the latest numbers of something, such as the iterations of a recurring job's runs.
type runs struct {
	latest []float64 // a ring once it is full
	next   int       // where the ring goes on
	sorted []float64 // the same numbers, ascending
}

// add takes one more number and forgets the oldest of more than most.
func (r *runs) add(x float64, most int) {
	if len(r.latest) < most {
		r.latest = append(r.latest, x)
	} else {
		old, _ := slices.BinarySearch(r.sorted, r.latest[r.next])
		r.sorted = slices.Delete(r.sorted, old, old+1)
		r.latest[r.next] = x
		r.next = (r.next + 1) % most
	}
	at, _ := slices.BinarySearch(r.sorted, x)
	r.sorted = slices.Insert(r.sorted, at, x)
}

func (r *runs) count() int {
	if r == nil {
		return 0
	}
	return len(r.latest)
}

func (r *runs) mean() float64 {
	sum := 0.0
	for _, x := range r.sorted {
		sum += x
	}
	return sum / float64(len(r.sorted))
}

func (r *runs) median() float64 {
	n := len(r.sorted)
	return (r.sorted[(n-1)/2] + r.sorted[n/2]) / 2
}

// last is the mean of the n numbers added last, or of all where there are fewer.
func (r *runs) last(n int) float64 {
	n = min(n, len(r.latest))
	sum := 0.0
	for i := range n {
		sum += r.latest[(r.next+len(r.latest)-1-i)%len(r.latest)]
	}
	return sum / float64(n)
}

func (r *runs) clone() *runs {
	return &runs{slices.Clone(r.latest), r.next, slices.Clone(r.sorted)}
}

// history is the jobs that have ended.
type history struct {
	alike map[Key]*runs   // iterations, by recurring job
	sizes map[int64]*runs // seconds of isolated run time, by thousandths of GPUs
	all   runs            // the same of all jobs
}

func newHistory() *history {
	return &history{alike: map[Key]*runs{}, sizes: map[int64]*runs{}}
}

func (h *history) clone() *history {
	c := newHistory()
	for k, r := range h.alike {
		c.alike[k] = r.clone()
	}
	for k, r := range h.sizes {
		c.sizes[k] = r.clone()
	}
	c.all = *h.all.clone()
	return c
}

// add takes a job that has ended.
func (h *history) add(s *cluster.JobSpec, iterations float64) {
	iterations = believed(iterations)
	if k := KeyOf(s); k != (Key{}) {
		entry(h.alike, k).add(iterations, runsKept)
	}
	seconds := iterations * physics.IterationSeconds(s)
	entry(h.sizes, s.GPUMilli()).add(seconds, typicalOf)
	h.all.add(seconds, typicalOf)
}

// mostIterations bounds what is believed of a job: far above any, and finite.
const mostIterations = 1e18

// believed brings a number of iterations into range; NaN is the least.
func believed(iterations float64) float64 {
	if !(iterations > 1) {
		return 1
	}
	return min(iterations, mostIterations)
}

func entry[K comparable](m map[K]*runs, k K) *runs {
	r := m[k]
	if r == nil {
		r = &runs{}
		m[k] = r
	}
	return r
}

// runs returns those of the recurring job that the job is a run of, nil if none has ended.
func (h *history) runs(s *cluster.JobSpec) *runs { return h.alike[KeyOf(s)] }

// guess is the group median, or the answer of a cold start.
func (h *history) guess(s *cluster.JobSpec) float64 {
	if r := h.runs(s); r.count() > 0 {
		return r.median()
	}
	return h.typical(s)
}

// typical is the answer of a cold start: the iterations of a job that runs as long as the median job of as many GPUs, or,
// where few such jobs have ended, of all. Run times and not iterations are what such jobs have in common, for they train
// other models.
func (h *history) typical(s *cluster.JobSpec) float64 {
	guess := firstGuess.Seconds()
	if r := h.sizes[s.GPUMilli()]; r.count() >= enoughJobs {
		guess = r.median()
	} else if h.all.count() > 0 {
		guess = h.all.median()
	}
	return believed(guess / physics.IterationSeconds(s))
}

// granted is what the scenario's estimate comes to in iterations.
func granted(s *cluster.JobSpec) (iterations float64, ok bool) {
	if s.Estimate <= 0 {
		return 0, false
	}
	return believed(s.Estimate.Seconds() / physics.IterationSeconds(s)), true
}

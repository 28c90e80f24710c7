package predict

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
)

// How much of the past is used: our own choices.
const (
	runsKept   = 256  // number of the latest runs of a recurring job
	typicalOf  = 4096 // number of the latest jobs from which the typical job is computed, over all sizes and for each number of GPUs
	enoughJobs = 5    // with fewer jobs of the same number of GPUs, the typical job of all sizes is used
)

// firstGuess is the predicted isolated run time of a job before any job has ended.
const firstGuess = trace.FirstGuess

// Key identifies a recurring job: by its Group if it has one, otherwise by who submits it, its number of workers, its request
// and how it trains which model. The zero Key stands for a job without group, user and tenant, which recurs with no other job.
type Key struct {
	Group   string   `predictor:"group,text"`
	User    string   `predictor:"user,text"`
	Model   string   `predictor:"model,text"`
	Workers int32    `predictor:"workers"`
	Stages  int32    `predictor:"stages"`
	Tensor  int32    `predictor:"tensor"`
	Request [4]int32 `predictor:"request"` // the fields of cluster.Amount
}

// KeyOf returns the key of the recurring job that a job is a run of.
func KeyOf(s *cluster.JobSpec) Key {
	if s.Group != "" {
		return Key{Group: s.Group}
	}
	user := s.User
	if user == "" {
		if user = s.Tenant; user == "" {
			return Key{}
		}
	}
	r := &s.Request
	return Key{
		User: user, Model: s.Model, Workers: s.Workers, Stages: max(s.Stages, 1), Tensor: max(s.Tensor, 1),
		Request: [4]int32{r.GPUMilli, r.CPUMilli, r.MemMiB, r.GPUMemMiB},
	}
}

// runs contains the latest of a series of numbers, such as the iterations of a recurring job's runs.
type runs struct {
	Latest []float64 `predictor:"latest,need,-1e30..1e30,most=typicalOf"` // a ring once it is full
	Next   int       `predictor:"next"`                                   // place of the oldest in the ring
	sorted []float64 // the same numbers, ascending
}

// add adds a number and drops the oldest if there are then more than most.
func (r *runs) add(x float64, most int) {
	if len(r.Latest) < most {
		r.Latest = append(r.Latest, x)
	} else {
		old, _ := slices.BinarySearch(r.sorted, r.Latest[r.Next])
		r.sorted = slices.Delete(r.sorted, old, old+1)
		r.Latest[r.Next] = x
		r.Next = (r.Next + 1) % most
	}
	at, _ := slices.BinarySearch(r.sorted, x)
	r.sorted = slices.Insert(r.sorted, at, x)
}

func (r *runs) count() int {
	if r == nil {
		return 0
	}
	return len(r.Latest)
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

// last returns the mean of the n numbers added last, or of all if there are fewer.
func (r *runs) last(n int) float64 {
	n = min(n, len(r.Latest))
	sum := 0.0
	for i := range n {
		sum += r.Latest[(r.Next+len(r.Latest)-1-i)%len(r.Latest)]
	}
	return sum / float64(n)
}

func (r *runs) clone() *runs {
	return &runs{slices.Clone(r.Latest), r.Next, slices.Clone(r.sorted)}
}

// history summarises the jobs that have ended.
type history struct {
	alike map[Key]*runs  // iterations, by recurring job
	sizes map[size]*runs // isolated run times in seconds, by thousandths of GPUs
	all   runs           // isolated run times of all jobs
}

// size is a number of GPUs.
type size struct {
	Milli int64 `predictor:"gpu_milli,need"`
}

func newHistory() *history {
	return &history{alike: map[Key]*runs{}, sizes: map[size]*runs{}}
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

// add adds a job that has ended.
func (h *history) add(s *cluster.JobSpec, iterations float64) {
	iterations = believed(iterations)
	if k := KeyOf(s); k != (Key{}) {
		valueOf(h.alike, k).add(iterations, runsKept)
	}
	seconds := iterations * physics.IterationSeconds(s)
	valueOf(h.sizes, size{s.GPUMilli()}).add(seconds, typicalOf)
	h.all.add(seconds, typicalOf)
}

// mostIterations is the largest number of iterations that is accepted: far above any real one, and finite.
const mostIterations = 1e18

// believed clamps a number of iterations to its range; NaN becomes the least.
func believed(iterations float64) float64 {
	if !(iterations > 1) {
		return 1
	}
	return min(iterations, mostIterations)
}

// valueOf returns the value of a key, a new one if there is none.
func valueOf[K comparable, V any](m map[K]*V, k K) *V {
	v := m[k]
	if v == nil {
		v = new(V)
		m[k] = v
	}
	return v
}

// runs returns the runs of the job's recurring job, nil if none has ended.
func (h *history) runs(s *cluster.JobSpec) *runs { return h.alike[KeyOf(s)] }

// guess returns the prediction of the group median, or that of a cold start.
func (h *history) guess(s *cluster.JobSpec) float64 {
	if r := h.runs(s); r.count() > 0 {
		return r.median()
	}
	return h.typical(s)
}

// typical returns the prediction of a cold start: the iterations of a job that runs as long as the median job with the same
// number of GPUs, or the median of all jobs if few such jobs have ended. The median is over run times and not over iterations,
// because these jobs train different models.
func (h *history) typical(s *cluster.JobSpec) float64 {
	guess := firstGuess.Seconds()
	if r := h.sizes[size{s.GPUMilli()}]; r.count() >= enoughJobs {
		guess = r.median()
	} else if h.all.count() > 0 {
		guess = h.all.median()
	}
	return believed(guess / physics.IterationSeconds(s))
}

// granted converts the scenario's estimate to iterations; ok is false without an estimate.
func granted(s *cluster.JobSpec) (iterations float64, ok bool) {
	if s.Estimate <= 0 {
		return 0, false
	}
	return believed(s.Estimate.Seconds() / physics.IterationSeconds(s)), true
}

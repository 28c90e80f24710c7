package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// recentTemplates is the number of a user's latest templates that can recur.
const recentTemplates = 4

// template is a job that its user submits repeatedly.
type template struct {
	size int
	log  float64 // ln(seconds)
}

// Generate draws n jobs in order of arrival. Their ids are 0, 1, ..., and submit times and durations are whole seconds. Time 0 is
// hour 0 of the daily cycle, so the first job arrives a little later; Window moves it to 0. The same parameters, n and seed give
// the same workload, and a longer draw begins with the jobs of a shorter one.
func Generate(p Params, n int, seed uint64) (Workload, error) {
	if err := p.Validate(); err != nil {
		return Workload{}, err
	}
	if n < 1 || n > math.MaxInt32 {
		return Workload{}, fmt.Errorf("generate %d jobs: want 1 to %d", n, math.MaxInt32)
	}
	w := Workload{Name: p.Name, Jobs: make([]Job, n), Report: Report{Rows: n, Jobs: n}}
	if err := arrive(w.Jobs, p.Arrivals, seed); err != nil {
		return Workload{}, err
	}
	var names arena
	users := newUsers(p.Users, rng.Stream(seed, "trace", "users"))
	shapes := newShapes(p, rng.Stream(seed, "trace", "shapes"))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		j.Name = names.keep(strconv.Itoa(i))
		u := users.next()
		j.User = u.name
		shapes.fill(j, u)
	}
	return w, nil
}

// arrive draws the submit times.
func arrive(jobs []Job, a ArrivalParams, seed uint64) error {
	gaps := rng.Stream(seed, "trace", "gaps")
	days := rng.Stream(seed, "trace", "days")
	shape := 1 / (a.CV * a.CV)
	var mean float64
	for _, r := range a.Hourly {
		mean += r / 24
	}
	const hour = 3600.0
	var hours int // whole hours passed
	var into float64
	drawDay := func() float64 { return math.Exp(a.DaySpread*days.NormFloat64() - a.DaySpread*a.DaySpread/2) }
	day := drawDay()
	for i := range jobs {
		// The gap is drawn on a clock with one arrival per unit of time on average. left is what remains of it; each hour uses it
		// up at the hour's rate.
		for left := gamma(gaps, shape) / shape; ; {
			rate := a.PerDay / (24 * hour) * day * a.Hourly[hours%24] / mean
			spend := rate * (hour - into)
			if left < spend {
				into += left / rate
				break
			}
			left -= spend
			into = 0
			if hours++; hours%24 == 0 {
				day = drawDay()
			}
			if hours > int(maxTime/time.Hour) {
				return fmt.Errorf("generate %d jobs: job %d would arrive after %v at %v a day", len(jobs), i, maxTime, a.PerDay)
			}
		}
		jobs[i].Submit = time.Duration(hours)*time.Hour + time.Duration(into)*time.Second
	}
	return nil
}

// gamma draws from the gamma distribution with the given shape and scale 1 (Marsaglia and Tsang 2000).
func gamma(r *rand.Rand, shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = math.Pow(1-r.Float64(), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(1-r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return boost * d * v
		}
	}
}

// user is one user with their latest templates.
type user struct {
	name   string
	recent []template
}

// users draws the user of each job.
type users struct {
	params UserParams
	rand   *rand.Rand
	cum    []float64 // running sum of k^-Zipf
	all    []user
	last   int // -1 before the first job
}

func newUsers(p UserParams, r *rand.Rand) *users {
	u := &users{params: p, rand: r, cum: make([]float64, p.Count), all: make([]user, p.Count), last: -1}
	var sum float64
	for k := range u.cum {
		sum += math.Pow(float64(k+1), -p.Zipf)
		u.cum[k] = sum
	}
	return u
}

func (u *users) next() *user {
	// Draw both numbers every time, so that the draws of one job do not shift those of the next.
	stay, pick := u.rand.Float64(), u.rand.Float64()
	if u.last < 0 || stay >= u.params.Sticky {
		u.last = search(u.cum, pick)
	}
	who := &u.all[u.last]
	if who.name == "" {
		who.name = "user-" + strconv.Itoa(u.last+1)
	}
	return who
}

// search returns the index of the entry of a running sum into which the fraction pick of its total falls.
func search(cum []float64, pick float64) int {
	return min(len(cum)-1, sort.SearchFloat64s(cum, pick*cum[len(cum)-1]))
}

// shapes draws what a user submits: gang, request, work and status.
type shapes struct {
	params Params
	rand   *rand.Rand
	cum    []float64 // running sum of the size shares
}

func newShapes(p Params, r *rand.Rand) *shapes {
	s := &shapes{params: p, rand: r, cum: make([]float64, len(p.Sizes))}
	var sum float64
	for i := range p.Sizes {
		sum += p.Sizes[i].Share
		s.cum[i] = sum
	}
	return s
}

// fill sets the gang, the request, the work and the status of a job of the given user. It always draws five numbers, so that the
// draws of one job do not shift those of the next.
func (s *shapes) fill(j *Job, u *user) {
	repeat, pick, share := s.rand.Float64(), s.rand.Float64(), s.rand.Float64()
	jitter, end := s.rand.NormFloat64(), s.rand.Float64()
	var t template
	log := 0.0
	if n := len(u.recent); n > 0 && repeat < s.params.Users.Repeat {
		t = u.recent[int(pick*float64(n))]
		log = t.log + s.params.Users.Spread*jitter
	} else {
		t.size = search(s.cum, pick)
		d := s.params.class(s.params.Sizes[t.size].Workers)
		t.log = d.Quantile(share)
		log = t.log
		if n == recentTemplates {
			copy(u.recent, u.recent[1:])
			u.recent = u.recent[:n-1]
		}
		u.recent = append(u.recent, t)
	}
	size := s.params.Sizes[t.size]
	d := s.params.class(size.Workers)
	j.Workers = size.Workers
	j.Request = cluster.Amount{GPUMilli: size.GPUMilli, CPUMilli: size.CPUMilli, MemMiB: size.MemMiB}
	j.Work = time.Duration(max(1, math.Round(min(d.Max, math.Exp(log))))) * time.Second
	switch {
	case end < d.Passed:
		j.Status = Passed
	case end < d.Passed+d.Failed:
		j.Status = Failed
	case end < d.Passed+d.Failed+d.Killed:
		j.Status = Killed
	}
}

package trace

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Stats contains statistics of the jobs of a workload; Describe computes it.
type Stats struct {
	Jobs       int           `json:"jobs"`
	Fractional int           `json:"fractional_jobs"`    // those whose workers hold less than a whole GPU
	Span       time.Duration `json:"-"`                  // from the first submit to the last
	GPUHours   float64       `json:"gpu_hours"`          // sum of GPUs x Work
	Gangs      []Gang        `json:"gangs"`              // by number of workers, smallest first
	Durations  []Quantile    `json:"duration_quantiles"` // quantiles of Work: p10, p25, p50, p75, p90, p95, p99
	Max        float64       `json:"max_duration_s"`     // the longest Work
	Mean       float64       `json:"mean_duration_s"`    // of Work
	Users      int           `json:"users"`              // distinct names, the empty one not counted
	Tenants    int           `json:"tenants"`            // distinct names, the empty one not counted
	PerDay     []int         `json:"arrivals_per_day"`   // arrivals in each 24 hours from the first submit
	Statuses   [4]int        `json:"-"`                  // jobs by Status
	ArrivalCV  float64       `json:"arrival_cv"`         // deviation over mean of times between arrivals; 0 below 3 jobs
}

// Gang is one entry of the gang-size histogram.
type Gang struct {
	Workers  int32   `json:"workers"`
	Jobs     int     `json:"jobs"`
	GPUHours float64 `json:"gpu_hours"`
}

// Quantile is one quantile of Work, in seconds, by nearest rank.
type Quantile struct {
	P       float64 `json:"quantile"` // 0 to 1
	Seconds float64 `json:"duration_s"`
}

// Days returns the span in days.
func (s Stats) Days() float64 { return s.Span.Hours() / 24 }

// Load returns the offered load on a cluster with the given number of GPUs: the GPU-time that the jobs ask for, divided by Span x
// gpus. It is infinite if all jobs arrive at once, and 0 without jobs or GPUs.
func (s Stats) Load(gpus int) float64 {
	if s.GPUHours == 0 || gpus <= 0 {
		return 0
	}
	return s.GPUHours / (s.Span.Hours() * float64(gpus))
}

// Describe computes the statistics of jobs, which may be in any order. It does not change them.
func Describe(jobs []Job) Stats {
	s := Stats{Jobs: len(jobs), Span: span(jobs)}
	if len(jobs) == 0 {
		return s
	}
	first := firstSubmit(jobs)
	s.PerDay = make([]int, int(s.Span/(24*time.Hour))+1)
	users, tenants, gangs := map[string]bool{}, map[string]bool{}, map[int32]int{}
	work := make([]time.Duration, len(jobs))
	arrivals := make([]time.Duration, len(jobs))
	var total float64 // seconds
	for i := range jobs {
		j := &jobs[i]
		if j.Request.GPUMilli < cluster.WholeGPU {
			s.Fractional++
		}
		if j.User != "" {
			users[j.User] = true
		}
		if j.Tenant != "" {
			tenants[j.Tenant] = true
		}
		at, ok := gangs[j.Workers]
		if !ok {
			at = len(s.Gangs)
			gangs[j.Workers] = at
			s.Gangs = append(s.Gangs, Gang{Workers: j.Workers})
		}
		hours := gpus(j) * j.Work.Hours()
		s.Gangs[at].Jobs++
		s.Gangs[at].GPUHours += hours
		s.GPUHours += hours
		s.PerDay[int((j.Submit-first)/(24*time.Hour))]++
		if int(j.Status) < len(s.Statuses) {
			s.Statuses[j.Status]++
		}
		work[i], arrivals[i] = j.Work, j.Submit
		total += j.Work.Seconds()
	}
	s.Users, s.Tenants = len(users), len(tenants)
	slices.SortFunc(s.Gangs, func(a, b Gang) int { return cmp.Compare(a.Workers, b.Workers) })
	slices.Sort(work)
	slices.Sort(arrivals)
	for _, p := range [...]float64{.10, .25, .50, .75, .90, .95, .99} {
		s.Durations = append(s.Durations, Quantile{p, nearestRank(work, p).Seconds()})
	}
	s.Max = work[len(work)-1].Seconds()
	s.Mean = total / float64(len(jobs))
	s.ArrivalCV = gapCV(arrivals)
	return s
}

// gpus returns the number of whole GPUs that a job's workers ask for together.
func gpus(j *Job) float64 {
	return float64(j.Workers) * float64(j.Request.GPUMilli) / cluster.WholeGPU
}

// nearestRank returns the smallest value in the sorted slice such that at least a fraction p of the values are less than or equal
// to it.
func nearestRank[T any](sorted []T, p float64) T {
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(p*float64(len(sorted))))-1))]
}

// gapCV returns the coefficient of variation of the gaps between sorted times.
func gapCV[T ~int64 | ~float64](sorted []T) float64 {
	n := float64(len(sorted) - 1)
	if n < 2 || sorted[len(sorted)-1] == sorted[0] {
		return 0
	}
	mean := float64(sorted[len(sorted)-1]-sorted[0]) / n
	var ss float64
	for i := 1; i < len(sorted); i++ {
		d := float64(sorted[i]-sorted[i-1]) - mean
		ss += d * d
	}
	return math.Sqrt(ss/n) / mean
}

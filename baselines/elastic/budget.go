package elastic

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// budget is what the cluster's totals leave for the jobs of one allocation: GPUs in order on open servers, and what their
// tenants' quotas allow. It knows neither GPU types nor fragments; both show when the jobs are placed.
type budget struct {
	state    *cluster.View
	gpuMilli int64
	tenants  allowance
}

// newBudget counts what is left beside running jobs that are not among these, as if these ran with nothing.
func newBudget(s *cluster.View, jobs []Job) *budget {
	b := &budget{state: s, gpuMilli: s.Total().GPUMilli, tenants: allowance{}}
	for _, id := range s.Running() {
		b.gpuMilli -= s.Placement(id).GPUMilli()
	}
	for i := range jobs {
		if id := jobs[i].ID; s.Phase(id) == cluster.Running {
			b.add(id, s.Placement(id).GPUMilli())
		}
	}
	return b
}

func (b *budget) add(id cluster.JobID, milli int64) {
	b.gpuMilli += milli
	b.tenants.take(b.state, id, -milli)
}

// fits counts the workers of the job that are left.
func (b *budget) fits(j *Job) int32 {
	left := min(b.gpuMilli, b.tenants.left(b.state, j.ID))
	return int32(min(max(left, 0)/max(j.GPUMilli, 1), math.MaxInt32))
}

// give hands out workers to the job beyond those that it has, if there are as many.
func (b *budget) give(j *Job, workers int32) bool {
	if b.fits(j) < workers {
		return false
	}
	b.must(j, workers)
	return true
}

// must hands out workers that the job cannot be denied.
func (b *budget) must(j *Job, workers int32) {
	j.Want += workers
	b.add(j.ID, -int64(workers)*j.GPUMilli)
}

// keep lets running jobs have their base and takes everything else away.
func (b *budget) keep(jobs []Job) {
	for i := range jobs {
		jobs[i].Want = 0
		if jobs[i].Now > 0 {
			b.must(&jobs[i], jobs[i].Base)
		}
	}
}

// bases lets running jobs have their base, then waiting ones in order, as long as it is there; who does not fit is passed
// over.
func (b *budget) bases(jobs []Job) {
	b.keep(jobs)
	for i := range jobs {
		if jobs[i].Now == 0 {
			b.give(&jobs[i], jobs[i].Base)
		}
	}
}

// grow hands out single workers to jobs that have their base and may have more, always to the one that beats the others,
// until none is left that a job could use. rank takes note of where job i stands with its present Want and reports whether
// it should have one more at all; beats(i, k) is asked of jobs that have been ranked, i < k.
func (b *budget) grow(s *cluster.View, jobs []Job, scaling Scaling, rank func(i int32, t throughput) bool,
	beats func(i, k int32) bool) {
	curves := make([]throughput, len(jobs))
	var open []int32 // the contestants, by their index in jobs
	for i := range jobs {
		if j := &jobs[i]; j.Want > 0 && j.Want < j.Most {
			curves[i] = scaling.of(s, j.ID)
			if rank(int32(i), curves[i]) {
				open = append(open, int32(i))
			}
		}
	}
	c := newContest(len(open), func(x, y int32) bool { return beats(open[x], open[y]) })
	for k := c.first(); k >= 0; k = c.first() {
		i := open[k]
		if j := &jobs[i]; b.give(j, 1) && j.Want < j.Most && rank(i, curves[i]) {
			c.changed(k)
		} else {
			c.out(k)
		}
	}
}

// byWorkLeft puts the jobs with the least work left first, those without an estimate last; equals stay in their order.
func byWorkLeft(jobs []Job) {
	left := func(j *Job) time.Duration {
		if j.Left <= 0 {
			return math.MaxInt64
		}
		return j.Left
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(left(&a), left(&b)) })
}

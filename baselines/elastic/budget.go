package elastic

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// budget is what one allocation can still give to jobs: the GPUs of open servers that work, within the quotas of tenants. It
// ignores GPU types and fragmentation; both matter only when the scheduler places the jobs.
type budget struct {
	state    *cluster.View
	gpuMilli int64
	tenants  allowance
}

// newBudget counts what is left beside running jobs that are not in the parameter jobs. The running jobs in it count as if they
// held nothing.
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

// fits returns how many more workers the job can get.
func (b *budget) fits(j *Job) int32 {
	left := min(b.gpuMilli, b.tenants.left(b.state, j.ID))
	return int32(min(max(left, 0)/max(j.GPUMilli, 1), math.MaxInt32))
}

// give adds workers to the job's Want and reports true if the budget has that many; otherwise it changes nothing.
func (b *budget) give(j *Job, workers int32) bool {
	if b.fits(j) < workers {
		return false
	}
	b.must(j, workers)
	return true
}

// must adds workers to the job's Want even if the budget does not have them.
func (b *budget) must(j *Job, workers int32) {
	j.Want += workers
	b.add(j.ID, -int64(workers)*j.GPUMilli)
}

// keep sets Want to the base of every running job and to 0 of every other job.
func (b *budget) keep(jobs []Job) {
	for i := range jobs {
		jobs[i].Want = 0
		if jobs[i].Now > 0 {
			b.must(&jobs[i], jobs[i].Base)
		}
	}
}

// bases gives running jobs their base, then waiting jobs in order while the budget lasts. It passes over a waiting job that does
// not fit.
func (b *budget) bases(jobs []Job) {
	b.keep(jobs)
	for i := range jobs {
		if jobs[i].Now == 0 {
			b.give(&jobs[i], jobs[i].Base)
		}
	}
}

// grow gives single workers to jobs that have their base and may have more, each to the job that beats all others, until no job
// can use another. rank records the standing of job i with its present Want, and reports whether the job should get one more at
// all. beats(i, k) compares two jobs that have been ranked, i < k.
func (b *budget) grow(s *cluster.View, jobs []Job, scaling Scaling, rank func(i int32, t throughput) bool,
	beats func(i, k int32) bool) {
	curves := make([]throughput, len(jobs))
	var open []int32 // the contestants, as indexes into jobs
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

// byWorkLeft sorts jobs by work left, least first and jobs without an estimate last. Equal jobs keep their order.
func byWorkLeft(jobs []Job) {
	left := func(j *Job) time.Duration {
		if j.Left <= 0 {
			return math.MaxInt64
		}
		return j.Left
	}
	slices.SortStableFunc(jobs, func(a, b Job) int { return cmp.Compare(left(&a), left(&b)) })
}

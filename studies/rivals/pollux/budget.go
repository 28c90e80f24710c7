package pollux

import (
	"math"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
)

// budget is what one allocation can still give to jobs: the GPUs of open servers that work, within the quotas of tenants. It
// ignores GPU types and fragmentation; both matter only when the scheduler places the jobs.
type budget struct {
	state    *cluster.View
	gpuMilli int64
	tenants  elastic.Allowance
}

// newBudget counts what is left beside running jobs that are not in the parameter jobs. The running jobs in it count as if they
// held nothing.
func newBudget(s *cluster.View, jobs []elastic.Job) *budget {
	b := &budget{state: s, gpuMilli: s.Total().GPUMilli, tenants: elastic.Allowance{}}
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
	b.tenants.Take(b.state, id, -milli)
}

// fits returns how many more workers the job can get.
func (b *budget) fits(j *elastic.Job) int32 {
	left := min(b.gpuMilli, b.tenants.Left(b.state, j.ID))
	return int32(min(max(left, 0)/max(j.GPUMilli, 1), math.MaxInt32))
}

// give adds workers to the job's Want and reports true if the budget has that many; otherwise it changes nothing.
func (b *budget) give(j *elastic.Job, workers int32) bool {
	if b.fits(j) < workers {
		return false
	}
	b.must(j, workers)
	return true
}

// must adds workers to the job's Want even if the budget does not have them.
func (b *budget) must(j *elastic.Job, workers int32) {
	j.Want += workers
	b.add(j.ID, -int64(workers)*j.GPUMilli)
}

// keep sets Want to the base of every running job and to 0 of every other job.
func (b *budget) keep(jobs []elastic.Job) {
	for i := range jobs {
		jobs[i].Want = 0
		if jobs[i].Now > 0 {
			b.must(&jobs[i], jobs[i].Base)
		}
	}
}

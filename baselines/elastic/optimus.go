package elastic

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// OptimusConfig are the options of Optimus.
type OptimusConfig struct {
	// Unknown is the work left that Optimus assumes for a job without an estimate. Own choice: the published Optimus predicts it
	// from the job's loss curve.
	Unknown time.Duration
	// Submission gives jobs their base demand in the order of submission; false gives it to the job with the shortest remaining
	// time first. Own choice: Optimus starts every job with one worker and does not say which comes first if not all fit.
	Submission bool
	// Scaling predicts the throughput from which remaining times are computed. Own choice: the published Optimus fits it to the
	// running job.
	Scaling Scaling
}

// DefaultOptimus returns the default options of Optimus.
func DefaultOptimus() OptimusConfig { return OptimusConfig{Unknown: time.Hour, Scaling: Profiled} }

// optimus is Optimus-style (Peng et al., EuroSys 2018). Every job gets its base demand. Then optimus gives single workers to the
// job whose remaining time falls most per unit of the worker's dominant resource, until no worker is left or none makes a job
// faster. The dominant resource of a worker is the one of which it takes the largest fraction of the cluster's total: GPUs, CPU
// or memory. Parameter servers are not modelled.
type optimus struct{ OptimusConfig }

// NewOptimus returns the policy Optimus.
func NewOptimus(c OptimusConfig) Policy {
	c.Scaling.check()
	return &optimus{c}
}

func (*optimus) Name() string { return "optimus" }
func (*optimus) Reset(uint64) {}

func (o *optimus) Allocate(s *cluster.View, jobs []Job) {
	if !o.Submission {
		byWorkLeft(jobs)
	}
	left := newBudget(s, jobs)
	left.bases(jobs)

	whole := s.Total()
	gains := make([]float64, len(jobs))
	left.grow(s, jobs, o.Scaling, func(i int32, t throughput) bool {
		j := &jobs[i]
		gains[i] = o.saved(t, j) / dominant(s.Spec(j.ID).Request, j.GPUMilli, whole)
		return gains[i] > 0
	}, func(i, k int32) bool { return gains[i] >= gains[k] })
}

// saved returns by how many seconds one more worker shortens the job's remaining time.
func (o *optimus) saved(t throughput, j *Job) float64 {
	work := j.Left
	if work <= 0 {
		work = o.Unknown
	}
	return work.Seconds() * t.at(j.Workers) * (1/t.at(j.Want) - 1/t.at(j.Want+1))
}

// dominant returns the largest fraction that a worker takes of the total of any resource.
func dominant(a cluster.Amount, gpuMilli int64, t cluster.Total) float64 {
	share := func(part, whole int64) float64 { return float64(part) / float64(max(whole, 1)) }
	return max(share(gpuMilli, t.GPUMilli), share(int64(a.CPUMilli), t.CPUMilli), share(int64(a.MemMiB), t.MemMiB))
}

package asrpt

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// StartRule decides when a job may start.
type StartRule string

// The values of StartRule.
const (
	// atVirtualCompletion: once the job has completed on the virtual machine. Until then even an empty cluster stays idle.
	// Reconstructed: 70 %.
	atVirtualCompletion StartRule = "completion"
	// projectedOrder: from its arrival on, in the order in which jobs would complete on the virtual machine if no other job
	// arrived. Reconstructed: 30 %.
	projectedOrder StartRule = "projected"
)

// StartRules returns the values of StartRule, the default first.
func StartRules() []StartRule { return []StartRule{atVirtualCompletion, projectedOrder} }

// Predictor predicts the number of iterations of jobs. The predictors of package predict implement it.
type Predictor interface {
	// Reset restores the predictor's state after creation. All random choices follow from the seed.
	Reset(seed uint64)
	// Predict returns how many iterations a job will take. cold reports that the predictor has seen nothing like the job.
	Predict(spec *cluster.JobSpec) (iterations float64, cold bool)
	// Observe learns from a job that has ended.
	Observe(spec *cluster.JobSpec, iterations float64)
}

// Config are the options of the scheduler.
type Config struct {
	Start    StartRule
	Backfill Backfill

	// The delay rule holds a job back if the GPUs found for it would make it slow: if α_max / α_min is at least Theta and α of the
	// placement exceeds (1 + Epsilon) times α_min. It holds the job until it has been in the queue for Tau times its predicted
	// duration n·α_min. With Tau 0 there is no delay rule. The paper has such a rule; its form is reconstructed (45 %), and the
	// defaults are our own. Later jobs may start while it holds one back; reconstructed: 55 %.
	Theta, Epsilon, Tau float64

	// Predictor predicts iterations. It must not be nil; the scheduler owns it. From the source: a random forest over recurring
	// jobs, as in package predict.
	Predictor Predictor
	// Placer starts jobs; nil stands for NewHeavyEdge. The scheduler owns it.
	Placer placement.Placer
}

// Default returns the default options, without a predictor.
func Default() Config {
	return Config{
		Start: atVirtualCompletion, Backfill: noBackfill,
		Theta: 1.5, Epsilon: 0.1, Tau: 0.5,
	}
}

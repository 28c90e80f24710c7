package asrpt

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// StartRule says when a job may start.
type StartRule string

// The start rules.
const (
	// atVirtualCompletion: once it has completed on the virtual machine. An empty cluster idles until then. Reconstructed: 70
	// %.
	atVirtualCompletion StartRule = "completion"
	// projectedOrder: from its arrival on, in the order in which jobs complete on the virtual machine if no other arrives.
	// Reconstructed: 30 %.
	projectedOrder StartRule = "projected"
)

// StartRules lists them, the default first.
func StartRules() []StartRule { return []StartRule{atVirtualCompletion, projectedOrder} }

// Work says by which time of an iteration the work on the virtual machine is computed.
type Work string

// The times of an iteration. Reconstructed: α_min 65 %, the one that the guarantee needs.
const (
	workMin  Work = "min"  // α_min, of the best placement
	workMax  Work = "max"  // α_max, of the most scattered one
	workMean Work = "mean" // the mean of both
)

// Works lists them, the default first.
func Works() []Work { return []Work{workMin, workMax, workMean} }

// Predictor foresees the iterations of jobs, as the predictors of package predict do.
type Predictor interface {
	// Reset goes back to what the predictor was when it was made; all that it draws follows from the seed.
	Reset(seed uint64)
	// Predict returns how many iterations a job will take. cold says that nothing like the job was seen.
	Predict(spec *cluster.JobSpec) (iterations float64, cold bool)
	// Observe learns from a job that has ended.
	Observe(spec *cluster.JobSpec, iterations float64)
}

// Config is the scheduler's options.
type Config struct {
	Start StartRule
	// Backfill lets later jobs start when one does not fit. Reconstructed: 60 % that the first in the queue blocks the others.
	Backfill bool
	Work     Work

	// The delay rule holds a job that found GPUs where it would run slowly: where α_max / α_min is at least Theta and α of the
	// placement above 1 + Epsilon times α_min, until it has waited Tau times its predicted duration, n·α_min, since it entered
	// the queue. Tau 0 switches the rule off. That there is a rule is the paper's, its form is reconstructed (45 %), the
	// defaults are this project's own.
	Theta, Epsilon, Tau float64
	// Overtake lets later jobs start while the rule holds one. Reconstructed: 55 %.
	Overtake bool

	// Comm is what the delay rule believes of communication; NewHeavyEdge has its own.
	Comm Comm
	// Predictor predicts iterations. It must not be nil, and is the scheduler's from then on. From the source: a random forest over
	// recurring jobs, which package predict has.
	Predictor Predictor
	// Placer starts jobs, nil for that of NewHeavyEdge with Comm. It is the scheduler's from then on.
	Placer placement.Placer
}

// Default returns the defaults, without a predictor.
func Default() Config {
	return Config{
		Start: atVirtualCompletion, Work: workMin,
		Theta: 1.5, Epsilon: 0.1, Tau: 0.5, Overtake: true,
		Comm: DefaultComm(),
	}
}

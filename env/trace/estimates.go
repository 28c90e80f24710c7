package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Estimates describes how the estimate that a scheduler sees is made from a job's isolated run time.
type Estimates struct {
	Kind  EstimateKind
	Sigma float64 // for Noisy: standard deviation of the log error
}

// EstimateKind is a rule for estimates.
type EstimateKind string

// The kinds of estimates. The zero value counts as None.
const (
	Oracle EstimateKind = "oracle" // Estimate = Work
	Noisy  EstimateKind = "noisy"  // Estimate = Work * exp(Sigma * N(0,1))
	None   EstimateKind = "none"   // Estimate = 0: the scheduler sees no estimate

	// Profiled is what a predictor could know: the geometric mean of the Work of similar jobs that would have ended before the
	// job's submission.
	Profiled EstimateKind = "profiled"
)

// Validate returns an error about the first field that is not usable.
func (e Estimates) Validate() error {
	switch e.Kind {
	case "", None, Oracle, Noisy, Profiled:
	default:
		return fmt.Errorf("estimates: kind %q, want oracle, noisy, profiled or none", e.Kind)
	}
	if !(e.Sigma >= 0 && e.Sigma <= 10) {
		return fmt.Errorf("estimates: sigma %v, want 0 to 10", e.Sigma)
	}
	return nil
}

// Apply sets the Estimate of every job in place. Profiled learns only from the given jobs. To let a window start with what was
// learned before it, apply Profiled to the whole workload and cut windows afterwards. Noisy draws one normal number per job, in
// order of index; rng may be nil for the other kinds. Noisy and Profiled round down to milliseconds, and estimate at least one.
func (e Estimates) Apply(jobs []Job, rng *rand.Rand) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if e.Kind == Profiled {
		profile(jobs)
		return nil
	}
	for i := range jobs {
		switch e.Kind {
		case Oracle:
			jobs[i].Estimate = jobs[i].Work
		case Noisy:
			jobs[i].Estimate = roundEstimate(jobs[i].Work.Seconds() * math.Exp(e.Sigma*rng.NormFloat64()))
		default:
			jobs[i].Estimate = 0
		}
	}
	return nil
}

// roundEstimate converts seconds to an estimate.
func roundEstimate(seconds float64) time.Duration {
	return max(time.Millisecond, time.Duration(min(seconds, maxTime.Seconds())*1e3)*time.Millisecond)
}

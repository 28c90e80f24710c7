package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Estimates says what a scheduler is told of a job's isolated run time.
type Estimates struct {
	Kind  EstimateKind
	Sigma float64 // noisy: standard deviation of the log error
	Bias  float64 // noisy: mean of the log error, above 0 for users who ask for too much
}

// EstimateKind names a rule for estimates.
type EstimateKind string

// The rules. The zero value is None.
const (
	Oracle EstimateKind = "oracle" // Estimate = Work
	Noisy  EstimateKind = "noisy"  // Estimate = Work * exp(Bias + Sigma * N(0,1))
	None   EstimateKind = "none"   // Estimate = 0: nothing is known

	// Profiled is what a predictor may know: the geometric mean of the Work of jobs like it that would have ended by then.
	Profiled EstimateKind = "profiled"
)

// Validate reports the first field that is not usable.
func (e Estimates) Validate() error {
	switch e.Kind {
	case "", None, Oracle, Noisy, Profiled:
	default:
		return fmt.Errorf("estimates: kind %q, want oracle, noisy, profiled or none", e.Kind)
	}
	if !(e.Sigma >= 0 && e.Sigma <= 10) {
		return fmt.Errorf("estimates: sigma %v, want 0 to 10", e.Sigma)
	}
	if !(math.Abs(e.Bias) <= 10) {
		return fmt.Errorf("estimates: bias %v, want -10 to 10", e.Bias)
	}
	return nil
}

// Apply sets the Estimate of every job in place. Profiled knows only the jobs given: apply it to a whole workload and cut
// windows from that, so that a window starts with what was learned before it. Noisy draws one normal number a job in
// order of index, whatever the job; rng may be nil for the other kinds. Both round to milliseconds, at least one.
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
			jobs[i].Estimate = roundEstimate(jobs[i].Work.Seconds() * math.Exp(e.Bias+e.Sigma*rng.NormFloat64()))
		default:
			jobs[i].Estimate = 0
		}
	}
	return nil
}

// roundEstimate turns seconds into an estimate.
func roundEstimate(seconds float64) time.Duration {
	return max(time.Millisecond, time.Duration(min(seconds, maxTime.Seconds())*1e3)*time.Millisecond)
}

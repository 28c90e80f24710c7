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
)

// Validate reports the first field that is not usable.
func (e Estimates) Validate() error {
	switch e.Kind {
	case "", None, Oracle, Noisy:
	default:
		return fmt.Errorf("estimates: kind %q, want oracle, noisy or none", e.Kind)
	}
	if !(e.Sigma >= 0 && e.Sigma <= 10) {
		return fmt.Errorf("estimates: sigma %v, want 0 to 10", e.Sigma)
	}
	if !(math.Abs(e.Bias) <= 10) {
		return fmt.Errorf("estimates: bias %v, want -10 to 10", e.Bias)
	}
	return nil
}

// Apply sets the Estimate of every job in place. Noisy draws one normal number a job in order of index, whatever the job,
// and rounds to milliseconds, at least one; rng may be nil for the other kinds.
func (e Estimates) Apply(jobs []Job, rng *rand.Rand) error {
	if err := e.Validate(); err != nil {
		return err
	}
	for i := range jobs {
		switch e.Kind {
		case Oracle:
			jobs[i].Estimate = jobs[i].Work
		case Noisy:
			t := jobs[i].Work.Seconds() * math.Exp(e.Bias+e.Sigma*rng.NormFloat64())
			jobs[i].Estimate = max(time.Millisecond, time.Duration(min(t, maxTime.Seconds())*1e3)*time.Millisecond)
		default:
			jobs[i].Estimate = 0
		}
	}
	return nil
}

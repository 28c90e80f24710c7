package decide

import (
	"errors"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
)

// Result is a decision about a state.
type Result struct {
	Answer    *Answer
	Proposals []cluster.Proposal // in the order in which the policy made them; owned by the caller
	Wake      *time.Duration     // when to ask again if nothing happens before, on the state's clock; nil if the policy did not say
}

// Answer is a plan and how it was made: which policy decided, and why not another.
type Answer struct {
	*explain.Plan
	Starts   []explain.Start `json:"starts,omitempty"` // when waiting jobs are expected to start, if that is forecast
	Decision Decision        `json:"decision"`
}

// Decision says how an answer was made.
type Decision struct {
	RequestID         string    `json:"request_id"`
	Policy            string    `json:"policy"` // the policy that was asked
	Digest            string    `json:"digest,omitempty"`
	By                string    `json:"by"`                                    // policy or fallback
	Fallback          *Fallback `json:"fallback,omitempty"`                    // nil unless the fallback decided
	Reasons           string    `json:"reasons,omitempty"`                     // none or late if the plan has no reasons
	Beside            bool      `json:"beside_prior,omitempty"`                // reasons compare the policy with its prior
	OutOfDistribution int       `json:"out_of_distribution_choices,omitempty"` // choices left to the prior
	Beliefs           string    `json:"beliefs,omitempty"`                     // digest of what the one who decided had learned
	Seconds           float64   `json:"decided_in_s"`                          // wall time, without reading and explaining
}

// Why a plan has no reasons.
const (
	ReasonsNone = "none" // the caller did not ask for them
	ReasonsLate = "late" // they were not found in time
)

// Which policy decided.
const (
	ByPolicy   = "policy"
	ByFallback = "fallback"
)

// Fallback says which policy decided instead of the one that was asked, and why.
type Fallback struct {
	Policy string `json:"policy"`
	Digest string `json:"digest,omitempty"`
	Reason string `json:"reason"` // deadline, error, panic or busy
	Why    string `json:"why"`
}

// Failure says why a policy did not decide.
type Failure struct {
	Reason string // deadline, error, panic or busy
	Err    error
	Stack  []byte // of a panic
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Undecided is the error for a state that neither the policy nor the fallback decided. Policy is nil if there was a decision and
// only its reasons failed.
type Undecided struct{ Policy, Fallback *Failure }

func (u *Undecided) Error() string { return errors.Join(u.Unwrap()...).Error() }

func (u *Undecided) Unwrap() (list []error) {
	for _, f := range []*Failure{u.Policy, u.Fallback} {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}

// Said reports whether each policy that was asked returned an error itself, for example because a job has no estimate. Then the
// state is at fault.
func (u *Undecided) Said() bool {
	for _, f := range []*Failure{u.Policy, u.Fallback} {
		if f != nil && f.Reason != reasonError {
			return false
		}
	}
	return true
}

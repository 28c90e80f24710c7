package decide

import (
	"errors"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
)

// Result is a decision on a state.
type Result struct {
	Answer    *Answer
	Proposals []cluster.Proposal // in the order in which they were proposed; the caller's own
	Wake      *time.Duration     // when to ask again, on the state's clock, if nothing happens before; nil if that was not asked for
}

// Answer is what a runtime decides: the plan, of whoever made it, and how it came about.
type Answer struct {
	*explain.Plan
	Decision Decision `json:"decision"`
}

// Decision says how an answer came about.
type Decision struct {
	RequestID         string    `json:"request_id"`
	Policy            string    `json:"policy"` // that was asked
	Digest            string    `json:"digest,omitempty"`
	By                string    `json:"by"`                                    // policy or fallback
	Fallback          *Fallback `json:"fallback,omitempty"`                    // if that decided
	Reasons           string    `json:"reasons,omitempty"`                     // none or late where the plan is without them
	Beside            bool      `json:"beside_prior,omitempty"`                // reasons say where the policy differs from its prior
	OutOfDistribution int       `json:"out_of_distribution_choices,omitempty"` // left to the prior
	Seconds           float64   `json:"decided_in_s"`                          // of wall time, without reading and explaining
}

// Why a plan has no reasons.
const (
	ReasonsNone = "none" // nobody asked for them
	ReasonsLate = "late" // they were not found in time
)

// Who decided.
const (
	ByPolicy   = "policy"
	ByFallback = "fallback"
)

// Fallback is who decided instead of the policy, and why.
type Fallback struct {
	Policy string `json:"policy"`
	Digest string `json:"digest,omitempty"`
	Reason string `json:"reason"` // deadline, error, panic or busy
	Why    string `json:"why"`
}

// Failure is why a policy did not decide.
type Failure struct {
	Reason string // deadline, error, panic or busy
	Err    error
	Stack  []byte // of a panic
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Undecided is the error about a state that neither the policy nor the fallback decided. Policy is nil if only reasons could not
// be found.
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

// Said reports whether all who were asked said why they cannot decide, such as for want of an estimate: a fault of the state.
func (u *Undecided) Said() bool {
	for _, f := range []*Failure{u.Policy, u.Fallback} {
		if f != nil && f.Reason != reasonError {
			return false
		}
	}
	return true
}

package serve

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
)

// Why a policy did not decide.
const (
	ReasonDeadline = "deadline" // it did not decide in time
	ReasonError    = "error"    // it said why not
	ReasonPanic    = "panic"    // it broke
	ReasonBusy     = "busy"     // too many decisions that were given up still run
)

// failure is why a policy did not decide.
type failure struct {
	reason string
	err    error
	stack  []byte // of a panic
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// guard lets policies decide under a deadline. A scheduler can be neither stopped nor shared: one that is late is left alone
// with its own state until it ends, and what it then says is dropped. No more than most may be left so at a time. Whoever is
// asked in another's stead has a guard of its own, so that it can be asked when that one hangs.
type guard struct {
	deadline time.Duration
	most     int64
	late     atomic.Int64
	all      *atomic.Int64 // late ones of all guards
}

func (g *guard) count(n int64) {
	g.late.Add(n)
	g.all.Add(n)
}

const (
	runs = iota
	ended
	givenUp
)

// propose is propose under the guard. The state is the scheduler's from the call on: after an error, nobody may touch it.
func (g *guard) propose(s *cluster.State, p *Policy, seed uint64) (proposal, *failure) {
	if n := g.late.Load(); n >= g.most {
		return proposal{}, &failure{reason: ReasonBusy, err: fmt.Errorf("plan with %s: %d late decisions still run", p.Name, n)}
	}
	type result struct {
		proposal
		*failure
	}
	done := make(chan result, 1)
	var at atomic.Int32
	go func() {
		var r result
		defer func() {
			if v := recover(); v != nil {
				r = result{failure: &failure{ReasonPanic, fmt.Errorf("plan with %s: panic: %v", p.Name, v), debug.Stack()}}
			}
			if !at.CompareAndSwap(runs, ended) {
				g.count(-1)
			}
			done <- r
		}()
		var err error
		if r.proposal, err = propose(s, p, seed); err != nil {
			r.failure = &failure{reason: ReasonError, err: err}
		}
	}()
	timer := time.NewTimer(g.deadline)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.proposal, r.failure
	case <-timer.C:
	}
	g.count(1)
	if !at.CompareAndSwap(runs, givenUp) { // it ended at this very moment
		g.count(-1)
		r := <-done
		return r.proposal, r.failure
	}
	return proposal{}, &failure{reason: ReasonDeadline, err: fmt.Errorf("plan with %s: no decision within %v", p.Name, g.deadline)}
}

// Answer is what a runtime decides: the plan, of whoever made it, and how it came about.
type Answer struct {
	*explain.Plan
	Decision Decision `json:"decision"`
}

// Decision says how an answer came about.
type Decision struct {
	RequestID string    `json:"request_id"`
	Policy    string    `json:"policy"` // that was asked
	Digest    string    `json:"digest,omitempty"`
	By        string    `json:"by"`                        // policy or fallback
	Fallback  *Fallback `json:"fallback,omitempty"`        // if that decided
	Beside    bool      `json:"beside_prior,omitempty"`    // reasons say where the policy differs from its prior
	Strange   int       `json:"strange_choices,omitempty"` // left to the prior, as they lay beyond what training had met
	Seconds   float64   `json:"decided_in_s"`              // of wall time, without reading the snapshot and finding reasons
}

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

// decide asks the policy and, if it does not decide, the fallback. The state may be in use after the call. Of the failures
// the first is the policy's and the second the fallback's or of the reasons; with the second there is no answer.
func (l *loaded) decide(s *cluster.State, seed uint64) (*Answer, [2]*failure) {
	p, fallback := l.policy, l.fallback
	facts := explain.New(s)
	fresh := func() *cluster.State { // every attempt has its own
		c := new(cluster.State)
		facts.Before().CopyTo(c)
		return c
	}
	out := &Answer{Decision: Decision{Policy: p.Name, Digest: p.Digest, By: ByPolicy}}
	began := time.Now()
	by, fails := p, [2]*failure{}
	decided, fail := l.first.propose(s, p, seed)
	if fails[0] = fail; fail != nil {
		by = fallback
		out.Decision.By = ByFallback
		out.Decision.Fallback = &Fallback{fallback.Name, fallback.Digest, fails[0].reason, fails[0].Error()}
		if decided, fails[1] = l.second.propose(fresh(), fallback, seed); fails[1] != nil {
			return nil, fails
		}
	}
	out.Decision.Seconds = time.Since(began).Seconds()
	out.Decision.Strange = decided.strange
	if by.Prior != nil {
		if from, fail := l.second.propose(fresh(), by.Prior, seed); fail == nil { // else reasons do without
			facts.Beside(besides, from.starts())
			out.Decision.Beside = true
		}
	}
	var err error
	if out.Plan, _, err = facts.Plan(by.Name, decided.tx); err != nil {
		fails[1] = &failure{reason: ReasonError, err: err}
		return nil, fails
	}
	return out, fails
}

package decide

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/policy"
)

// Why a policy did not decide.
const (
	reasonDeadline = "deadline" // it did not decide in time
	reasonError    = "error"    // it returned an error
	reasonPanic    = "panic"    // it panicked
	reasonBusy     = "busy"     // too many decisions past their deadline still run
)

// guard asks policies to decide under a deadline. A scheduler cannot be shared, and few can be stopped, so a late one keeps its
// own copy of the state until it ends, and the guard drops its result. The field most limits how many late schedulers may run at
// a time; beyond that, propose fails. The fallback has a guard of its own, so that it can be asked while the policy hangs.
type guard struct {
	deadline time.Duration
	most     int64
	late     atomic.Int64
	all      *atomic.Int64 // late decisions of all guards
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

// propose calls the function propose under the guard's deadline. From the call on, the state belongs to the scheduler: after an
// error nobody else may use it.
func (g *guard) propose(s *cluster.State, p *policy.Policy, seed uint64) (proposal, *Failure) {
	if n := g.late.Load(); n >= g.most {
		return proposal{}, &Failure{Reason: reasonBusy, Err: fmt.Errorf("plan with %s: %d late decisions still run", p.Name, n)}
	}
	type result struct {
		proposal
		*Failure
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // a late scheduler that can be stopped ends soon
	var at atomic.Int32
	go func() {
		var r result
		defer func() {
			if v := recover(); v != nil {
				r = result{Failure: &Failure{reasonPanic, fmt.Errorf("plan with %s: panic: %v", p.Name, v), debug.Stack()}}
			}
			if !at.CompareAndSwap(runs, ended) {
				g.count(-1)
			}
			done <- r
		}()
		var err error
		if r.proposal, err = propose(ctx, s, p, seed, nil); err != nil {
			r.Failure = &Failure{Reason: reasonError, Err: err}
		}
	}()
	timer := time.NewTimer(g.deadline)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.proposal, r.Failure
	case <-timer.C:
	}
	g.count(1)
	if !at.CompareAndSwap(runs, givenUp) { // it ended at this very moment
		g.count(-1)
		r := <-done
		return r.proposal, r.Failure
	}
	return proposal{}, &Failure{Reason: reasonDeadline, Err: fmt.Errorf("plan with %s: no decision within %v", p.Name, g.deadline)}
}

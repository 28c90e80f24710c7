// Package eval compares schedulers. It simulates the same windows under every policy, measures the event logs, and computes
// paired differences with confidence intervals. It neither trains policies nor draws charts.
//
// Results hold no wall-clock time. The same plan gives the same results, byte for byte, whatever the number of workers and
// however often it was interrupted.
package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Progress says how far a run of a plan has come.
type Progress struct {
	Done, Of int           // cases
	Kept     int           // how many of Done were in the journal already
	Left     time.Duration // estimated wall-clock time until the end; 0 without Plan.Clock
}

// FailedError says which cases of a plan failed. The other cases are done.
type FailedError struct {
	Cases []Case
	Errs  []error // why, one for each of Cases
	Of    int     // cases of the plan
}

func (e *FailedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d cases failed", len(e.Cases), e.Of)
	for _, err := range e.Errs[:min(len(e.Errs), 5)] {
		fmt.Fprintf(&b, "\n  %v", err)
	}
	if more := len(e.Errs) - 5; more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

// Unwrap returns the errors of the cases.
func (e *FailedError) Unwrap() []error { return e.Errs }

// Run runs the cases of the plan, several at a time, and returns their results in the order of Plan.Cases. It calls done, if that
// is not nil, at the start and after each case, one call at a time.
//
// With a journal, the result of a case is on disk before the case counts as done. Cases that the journal holds from before, of
// the same scenario, policy and build, are not played again: a plan that was killed goes on where it was, and a plan with one
// more policy plays only that. In the end the files of the folder depend on the plan alone, except for timing.jsonl. Run refuses
// a folder that another Run uses.
//
// A case that fails does not stop the others. The error is then a *FailedError, and the results are those of the other cases.
// When ctx ends, so does the run; the cases done by then are in the journal.
func Run(ctx context.Context, plan Plan, done func(Progress)) ([]Result, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	r := run{plan: &plan, tasks: plan.tasks(), report: done}
	r.results, r.errs = make([]*Result, len(r.tasks)), make([]error, len(r.tasks))
	if plan.Journal != "" {
		j, err := openJournal(&plan, r.tasks, r.results)
		if err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
		defer j.close()
		r.journal = j
	}
	workers := plan.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	r.start(min(workers, len(r.tasks)))
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() { r.work(ctx) })
	}
	group.Wait()
	return r.end(ctx)
}

// run is what the workers of one Run share.
type run struct {
	plan    *Plan
	tasks   []task
	journal *journal // nil: none
	workers int
	report  func(Progress)

	mu      sync.Mutex
	next    int
	results []*Result // nil until done
	errs    []error   // of cases
	broken  error     // the journal's
	state   Progress
	pace    pace
}

func (r *run) start(workers int) {
	r.workers, r.state.Of = workers, len(r.tasks)
	for i, res := range r.results {
		if res != nil {
			r.state.Done++
			r.state.Kept++
			r.pace.add(&r.tasks[i], res)
		}
	}
	r.tell()
}

func (r *run) tell() {
	if r.report == nil {
		return
	}
	if r.plan.Clock != nil {
		r.state.Left = r.left()
	}
	r.report(r.state)
}

// work runs cases until none is left. Cases are claimed in order.
func (r *run) work(ctx context.Context) {
	for {
		i, ok := r.claim(ctx)
		if !ok {
			return
		}
		t := &r.tasks[i]
		res, err := r.plan.play(ctx, t)
		if err != nil && ctx.Err() != nil {
			return // it is not done, and not to blame
		}
		if err == nil && r.journal != nil {
			if err := r.journal.schedule(t, res); err != nil {
				r.fail(err)
				return
			}
		}
		r.finish(i, res, err)
	}
}

func (r *run) claim(ctx context.Context) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next < len(r.tasks) && r.results[r.next] != nil {
		r.next++
	}
	if r.next == len(r.tasks) || r.broken != nil || ctx.Err() != nil {
		return 0, false
	}
	r.pace.begin(r.next, r.plan.now())
	r.next++
	return r.next - 1, true
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

func (r *run) finish(i int, res *Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pace.end(i)
	if err != nil {
		r.errs[i] = r.tasks[i].failure(err)
	} else {
		if r.journal != nil && r.broken == nil {
			r.broken = r.journal.add(&r.tasks[i], res)
		}
		r.results[i] = res
		r.pace.add(&r.tasks[i], res)
	}
	r.state.Done++
	r.tell()
}

// end gathers what came of it.
func (r *run) end(ctx context.Context) ([]Result, error) {
	if r.broken != nil {
		return nil, fmt.Errorf("evaluate: %w", r.broken)
	}
	if r.state.Done < len(r.tasks) {
		return nil, fmt.Errorf("evaluate: %d of %d cases done: %w", r.state.Done, len(r.tasks), context.Cause(ctx))
	}
	var out []Result
	failed := &FailedError{Of: len(r.tasks)}
	for i, res := range r.results {
		if err := r.errs[i]; err != nil {
			failed.Cases, failed.Errs = append(failed.Cases, r.tasks[i].Case), append(failed.Errs, err)
			continue
		}
		out = append(out, *res)
	}
	if r.journal != nil {
		if err := errors.Join(r.journal.settle(r.tasks, r.results), r.journal.sweep(r.results)); err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
	}
	if len(failed.Cases) > 0 {
		return out, failed
	}
	return out, nil
}

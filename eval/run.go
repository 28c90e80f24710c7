// Package eval compares schedulers. It simulates the same windows under every policy, computes metrics from the event logs, and
// computes paired differences between policies with confidence intervals. It neither trains policies nor draws charts.
//
// Results contain no wall-clock times. The same plan gives the same results, byte for byte, with any number of workers and any
// number of interruptions.
package eval

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/clustergym/clustergym/policy"
)

// Progress reports how many cases of a plan are done.
type Progress struct {
	Done, Of int           // numbers of cases
	Kept     int           // how many of Done came from the journal
	Left     time.Duration // estimated wall-clock time to the end; 0 without Plan.Clock and with Plan.Pool
}

// Run simulates the cases of the plan, several at a time, and returns their results in the order of Plan.Cases. If done is not
// nil, Run calls it at the start and after each case, one call at a time.
//
// With a journal, Run writes the result of a case to disk before it counts the case as done. It does not simulate cases again
// that the journal contains for the same scenario, policy and build. So it resumes a plan that was killed, and simulates only the
// new policy of a plan with one more policy. When Run returns, the files of the folder depend on the plan alone, except for
// timing.jsonl. Run returns an error if another Run uses the folder.
//
// A case that fails does not stop the others. Run then returns the results of the other cases and a *FailedError. When ctx ends,
// Run stops; the journal contains the cases done until then.
func Run(ctx context.Context, plan Plan, done func(Progress)) ([]Result, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	plan.giveObjective()
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
	if plan.Pool != nil {
		if err := r.elsewhere(ctx); err != nil {
			return nil, fmt.Errorf("evaluate: %w", err)
		}
	}
	if err := r.fit(ctx); err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	var group sync.WaitGroup
	for range r.workers {
		group.Go(func() { r.work(ctx) })
	}
	group.Wait()
	return r.end(ctx)
}

// run is the state that the workers of one Run share.
type run struct {
	plan    *Plan
	tasks   []task
	journal *journal          // nil: none
	fitted  [][]policy.Policy // the plan's policies as they play each suite
	workers int
	report  func(Progress)

	mu sync.Mutex
	// next is the index of the first task that no worker has claimed.
	next    int
	results []*Result // nil until done
	errs    []error   // by case
	broken  error     // error of the journal
	closed  bool      // other processes' answers are no longer taken
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
	if r.plan.Clock != nil && r.plan.Pool == nil {
		r.state.Left = r.left()
	}
	r.report(r.state)
}

// fit fits the plan's policies for the suites of which they still have to play a case.
func (r *run) fit(ctx context.Context) error {
	needed := make([]bool, len(r.plan.Suites))
	for i, t := range r.tasks {
		needed[t.suite] = needed[t.suite] || !r.done(i) && mustFit(r.plan.Policies[t.policy])
	}
	r.fitted = make([][]policy.Policy, len(r.plan.Suites))
	for i := range r.plan.Suites {
		s := &r.plan.Suites[i]
		r.fitted[i] = r.plan.Policies
		if !needed[i] {
			continue
		}
		var err error
		r.fitted[i], err = s.Fit(ctx, r.plan.Policies, func(n, of int) {
			if r.plan.Fitting != nil {
				r.plan.Fitting(s.Scenario, n, of)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// work simulates cases until none is left. The workers claim cases in order.
func (r *run) work(ctx context.Context) {
	for {
		i, ok := r.claim(ctx)
		if !ok {
			return
		}
		t := &r.tasks[i]
		res, err := r.plan.play(ctx, t, &r.fitted[t.suite][t.policy])
		if err != nil && ctx.Err() != nil {
			return // the cancellation interrupted the case, which did not fail
		}
		if err == nil && r.journal != nil {
			if err := r.journal.schedule(t, res); err != nil {
				r.fail(err)
				return
			}
		}
		r.mu.Lock()
		r.finish(i, res, err)
		r.mu.Unlock()
	}
}

func (r *run) claim(ctx context.Context) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.next < len(r.tasks) && r.done(r.next) {
		r.next++
	}
	if r.next == len(r.tasks) || r.broken != nil || ctx.Err() != nil {
		return 0, false
	}
	r.pace.begin(r.next, r.plan.now())
	r.next++
	return r.next - 1, true
}

// done reports whether a case is done. The caller must hold r.mu, or no worker may run.
func (r *run) done(i int) bool { return r.results[i] != nil || r.errs[i] != nil }

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
}

// finish notes the result of a case, or why it failed. The caller must hold r.mu.
func (r *run) finish(i int, res *Result, err error) {
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

// end returns the results and the errors of the run, and tidies the journal's files.
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

// Package eval compares schedulers: it replays the same windows under every policy, measures the event logs, and reports
// paired differences with confidence intervals, tables and charts. It decides nothing about training.
//
// Results hold no wall-clock time: the same plan gives the same bytes, whatever the number of workers.
package eval

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
)

// Policy makes fresh schedulers under a name. New is called once a case, perhaps concurrently.
type Policy struct {
	Name string
	New  func() (cluster.Scheduler, error)
}

// Window makes the episode of one window under a seed: the caller's own, the same for equal seeds. Episode may be called
// concurrently.
type Window struct {
	Name    string
	Episode func(seed uint64) (sim.Episode, error)
}

// Plan is what to run: every policy on every window under every seed.
type Plan struct {
	Scenario string // a name for the report
	Split    string // of the workload that the windows are from, for the report
	Windows  []Window
	Policies []Policy
	Seeds    []uint64
	Workers  int // cases at a time, 0: GOMAXPROCS
	// Keep says whose event log a result keeps, for charts; nil keeps those of the first window under the first seed.
	Keep func(Case) bool
}

// Case is one episode of a plan.
type Case struct {
	Scenario string `json:"scenario"`
	Split    string `json:"split,omitempty"`
	Window   string `json:"window"`
	Policy   string `json:"policy"`
	Seed     uint64 `json:"seed"`
}

func (c Case) String() string {
	return fmt.Sprintf("%s %s under %s, seed %d", c.Scenario, c.Window, c.Policy, c.Seed)
}

// Result is a case and what came of it.
type Result struct {
	Case
	Metrics
	JCTs []time.Duration `json:"-"` // of the finished jobs, ascending
	Log  *sim.Log        `json:"-"` // if Plan.Keep asked for it
}

// NewPlan plans windows of a split of a scenario under its seeds; windows are indices, nil for all that the split has.
func NewPlan(src *scenario.Source, split scenario.Split, windows []int, policies []Policy) (Plan, error) {
	s := src.Scenario()
	n := src.Count(split)
	if n == 0 {
		return Plan{}, fmt.Errorf("evaluate: scenario %s has no windows of %s", s.Name, split)
	}
	if windows == nil {
		windows = make([]int, n)
		for i := range windows {
			windows[i] = i
		}
	}
	plan := Plan{Scenario: s.Name, Split: string(split), Policies: policies, Seeds: slices.Clone(s.Seeds)}
	for _, i := range windows {
		if i < 0 || i >= n {
			return Plan{}, fmt.Errorf("evaluate: window %d of %s, want 0 to %d", i, split, n-1)
		}
		plan.Windows = append(plan.Windows, Window{
			Name: fmt.Sprintf("%s-%d", split, i),
			Episode: func(seed uint64) (sim.Episode, error) {
				e, err := src.Episode(split, i, seed)
				return e.Episode, err
			},
		})
	}
	return plan, nil
}

// Cases lists the plan's episodes in the order of its results: window, seed, policy.
func (p *Plan) Cases() []Case {
	var cases []Case
	for _, w := range p.Windows {
		for _, seed := range p.Seeds {
			for _, policy := range p.Policies {
				cases = append(cases, Case{p.Scenario, p.Split, w.Name, policy.Name, seed})
			}
		}
	}
	return cases
}

// Validate reports what keeps the plan from being run or compared.
func (p *Plan) Validate() error {
	if len(p.Windows) == 0 || len(p.Policies) == 0 || len(p.Seeds) == 0 {
		return fmt.Errorf("evaluate %d windows, %d policies and %d seeds: want at least one of each",
			len(p.Windows), len(p.Policies), len(p.Seeds))
	}
	if p.Workers < 0 {
		return fmt.Errorf("evaluate with %d workers: want 0 (all cores) or more", p.Workers)
	}
	var names []string
	for _, c := range p.Policies {
		names = append(names, c.Name)
	}
	if twice, ok := duplicate(names); ok {
		return fmt.Errorf("evaluate: policy %q stands twice", twice)
	}
	if twice, ok := duplicate(p.Seeds); ok {
		return fmt.Errorf("evaluate: seed %d stands twice", twice)
	}
	names = names[:0]
	for _, w := range p.Windows {
		names = append(names, w.Name)
	}
	if twice, ok := duplicate(names); ok {
		return fmt.Errorf("evaluate: window %q stands twice", twice)
	}
	return nil
}

func duplicate[T comparable](list []T) (T, bool) {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return v, true
		}
	}
	return *new(T), false
}

// Run runs the plan's cases, several at a time, and returns their results in the order of Cases, whatever finishes first.
// done, if not nil, is called after each case, one call at a time, with how many are done. An error names its case; of
// several it is the first in that order.
func Run(ctx context.Context, plan Plan, done func(n int, r *Result)) ([]Result, error) {
	if err := plan.Validate(); err != nil {
		return nil, err
	}
	cases := plan.Cases()
	r := run{plan: &plan, cases: cases, results: make([]Result, len(cases)), errs: make([]error, len(cases)), done: done}
	workers := plan.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var group sync.WaitGroup
	for range min(workers, len(cases)) {
		group.Go(func() { r.work(ctx) })
	}
	group.Wait()
	for _, err := range r.errs {
		if err != nil {
			return nil, err
		}
	}
	if r.finished < len(cases) {
		return nil, fmt.Errorf("evaluate: %d of %d cases done: %w", r.finished, len(cases), context.Cause(ctx))
	}
	return r.results, nil
}

// run is what the workers of one Run share.
type run struct {
	plan    *Plan
	cases   []Case
	results []Result // each written by the worker that claimed it
	errs    []error

	mu       sync.Mutex
	next     int
	finished int
	failed   bool
	done     func(n int, r *Result)
}

// work runs cases until none is left or one has failed. Cases are claimed in order and a claimed one runs to its end, so the
// first error does not depend on who was faster.
func (r *run) work(ctx context.Context) {
	for {
		i, ok := r.claim(ctx)
		if !ok {
			return
		}
		err := r.plan.run(ctx, i, r.cases[i], &r.results[i])
		r.report(i, err)
	}
}

func (r *run) claim(ctx context.Context) (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed || r.next == len(r.cases) || ctx.Err() != nil {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

func (r *run) report(i int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.errs[i] = err; err != nil {
		r.failed = true
		return
	}
	r.finished++
	if r.done != nil {
		r.done(r.finished, &r.results[i])
	}
}

// run plays the i-th case.
func (p *Plan) run(ctx context.Context, i int, c Case, out *Result) error {
	window := p.Windows[i/(len(p.Policies)*len(p.Seeds))]
	policy := p.Policies[i%len(p.Policies)]
	log, err := play(ctx, window, policy, c.Seed)
	if err != nil {
		return fmt.Errorf("evaluate %v: %w", c, err)
	}
	*out = Result{Case: c, Metrics: Measure(log)}
	for _, r := range Rows(log) {
		if r.Finished {
			out.JCTs = append(out.JCTs, r.JCT())
		}
	}
	slices.Sort(out.JCTs)
	keep := p.Keep != nil && p.Keep(c)
	if p.Keep == nil {
		keep = i < len(p.Policies)
	}
	if keep {
		out.Log = log
	}
	return nil
}

func play(ctx context.Context, w Window, p Policy, seed uint64) (*sim.Log, error) {
	start, err := w.Episode(seed)
	if err != nil {
		return nil, err
	}
	sched, err := p.New()
	if err != nil {
		return nil, err
	}
	episode, err := start.New()
	if err != nil {
		return nil, err
	}
	if err := episode.Run(ctx, sched, seed); err != nil {
		return nil, err
	}
	return episode.Log(), nil
}

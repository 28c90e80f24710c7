package headroom

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// Group is what a rival may do, or a row that is no policy.
type Group string

// The rows of a report, in its order.
const (
	Fixed       Group = "fixed demand" // gives every job what it asks for
	Menu        Group = "same menu"    // chooses amounts, shares and workers
	Prior       Group = "tuned prior"  // what a learned team starts from
	LookAhead   Group = "look-ahead"   // simulates futures before it decides, of which it knows none
	hindsight   Group = "hindsight"    // the best of these in each window: nobody knows beforehand which it is
	clairvoyant Group = "clairvoyant"  // knows the true future: nobody can deploy it
	wide        Group = "wider"        // likewise, and draws from more candidates
	bound       Group = "bound"        // no scheduler goes below
)

// Reserved are names that no rival may have.
func Reserved() []string {
	return []string{string(hindsight), string(clairvoyant), string(wide), string(bound)}
}

// Rival is a policy that a scenario is measured with.
type Rival struct {
	policy.Policy
	Group Group
}

// Plan is what to measure.
type Plan struct {
	Suite   eval.Suite
	Rivals  []Rival
	Effort  int // of the search in each window, see searchOptions
	Wider   int // how many times as many candidates a second search draws from, likewise
	Workers int // windows or episodes at a time, 0: GOMAXPROCS
	// Progress, if not nil, is called now and then with the number of episodes simulated, one call at a time.
	Progress func(done, of int)
}

// caseOf is a window under a seed.
type caseOf struct {
	window int
	seed   uint64
}

// Measure plays every rival in every window, bounds every window and searches it. A rival that fails or does not finish every
// job in some window is left out, with a note. What it returns depends on the plan's suite, rivals, effort and width alone.
func Measure(ctx context.Context, p Plan) (*Report, error) {
	m := &measuring{plan: &p}
	for w := range p.Suite.Windows {
		for _, seed := range p.Suite.Seeds {
			m.cases = append(m.cases, caseOf{w, seed})
		}
	}
	r := &Report{
		Scenario: p.Suite.Scenario, Split: p.Suite.Split, Windows: len(p.Suite.Windows), Seeds: len(p.Suite.Seeds), Effort: p.Effort,
	}
	if p.Wider > 1 {
		r.Wider = &More{Times: p.Wider, Candidates: items}
	}
	results, err := m.rivals(ctx, r)
	if err != nil {
		return nil, err
	}
	extra, err := m.windows(ctx, r, results)
	if err != nil {
		return nil, err
	}
	return r, r.compare(append(results, extra...))
}

// measuring is the state of one Measure.
type measuring struct {
	plan  *Plan
	cases []caseOf

	mu   sync.Mutex
	done []int // episodes, by case
	base int   // that were played before
}

func (m *measuring) of() int { return len(m.cases) * m.plan.Episodes() }

// Episodes is how many are simulated in a window under one seed, about.
func (p *Plan) Episodes() int { return len(p.Rivals) + p.searched() }

// searched is how many of them a search simulates.
func (p *Plan) searched() int {
	if p.Wider > 1 {
		return p.Effort + p.Effort/2
	}
	return p.Effort
}

func (m *measuring) tell(i, done int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.base
	if i >= 0 {
		m.done[i] = min(done, m.plan.searched())
		for _, d := range m.done {
			sum += d
		}
	}
	if m.plan.Progress != nil {
		m.plan.Progress(sum, m.of())
	}
}

// rivals plays them and drops those that cannot be compared.
func (m *measuring) rivals(ctx context.Context, r *Report) ([]eval.Result, error) {
	run := eval.Plan{
		Suites: []eval.Suite{m.plan.Suite}, Workers: m.plan.Workers, Keep: func(eval.Case) bool { return false },
		Overlap: true, // what is asked is what is left to win, wherever that is
	}
	for _, p := range m.plan.Rivals {
		run.Policies = append(run.Policies, p.Policy)
	}
	results, err := eval.Run(ctx, run, func(p eval.Progress) {
		m.base = p.Done
		m.tell(-1, 0)
	})
	bad := map[string]string{}
	if failed, ok := errors.AsType[*eval.FailedError](err); ok {
		for i, c := range failed.Cases {
			bad[c.Policy] = cmp.Or(bad[c.Policy], failed.Errs[i].Error())
		}
	} else if err != nil {
		return nil, err
	}
	for i := range results {
		if c := &results[i]; c.Truncated != "" {
			bad[c.Policy] = cmp.Or(bad[c.Policy], fmt.Sprintf("%v is cut off: %s", c.Case, c.Truncated))
		}
	}
	var out []string
	why := ""
	for _, p := range m.plan.Rivals {
		if text := bad[p.Name]; text != "" {
			out, why = append(out, p.Name), cmp.Or(why, text)
		} else {
			r.Rivals = append(r.Rivals, Tried{Policy: p.Name, Group: p.Group})
		}
	}
	if len(out) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("Left out, as they fail here: %s (%s).", strings.Join(out, ", "), why))
	}
	results = slices.DeleteFunc(results, func(x eval.Result) bool { return bad[x.Policy] != "" })
	if len(results) == 0 {
		return nil, fmt.Errorf("measure %s: no rival finishes every job of every window: %v", m.plan.Suite.Scenario, r.Notes)
	}
	return results, nil
}

// windows bounds and searches, several at a time, and returns what came of it as results of further policies.
func (m *measuring) windows(ctx context.Context, r *Report, rivals []eval.Result) ([]eval.Result, error) {
	m.base, m.done = len(m.cases)*len(m.plan.Rivals), make([]int, len(m.cases))
	r.Cases = make([]Window, len(m.cases))
	out, errs := make([][]eval.Result, len(m.cases)), make([]error, len(m.cases))
	queue := make(chan int)
	var group sync.WaitGroup
	workers := m.plan.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	for range min(workers, len(m.cases)) {
		group.Go(func() {
			for i := range queue {
				out[i], errs[i] = m.window(ctx, i, &r.Cases[i], rivals)
			}
		})
	}
	for i := range m.cases {
		queue <- i
	}
	close(queue)
	group.Wait()
	var all []eval.Result
	for i := range out {
		all = append(all, out[i]...)
	}
	for i, err := range errs {
		if err != nil {
			c := m.cases[i]
			return nil, fmt.Errorf("measure %s %s, seed %d: %w", m.plan.Suite.Scenario, m.plan.Suite.Windows[c.window].Name, c.seed, err)
		}
	}
	return all, nil
}

// window measures one.
func (m *measuring) window(ctx context.Context, i int, w *Window, rivals []eval.Result) (out []eval.Result, err error) {
	c, suite := m.cases[i], &m.plan.Suite
	start, err := suite.Windows[c.window].Episode(c.seed)
	if err != nil {
		return out, err
	}
	bounds, err := newBounds(&start)
	if err != nil {
		return out, err
	}
	found, err := m.search(ctx, i, &start)
	if err != nil {
		return out, err
	}
	*w = Window{Window: suite.Windows[c.window].Name, Seed: c.seed, Jobs: found.Metrics.Jobs, Bounds: *bounds, Found: *found}
	which := eval.Case{Scenario: suite.Scenario, Split: suite.Split, Window: w.Window, Seed: c.seed}
	var first *eval.Result
	for k := range rivals {
		if x := &rivals[k]; x.Window == which.Window && x.Seed == which.Seed && (first == nil || x.SumJCT < first.SumJCT) {
			first = x
		}
	}
	add := func(g Group, metrics eval.Metrics) {
		out = append(out, eval.Result{Case: which, Metrics: metrics})
		out[len(out)-1].Policy = string(g)
	}
	achieved := func(g Group, metrics eval.Metrics) (byRival string) {
		if first.SumJCT < metrics.SumJCT { // one that the search did not begin with: then that is what is achieved
			metrics, byRival = first.Metrics, first.Policy
		}
		add(g, metrics)
		return byRival
	}
	add(hindsight, first.Metrics)
	w.ByRival = achieved(clairvoyant, found.Metrics)
	if found.Wider != nil {
		achieved(wide, found.Wider.Metrics)
	}
	add(bound, eval.Metrics{Jobs: found.Metrics.Jobs, MeanJCT: bounds.MeanJCT, Makespan: bounds.Makespan})
	m.tell(i, m.plan.searched())
	return out, nil
}

// search begins with all rivals but those that simulate themselves: they would take the time of many episodes.
func (m *measuring) search(ctx context.Context, i int, start *sim.Episode) (*Found, error) {
	var bases []policy.Policy
	for _, p := range m.plan.Rivals {
		if p.Group != LookAhead {
			bases = append(bases, p.Policy)
		}
	}
	return search(ctx, start, bases, searchOptions{
		Effort: m.plan.Effort, Wider: m.plan.Wider, Seed: m.cases[i].seed, Step: func(n int) { m.tell(i, n) },
	})
}

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

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/policy"
)

// Group is the kind of a row of the report: what a rival may do, or a row that is not a policy.
type Group string

// The rows of a report, in its order.
const (
	Fixed       Group = "fixed demand" // gives every job what it asks for
	Menu        Group = "same menu"    // chooses amounts, GPU shares and numbers of workers
	Prior       Group = "tuned prior"  // the base policy that a learned team starts from
	ToldMore    Group = "told more"    // the best rival, told what the scenario hides
	LookAhead   Group = "look-ahead"   // simulates possible futures before it decides, without knowing the true one
	hindsight   Group = "hindsight"    // the best rival of each window, which nobody knows beforehand
	clairvoyant Group = "clairvoyant"  // the search, which knows the true future and cannot be deployed
	wide        Group = "wider"        // the same search, drawing from more candidates
	bound       Group = "bound"        // the lower bound for any scheduler
)

// Reserved returns the names that no rival may have.
func Reserved() []string {
	return []string{string(hindsight), string(clairvoyant), string(wide), string(bound)}
}

// Rival is an existing policy that Measure plays on the scenario.
type Rival struct {
	policy.Policy
	Group Group
}

// Plan describes what to measure.
type Plan struct {
	Suite  eval.Suite
	Rivals []Rival
	// Objective is what policies and searches are measured by; nil is the mean JCT, the only one about which bounds are known.
	Objective *objectives.Objective
	Effort    int             // the search's budget of episodes in each window: see searchOptions
	Wider     int             // a second search draws from this many times as many candidates: see searchOptions
	Hidden    baselines.Truth // what the scenario hides: one rival is also played as if it were told
	Overlap   bool            // as in eval.Plan, for the rivals
	Workers   int             // how many windows or episodes run at a time; 0: GOMAXPROCS
	// Progress, if not nil, is called from time to time with the number of episodes simulated, one call at a time.
	Progress func(done, of int)
	// Fitting, if not nil, is called from time to time while rivals are fitted on the training split, and at the end, with the
	// number of jobs done and of all.
	Fitting func(n, of int)
}

// caseOf is a window with a seed.
type caseOf struct {
	window int
	seed   uint64
}

// casesOf returns the windows of a suite with each of its seeds.
func casesOf(s *eval.Suite) (all []caseOf) {
	for w := range s.Windows {
		for _, seed := range s.Seeds {
			all = append(all, caseOf{w, seed})
		}
	}
	return all
}

// Measure plays every rival in every window, computes the bounds of every window and searches it. It leaves out a rival that
// fails or does not finish every job in some window, and adds a note. The report depends only on the plan's suite, rivals, effort
// and width.
func Measure(ctx context.Context, p Plan) (*Report, error) {
	p.Suite.Objective = p.Objective // index decides by it
	if err := p.fit(ctx); err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	m := &measuring{plan: &p, cases: casesOf(&p.Suite), objective: p.Objective}
	r := &Report{
		Scenario: p.Suite.Scenario, Split: p.Suite.Split, Windows: len(p.Suite.Windows), Seeds: len(p.Suite.Seeds), Effort: p.Effort,
		By: "mean JCT", Unit: "s", key: "mean_jct_s", bounded: p.Objective == nil,
	}
	if r.bounded {
		m.objective = objectives.Usual()
	} else {
		r.By, r.Unit, r.key = m.objective.Name, m.objective.Unit, eval.CostKey(m.objective.Name)
	}
	if p.Wider > 1 {
		r.Wider = &More{Times: p.Wider, Candidates: items}
	}
	results, err := m.rivals(ctx, r)
	if err != nil {
		return nil, err
	}
	told, err := m.told(ctx, r, results)
	if err != nil {
		return nil, err
	}
	extra, err := m.windows(ctx, r, results, told)
	if err != nil {
		return nil, err
	}
	return r, r.compare(slices.Concat(results, told, extra))
}

// fit fits the rivals on the past of the suite.
func (p *Plan) fit(ctx context.Context) error {
	var policies []policy.Policy
	for _, r := range p.Rivals {
		policies = append(policies, r.Policy)
	}
	fitted, err := p.Suite.Fit(ctx, policies, p.Fitting)
	if err != nil {
		return err
	}
	p.Rivals = slices.Clone(p.Rivals)
	for i := range p.Rivals {
		p.Rivals[i].Policy = fitted[i]
	}
	return nil
}

// measuring is the state of one Measure.
type measuring struct {
	plan      *Plan
	cases     []caseOf
	objective *objectives.Objective

	mu   sync.Mutex
	done []int // episodes, by case
	base int   // number of episodes played before the searches
}

func (m *measuring) of() int { return len(m.cases) * m.plan.Episodes() }

// Episodes returns about how many episodes Measure simulates for one window and seed.
func (p *Plan) Episodes() int { return len(p.Rivals) + p.searched() }

// searched returns the number of those that the searches simulate.
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

// rivals plays the rivals and removes those that cannot be compared.
func (m *measuring) rivals(ctx context.Context, r *Report) ([]eval.Result, error) {
	run := eval.Plan{
		Suites: []eval.Suite{m.plan.Suite}, Workers: m.plan.Workers, Keep: func(eval.Case) bool { return false },
		Overlap: m.plan.Overlap, Objectives: []*objectives.Objective{m.objective},
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

// windows computes bounds and searches, several windows at a time. It returns the outcomes as results of additional policies.
func (m *measuring) windows(ctx context.Context, r *Report, rivals, told []eval.Result) ([]eval.Result, error) {
	m.base, m.done = len(m.cases)*len(m.plan.Rivals), make([]int, len(m.cases))
	r.Cases = make([]Window, len(m.cases))
	out, errs := make([][]eval.Result, len(m.cases)), make([]error, len(m.cases))
	queue := make(chan int)
	var group sync.WaitGroup
	workers := cmp.Or(m.plan.Workers, runtime.GOMAXPROCS(0))
	for range min(workers, len(m.cases)) {
		group.Go(func() {
			for i := range queue {
				out[i], errs[i] = m.window(ctx, r, i, rivals, told)
			}
		})
	}
	for i := range m.cases {
		queue <- i
	}
	close(queue)
	group.Wait()
	for i, err := range errs {
		if err != nil {
			c, suite := m.cases[i], &m.plan.Suite
			return nil, fmt.Errorf("measure %s %s, seed %d: %w", suite.Scenario, suite.Windows[c.window].Name, c.seed, err)
		}
	}
	return slices.Concat(out...), nil
}

// window computes the bounds of a window under a seed, searches it, and compares what it finds with the rivals.
func (m *measuring) window(ctx context.Context, r *Report, i int, rivals, told []eval.Result) (out []eval.Result, err error) {
	c, suite, w := m.cases[i], &m.plan.Suite, &r.Cases[i]
	start, err := suite.Windows[c.window].Episode(c.seed)
	if err != nil {
		return nil, err
	}
	bounds := &Bounds{}
	if r.bounded {
		if bounds, err = newBounds(&start); err != nil {
			return nil, err
		}
	}
	found, err := m.search(ctx, i, &start)
	if err != nil {
		return nil, err
	}
	*w = Window{Window: suite.Windows[c.window].Name, Seed: c.seed, Jobs: found.Metrics.Jobs, Bounds: *bounds, Found: *found}
	which := eval.Case{Scenario: suite.Scenario, Split: suite.Split, Window: w.Window, Seed: c.seed}
	best := func(best *eval.Result, of []eval.Result) *eval.Result {
		for k := range of {
			if x := &of[k]; x.Window == which.Window && x.Seed == which.Seed && (best == nil || x.Costs[0].Total < best.Costs[0].Total) {
				best = x
			}
		}
		return best
	}
	first := best(nil, rivals)
	known := best(first, told)
	add := func(g Group, metrics eval.Metrics, cost float64) {
		costs := []objectives.Bill{{Objective: m.objective.Name, Unit: m.objective.Unit, Total: cost}}
		out = append(out, eval.Result{Case: which, Metrics: metrics, Costs: costs})
		out[len(out)-1].Policy = string(g)
	}
	achieved := func(g Group, metrics eval.Metrics, cost float64) (byRival string) {
		if total := known.Costs[0].Total; total < cost { // a rival the search did not begin with was better: its value is achieved, too
			metrics, cost, byRival = known.Metrics, total, known.Policy
		}
		add(g, metrics, cost)
		return byRival
	}
	add(hindsight, first.Metrics, first.Costs[0].Total)
	w.ByRival = achieved(clairvoyant, found.Metrics, found.Cost)
	if found.Wider != nil {
		achieved(wide, found.Wider.Metrics, found.Wider.Cost)
	}
	add(bound, eval.Metrics{Jobs: found.Metrics.Jobs, MeanJCT: bounds.MeanJCT, Makespan: bounds.Makespan}, 0)
	m.tell(i, m.plan.searched())
	return out, nil
}

// search begins with all rivals except those that simulate futures themselves, which would take the time of many episodes.
func (m *measuring) search(ctx context.Context, i int, start *sim.Episode) (*Found, error) {
	var bases []policy.Policy
	for _, p := range m.plan.Rivals {
		if p.Group != LookAhead {
			bases = append(bases, p.Policy)
		}
	}
	return search(ctx, start, bases, searchOptions{
		Effort: m.plan.Effort, Wider: m.plan.Wider, Seed: m.cases[i].seed, Step: func(n int) { m.tell(i, n) },
		Objective: m.plan.Objective,
	})
}

package eval

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/policy"
)

// Window is a part of a workload that policies are compared on.
type Window struct {
	Name string
	// Episode returns the window's episode for a seed. Equal seeds must give equal episodes. The caller owns what is returned.
	// Episode must be safe for concurrent use.
	Episode func(seed uint64) (sim.Episode, error)
}

// Suite is some windows of one scenario, and the seeds under which each of them is played.
type Suite struct {
	Scenario string // its name in reports, different from those of a plan's other suites
	Split    string // the split of the workload that the windows are from, for reports
	Digest   string // of all that the episodes depend on, by which journals tell scenarios apart
	Windows  []Window
	Seeds    []uint64
	Note     string            // what the windows have in common, for reports; "" for nothing
	Periods  []scenario.Period // the parts of traces that the windows are from: see Plan.Overlap
}

// Plan says what to compare: every policy on every window of every suite, under each of its seeds.
type Plan struct {
	Suites   []Suite
	Policies []policy.Policy
	// Overlap allows windows with jobs that a learned policy was trained or chosen on. Without it they are an OverlapError.
	Overlap bool
	Workers int // how many cases run at the same time; 0 means GOMAXPROCS
	// Keep reports whether the result of a case keeps its event log, for charts. With nil, the first window of each suite keeps
	// its logs under the suite's first seed.
	Keep func(Case) bool
	// Journal is the folder that finished cases are stored in, so that a plan that was killed goes on where it was: see Run.
	// Empty stores none.
	Journal string
	Build   string // the version of the program; cases in the journal from another build are played again
	// Warn is called before the first case with an error for each damaged line of the journal, whose case is played again. It may
	// be nil.
	Warn func(error)
	// Clock returns the wall-clock time since any fixed instant. With it results have a Timing, and Progress an estimate. It may
	// be nil.
	Clock func() time.Duration
}

// Case is one episode of a plan: a window under a policy and a seed.
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

// NewSuite returns a suite of windows of one split of a scenario, under the scenario's seeds. windows are indices from 0; nil
// takes all windows of the split. A split without windows and an index out of range are errors.
func NewSuite(src *scenario.Source, split scenario.Split, windows []int) (Suite, error) {
	s := src.Scenario()
	n := src.Count(split)
	if n == 0 {
		return Suite{}, fmt.Errorf("evaluate: scenario %s has no windows of %s", s.Name, split)
	}
	if windows == nil {
		windows = make([]int, n)
		for i := range windows {
			windows[i] = i
		}
	}
	digest, err := src.Digest()
	if err != nil {
		return Suite{}, fmt.Errorf("evaluate: %w", err)
	}
	suite := Suite{
		Scenario: s.Name, Split: string(split), Digest: digest, Seeds: slices.Clone(s.Seeds), Note: src.Note(split),
		Periods: src.Periods(split),
	}
	for _, i := range windows {
		if i < 0 || i >= n {
			return Suite{}, fmt.Errorf("evaluate: window %d of %s, want 0 to %d", i, split, n-1)
		}
		suite.Windows = append(suite.Windows, Window{
			Name: fmt.Sprintf("%s-%d", split, i),
			Episode: func(seed uint64) (sim.Episode, error) {
				e, err := src.Episode(split, i, seed)
				return e.Episode, err
			},
		})
	}
	return suite, nil
}

// task is a case with where it stands in its plan.
type task struct {
	Case
	suite, window, policy int
}

// tasks lists the plan's episodes in the order of its results: suite, window, seed, policy.
func (p *Plan) tasks() []task {
	var all []task
	for i := range p.Suites {
		s := &p.Suites[i]
		for w := range s.Windows {
			for _, seed := range s.Seeds {
				for k := range p.Policies {
					all = append(all, task{Case{s.Scenario, s.Split, s.Windows[w].Name, p.Policies[k].Name, seed}, i, w, k})
				}
			}
		}
	}
	return all
}

// Cases lists the cases of the plan in the order of its results: by suite, window, seed and policy.
func (p *Plan) Cases() []Case {
	var cases []Case
	for _, t := range p.tasks() {
		cases = append(cases, t.Case)
	}
	return cases
}

// keeps says whether the case's event log is kept.
func (p *Plan) keeps(t *task) bool {
	if p.Keep != nil {
		return p.Keep(t.Case)
	}
	return t.window == 0 && t.Seed == p.Suites[t.suite].Seeds[0]
}

// Validate returns an error about the first thing that keeps the plan from being run or its results from being compared.
func (p *Plan) Validate() error {
	if len(p.Suites) == 0 || len(p.Policies) == 0 {
		return fmt.Errorf("evaluate %d scenarios and %d policies: want at least one of each", len(p.Suites), len(p.Policies))
	}
	if p.Workers < 0 {
		return fmt.Errorf("evaluate with %d workers: want 0 (all cores) or more", p.Workers)
	}
	var policies, scenarios []string
	for _, c := range p.Policies {
		policies = append(policies, c.Name)
	}
	if twice, ok := duplicate(policies); ok {
		return fmt.Errorf("evaluate: policy %q stands twice", twice)
	}
	for i := range p.Suites {
		if err := p.Suites[i].validate(); err != nil {
			return err
		}
		scenarios = append(scenarios, p.Suites[i].Scenario)
	}
	if twice, ok := duplicate(scenarios); ok {
		return fmt.Errorf("evaluate: scenario %q stands twice", twice)
	}
	if shared := p.Overlaps(); len(shared) > 0 && !p.Overlap {
		return shared[0]
	}
	return nil
}

func (s *Suite) validate() error {
	if len(s.Windows) == 0 || len(s.Seeds) == 0 {
		return fmt.Errorf("evaluate %d windows and %d seeds of %s: want at least one of each", len(s.Windows), len(s.Seeds), s.Scenario)
	}
	if twice, ok := duplicate(s.Seeds); ok {
		return fmt.Errorf("evaluate %s: seed %d stands twice", s.Scenario, twice)
	}
	var names []string
	for _, w := range s.Windows {
		names = append(names, w.Name)
	}
	if twice, ok := duplicate(names); ok {
		return fmt.Errorf("evaluate %s: window %q stands twice", s.Scenario, twice)
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

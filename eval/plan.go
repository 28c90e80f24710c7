package eval

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/policy"
)

// Window makes the episode of one window under a seed: the caller's own, the same for equal seeds. Episode may be called
// concurrently.
type Window struct {
	Name    string
	Episode func(seed uint64) (sim.Episode, error)
}

// Suite is the windows of one scenario and the seeds that each is played with.
type Suite struct {
	Scenario string // a name for the report, no other suite's
	Split    string // of the workload that the windows are from, for the report
	Digest   string // of all that fixes the episodes, for journals
	Windows  []Window
	Seeds    []uint64
	Note     string            // what the windows share, "" for nothing, for the report
	Periods  []scenario.Period // parts of traces that the windows are from: see Plan.Overlap
}

// Plan is what to run: every policy on every window of every suite under every seed.
type Plan struct {
	Suites   []Suite
	Policies []policy.Policy
	// Overlap lets learned policies play jobs that they were trained or chosen on, which is an error otherwise: see OverlapError.
	Overlap bool
	Workers int // cases at a time, 0: GOMAXPROCS
	// Keep says whose event log a result keeps, for charts; nil keeps those of each suite's first window under its first seed.
	Keep func(Case) bool
	// Journal is a folder in which finished cases are kept, so that a plan that was killed goes on where it was: see Run. ""
	// keeps none.
	Journal string
	Build   string // of the program: a case of another build is played again
	// Warn is told, before the first case, of lines of the journal that are damaged; their cases are played again. nil: nobody is.
	Warn func(error)
	// Clock is the wall clock, from any zero on. With it results have a Timing and progress an estimate. nil: neither.
	Clock func() time.Duration
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

// NewSuite takes windows of a split of a scenario under its seeds; windows are indices, nil for all that the split has.
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

// Cases lists the plan's episodes in the order of its results.
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

// Validate reports what keeps the plan from being run or compared.
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

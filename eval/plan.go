package eval

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/units"
	"github.com/clustergym/clustergym/policy"
)

// Window is a part of a workload that policies are compared on.
type Window struct {
	Name string
	// Episode returns the window's episode for a seed. Equal seeds must give equal episodes. The caller owns the returned episode.
	// Episode must be safe for concurrent use.
	Episode func(seed uint64) (sim.Episode, error)
}

// Suite is a set of windows of one scenario, with the seeds under which each window is simulated.
type Suite struct {
	Scenario string // the scenario's name in reports; it must differ between the suites of a plan
	Split    string // the split of the workload that the windows come from, for reports
	Digest   string // digest of everything that the episodes depend on; the journal identifies the scenario by it
	Windows  []Window
	Seeds    []uint64
	Note     string            // what the windows have in common, for reports; may be ""
	Few      string            // what it takes for enough windows: scenario.Source.Few; may be ""
	Periods  []scenario.Period // the parts of traces that the windows come from: see Plan.Overlap
	Past     *Past             // what policies may be fitted on before they play; nil if there is nothing
	// Unestimated says that no job has an estimate of its duration, so that policies which need estimates cannot play.
	Unestimated bool
	Objective   *objectives.Objective // by which policies decide that ask for one: the plan's first; Run sets it
}

// Plan lists what to compare: every policy on every window of every suite, under each of the suite's seeds.
type Plan struct {
	Suites   []Suite
	Policies []policy.Policy
	// Objectives are what results are measured by, besides the metrics.
	Objectives []*objectives.Objective
	// Overlap allows windows that contain jobs a learned policy was trained or chosen on. Without it, Run returns an OverlapError
	// for them.
	Overlap bool
	Workers int // how many cases run at the same time; 0 means GOMAXPROCS
	// Pool has other processes play the cases, each with a Player of an equal plan. If Pool is nil, Run plays them itself. It also
	// plays those itself whose event logs are kept and too large to be sent.
	Pool units.Pool
	Job  []byte // tells the processes of Pool what to play
	// Keep reports whether the result of a case keeps its event log, for charts. If Keep is nil, the results for the first window
	// and the first seed of each suite keep their logs.
	Keep func(Case) bool
	// Journal is the folder in which Run stores finished cases, so that it can resume a plan after a kill: see Run. If Journal is
	// empty, Run stores nothing.
	Journal string
	Build   string // the program's version; Run simulates a case again if the journal has it from another build
	// Warn is called before the first case, with one error for each damaged line of the journal. Run simulates the case of such a
	// line again. Warn may be nil.
	Warn func(error)
	// Fitting is called from time to time while policies are fitted on the training split of a scenario, and at the end, with the
	// number of jobs done and of all. It may be nil.
	Fitting func(scenario string, n, of int)
	// Clock returns the wall-clock time since some fixed instant. If it is set, results have a Timing and Progress has an estimate.
	// It may be nil.
	Clock func() time.Duration
}

// Case is one episode of a plan: one window under one policy and one seed.
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

// NewSuite returns a suite of windows of one split of a scenario, with the scenario's seeds. The parameter windows contains
// indices from 0; nil selects all windows of the split. NewSuite returns an error if the split has no windows or an index is out
// of range.
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
		Few: src.Few(split), Periods: src.Periods(split), Past: newPast(src), Unestimated: !s.Estimated(),
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

// task is a case with its position in the plan.
type task struct {
	Case
	suite, window, policy int
}

// tasks lists the plan's cases in the order of its results: by suite, window, seed and policy.
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

// keeps reports whether the result of a case keeps its event log.
func (p *Plan) keeps(t *task) bool {
	if p.Keep != nil {
		return p.Keep(t.Case)
	}
	return t.window == 0 && t.Seed == p.Suites[t.suite].Seeds[0]
}

// Validate returns an error for the first problem that prevents running the plan or comparing its results.
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
		if err := p.Suites[i].fits(p.Policies); err != nil {
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
	return CheckEstimates(p.Suites, p.Policies)
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

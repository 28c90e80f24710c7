// Package tune finds the rule, with its options, that costs least by an objective on a scenario. It plays all candidates on a
// few windows of the training split, the best third on more, and so on (successive halving: Jamieson and Talwalkar, AISTATS
// 2016), and the last few on the validation split as well. Test windows are played once, by the best and by those beside it.
//
// The same tuning gives the same result, with any number of workers and interruptions.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

// Config is what to tune.
type Config struct {
	Source    *scenario.Source
	Objective *objectives.Objective
	// Rules are the candidates; Beside are policies that are played on the test windows only, such as the usual one.
	Rules, Beside []policy.Policy
	Seed          uint64 // decides which training windows are played first
	// Play plays a plan as eval.Run does. Its Journal is set to a folder of its own. windows are those of its suite, by their
	// indices in the split, nil for all.
	Play func(ctx context.Context, plan eval.Plan, windows []int) ([]eval.Result, error)
	// Dir is the folder of the journals, from which an interrupted tuning goes on.
	Dir string
	// Say is called with each step when it is done. It may be nil.
	Say func(Step)
}

// Settings of the halving, chosen so that all steps cost about as much: each keeps a third of the rules and plays three times as
// many windows.
const (
	firstWindows = 2
	keepOneIn    = 3
	finalists    = 5
	mostWindows  = 128 // of the training split
)

// Step is what a part of the tuning has found.
type Step struct {
	Split   scenario.Split `json:"split"`
	Windows int            `json:"windows"` // of the split, so far
	Ranked  []Ranked       `json:"ranked"`  // by cost, those that go on first
	Kept    int            `json:"kept"`    // how many go on
}

// Ranked is a rule with its mean cost of a window, over all windows so far.
type Ranked struct {
	Rule string  `json:"rule"`
	Cost float64 `json:"cost"`
}

// Result is what a tuning has found.
type Result struct {
	Best     string          `json:"best"`
	Episodes int             `json:"episodes"` // on training and validation windows
	Steps    []Step          `json:"steps"`
	Test     eval.Comparison `json:"test"` // of the best with the policies beside it, the first of which is the baseline
}

// tuning is a tuning in progress.
type tuning struct {
	Config
	result Result
	sums   map[string]float64 // by rule
	played map[string]int     // windows, by rule
}

// Run tunes.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	t := &tuning{Config: cfg, sums: map[string]float64{}, played: map[string]int{}}
	if len(cfg.Rules) == 0 {
		return nil, fmt.Errorf("tune: no rules, want at least one")
	}
	rules, err := t.halve(ctx)
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	if n := cfg.Source.Count(scenario.Validation); n > 0 && len(rules) > 1 {
		if rules, err = t.step(ctx, rules, scenario.Validation, nil, n, 1); err != nil {
			return nil, fmt.Errorf("tune: %w", err)
		}
	}
	t.result.Best = rules[0].Name
	if err := t.test(ctx, rules[0]); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	return &t.result, nil
}

// halve plays training windows until few rules are left, or no windows.
func (t *tuning) halve(ctx context.Context) (rules []policy.Policy, err error) {
	rules = t.Rules
	of := t.Source.Count(scenario.Train)
	order, err := t.order(ctx, of)
	if err != nil {
		return nil, err
	}
	for from, n := 0, firstWindows; from < len(order) && len(rules) > 1; n *= keepOneIn {
		to := min(from+n, len(order))
		keep := max((len(rules)+keepOneIn-1)/keepOneIn, min(finalists, len(rules)))
		if rules, err = t.step(ctx, rules, scenario.Train, order[from:to], to, keep); err != nil {
			return nil, err
		}
		if from = to; len(rules) <= finalists {
			break
		}
	}
	return rules, nil
}

// order returns training windows in the order in which they are played: drawn, but those first in which a plain rule costs
// anything. In the others most rules are equal.
func (t *tuning) order(ctx context.Context, of int) ([]int, error) {
	order := rng.Stream(t.Seed, "tune", "windows").Perm(of)
	order = order[:min(of, mostWindows)]
	probe := t.Rules[:1]
	if len(t.Beside) > 0 {
		probe = t.Beside[:1]
	}
	if len(order) == 0 || len(t.Rules) == 1 {
		return order, nil
	}
	results, err := t.play(ctx, "probe", probe, scenario.Train, order)
	if err != nil {
		return nil, err
	}
	t.result.Episodes += len(results)
	var costly, free []int
	for i := range results { // in the order of the windows
		if results[i].Costs[0].Total > 0 {
			costly = append(costly, order[i])
		} else {
			free = append(free, order[i])
		}
	}
	return append(costly, free...), nil
}

// step plays windows under rules, all of the split for nil, and returns the rules that cost least over all windows so far.
func (t *tuning) step(
	ctx context.Context, rules []policy.Policy, split scenario.Split, windows []int, of, keep int,
) ([]policy.Policy, error) {
	results, err := t.play(ctx, fmt.Sprint(len(t.result.Steps)+1, "-", split), rules, split, windows)
	if err != nil {
		return nil, err
	}
	for i := range results {
		r := &results[i]
		t.sums[r.Policy] += r.Costs[0].Total
		t.played[r.Policy]++
	}
	t.result.Episodes += len(results)
	mean := func(name string) float64 { return t.sums[name] / float64(t.played[name]) }
	// Rules whose cost is equal stay in the order of the candidates, which begins with the plain ones.
	ranked := slices.SortedStableFunc(slices.Values(rules), func(a, b policy.Policy) int {
		return cmp.Compare(mean(a.Name), mean(b.Name))
	})
	s := Step{Split: split, Windows: of, Kept: keep}
	for i := range ranked {
		s.Ranked = append(s.Ranked, Ranked{ranked[i].Name, mean(ranked[i].Name)})
	}
	t.result.Steps = append(t.result.Steps, s)
	if t.Say != nil {
		t.Say(s)
	}
	return ranked[:keep], nil
}

// test plays the best rule and those beside it on the test windows.
func (t *tuning) test(ctx context.Context, best policy.Policy) error {
	if t.Source.Count(scenario.Test) == 0 {
		return nil
	}
	policies := slices.DeleteFunc(slices.Clone(t.Beside), func(p policy.Policy) bool { return p.Name == best.Name })
	policies = append(policies, best)
	results, err := t.play(ctx, "test", policies, scenario.Test, nil)
	if err != nil {
		return err
	}
	t.result.Test, err = eval.Compare(results, policies[0].Name)
	return err
}

func (t *tuning) play(
	ctx context.Context, name string, rules []policy.Policy, split scenario.Split, windows []int,
) ([]eval.Result, error) {
	suite, err := eval.NewSuite(t.Source, split, windows)
	if err != nil {
		return nil, err
	}
	suite.Seeds = suite.Seeds[:1]
	plan := eval.Plan{
		Suites: []eval.Suite{suite}, Policies: rules, Objectives: []*objectives.Objective{t.Objective},
		Keep: func(eval.Case) bool { return false },
	}
	if t.Dir != "" {
		plan.Journal = filepath.Join(t.Dir, name)
	}
	return t.Play(ctx, plan, windows)
}

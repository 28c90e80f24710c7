package eval

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

func gateOf(t *testing.T, text string) *Gate {
	t.Helper()
	g := must.Get(ReadGate(strings.NewReader(text)))(t)
	return g
}

// TestGateChecksBounds checks bounds on a comparison in which the mean JCT of "new" is 20 % below that of "old", with an interval
// that includes 0.
func TestGateChecksBounds(t *testing.T) {
	c := must.Get(Compare(made(), "old"))(t)
	for _, g := range []struct {
		bound string
		met   bool
	}{
		{"metric: mean_jct_s, of: relative, max: -19.9", true},
		{"metric: mean_jct_s, of: relative, max: -20.1", false},
		{"metric: mean_jct_s, of: relative, at: hi, max: 0", false},
		{"metric: mean_jct_s, of: relative, at: lo, max: 0", true},
		{"metric: mean_jct_s, of: relative, at: lo, min: -100, max: 0", true},
		{"metric: gpu_utilisation, min: 0.75", true},
		{"metric: gpu_utilisation, min: 0.76", false},
		{"metric: preemptions, max: 3", true},
		{"metric: preemptions, of: relative, max: 1000", false}, // old has 0 preemptions, so there is no relative difference
		{"metric: makespan_s, min: 86400, max: 86400", true},
		{"metric: makespan_s, scenario: other-v1, max: 1", true}, // the scenario is not compared; Fits returns an error for this
	} {
		gate := gateOf(t, "bounds: [{policy: new, why: made, "+g.bound+"}]")
		met := true
		for _, v := range gate.Check([]Comparison{c}, "old") {
			met = met && v.Met
		}
		if met != g.met {
			t.Errorf("%s: met %v, want %v", g.bound, met, g.met)
		}
	}
	single := must.Get(Compare(made()[:4], "old"))(t)
	for _, v := range gateOf(t, "bounds: [{policy: new, metric: mean_jct_s, of: relative, at: lo, max: 100, why: made}]").Check(
		[]Comparison{single}, "old") {
		if v.Met {
			t.Errorf("the low end of an interval over one window meets a bound: %+v", v)
		}
	}
	v := gateOf(t, "bounds: [{policy: gone, metric: mean_jct_s, max: 1e9, why: made}]").Check([]Comparison{c}, "old")
	if len(v) != 1 || v[0].Met {
		t.Errorf("a policy without results: %+v, want a broken bound", v)
	}
	v = gateOf(t, "bounds: [{policy: new, metric: mean_jct_s, of: relative, max: 100, why: made}]").Check([]Comparison{c}, "older")
	if len(v) != 1 || v[0].Met {
		t.Errorf("another baseline than was asked for: %+v, want a broken bound", v)
	}
}

func TestGatesThatAreRefused(t *testing.T) {
	for bound, want := range map[string]string{
		"":                                 "no bounds",
		"{}":                               "no policy",
		"{policy: a}":                      `metric "", want one of mean_jct_s`,
		"{policy: a, metric: jct, max: 1}": `metric "jct"`,
		"{policy: a, metric: makespan_s}":  "neither min nor max",
		"{policy: a, metric: makespan_s, max: 1}":         "no why",
		"{policy: a, metric: makespan_s, max: .nan}":      "finite",
		"{policy: a, metric: makespan_s, max: 1, min: 2}": "in that order",
		"{policy: a, metric: makespan_s, of: best}":       `of "best"`,
		"{policy: a, metric: makespan_s, at: hi}":         "has no interval",
		"{policy: a, metric: makespan_s, maximum: 1}":     "maximum",
		"{policy: a, metric: makespan_s, max: little}":    "little",
	} {
		text := "bounds: [" + bound + "]"
		if _, err := ReadGate(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

func TestGateMustFitThePlan(t *testing.T) {
	plan := Plan{Suites: []Suite{{Scenario: "a-v1"}}, Policies: []policy.Policy{{Name: "new"}, {Name: "old"}}}
	for bound, want := range map[string]string{
		"policy: new":                 "",
		"policy: new, scenario: a-v1": "",
		"policy: newer":               `policy "newer" is not compared`,
		"policy: new, scenario: b-v1": `scenario "b-v1" is not compared`,
		"policy: old, of: relative":   "is the baseline",
	} {
		g := gateOf(t, "bounds: [{metric: makespan_s, max: 1, why: made, "+bound+"}]")
		if err := g.Fits(&plan, "old"); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", bound, err, want)
		}
	}
}

func FuzzReadGate(f *testing.F) {
	f.Add("bounds: [{policy: a, metric: makespan_s, max: 1, why: made}]")
	f.Add("bounds:\n  - policy: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := ReadGate(strings.NewReader(text)); err == nil {
			g.Check([]Comparison{{}}, "old")
		}
	})
}

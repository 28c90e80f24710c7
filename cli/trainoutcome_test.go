package cli

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/train"
)

// TestTrainSaysWhatItKeepsAndWhy checks what train says of the weights that a run keeps, which are not always the last, and why these
// are no better than the prior.
func TestTrainSaysWhatItKeepsAndWhy(t *testing.T) {
	at := func(x float64) *float64 { return &x }
	nothing := train.Metrics{Choices: 9, Validation: at(1.02)}
	with := func(change func(*train.Metrics)) []train.Metrics {
		m := nothing
		change(&m)
		m.Update = 1
		return []train.Metrics{m}
	}
	for _, c := range []struct {
		name      string
		objective string
		from      bool
		metrics   []train.Metrics
		kept, why string
	}{
		{"the last is not the best", "", false, []train.Metrics{{Update: 1, Validation: at(.652)}, {Update: 2, Validation: at(.993)}},
			"keeps update 1, validation 0.652 of the prior's mean JCT; the last was 0.993", ""},
		{"the last is the best", "", false, []train.Metrics{{Update: 1}, {Update: 2, Validation: at(.9)}},
			"keeps update 2, validation 0.900 of the prior's mean JCT", ""},
		{"a custom reward", "elsewhere", false, []train.Metrics{{Update: 1, Validation: at(.5)}}, "keeps update 1, validation 0.500 of the prior's cost", ""},
		{"what it began with", "", true, []train.Metrics{{Update: 1, Start: at(.97), StartKept: true, Validation: at(.98)}},
			"keeps the policy of --from, validation 0.970 of the prior's mean JCT", ""},
		{"no windows", "", false, []train.Metrics{{Update: 1}, {Update: 2}}, "keeps the last weights, as there are no validation windows", ""},
		{"not validated yet", "", false, []train.Metrics{{Update: 1}}, "", ""},
		{"no labels", "", false, with(func(m *train.Metrics) { m.Choices = 0 }), "keeps its prior's decisions", "train.label"},
		{"nothing matters", "", false, with(func(m *train.Metrics) {}), "keeps its prior's", "at none of 9 labelled decisions does an option save"},
		{"nothing is taken", "", false, with(func(m *train.Metrics) { m.Scale = .4 }), "keeps its prior's",
			"takes no option that saves: those that matter save or cost 0.400 job-hours in the mean, its margin is 0.5"},
		{"noise", "elsewhere", false, with(func(m *train.Metrics) { m.Scale, m.Value, m.Unseen = .4, .2, -.1 }), "keeps its prior's",
			"save +0.200 reward units where the team learned them, but -0.100 on windows that it had not seen"},
		{"once, not always", "", false, with(func(m *train.Metrics) { m.Scale, m.Value, m.Unseen = .4, .2, .1 }), "keeps its prior's",
			"save +0.100 job-hours one at a time"},
		{"draws that cost", "", false, with(func(m *train.Metrics) { m.Relative, m.Departs = at(1.1), .25 }), "keeps its prior's", "its own decisions, 25 % of all"},
		{"draws that stopped", "", false, with(func(m *train.Metrics) { m.Relative = at(1) }), "keeps its prior's", "no longer departs"},
	} {
		r := &train.Folder{Recipe: &train.Recipe{Train: train.DefaultConfig()}, Metrics: c.metrics}
		r.Recipe.Train.Objective, r.Recipe.Train.Updates = c.objective, 2
		if c.from {
			r.Recipe.From = &train.Beginning{}
		}
		if kept := keptText(r); !strings.HasPrefix(kept, c.kept) || c.why == "" && kept != c.kept {
			t.Errorf("%s: %q, want %q", c.name, kept, c.kept)
		}
		if why := whyNothing(r); !strings.Contains(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%s: %q, want %q", c.name, why, c.why)
		}
	}
}

package eval

import (
	"errors"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/policy"
)

// TestOverlapIsRefused checks that Validate rejects a plan that evaluates a policy on jobs it was trained on, unless Plan.Overlap
// is set.
func TestOverlapIsRefused(t *testing.T) {
	plan := Plan{
		Suites: []Suite{
			{Scenario: "other", Windows: []Window{{Name: "w"}}, Seeds: []uint64{1}, Periods: []scenario.Period{{Trace: "b", From: 0, To: 100}}},
			{Scenario: "same", Split: "test", Windows: []Window{{Name: "w"}}, Seeds: []uint64{1}, Periods: []scenario.Period{{Trace: "a", From: 50, To: 100}}},
		},
		Policies: []policy.Policy{{Name: "fifo"}, {Name: "learned"}},
	}
	for _, c := range []struct {
		to   float64 // end of the part of trace a in the policy's training
		want string
	}{{50, ""}, {60, "policy learned was trained or chosen on jobs of test of same (a, days 0.00 to 0.00)"}} {
		plan.Policies[1].Training = checkpoints.Provenance{Seen: []checkpoints.Period{{Trace: "a", From: 0, To: c.to}}}
		plan.Overlap = false
		err := plan.Validate()
		if _, is := errors.AsType[*OverlapError](err); is != (c.want != "") || is && err.Error() != c.want {
			t.Errorf("seen until %v: error %v, want %q", c.to, err, c.want)
		}
		plan.Overlap = true
		if err := plan.Validate(); err != nil {
			t.Errorf("seen until %v, allowed: error %v", c.to, err)
		}
	}
}

// TestTruthIsNotTraining checks that policies may be told the truth on training windows, but not begin with what these taught.
func TestTruthIsNotTraining(t *testing.T) {
	period := []scenario.Period{{Trace: "a", From: 0, To: 1}}
	suite := Suite{Scenario: "s", Windows: []Window{{Name: "w"}}, Seeds: []uint64{1}, Periods: period, Past: &Past{periods: period}}
	for name, refused := range map[string]bool{"fjf+know:time=truth:speed=truth": false, "fjf+know:seen=training": true} {
		plan := Plan{Suites: []Suite{suite}, Policies: found(t, name)}
		if err := plan.Validate(); (err != nil) != refused {
			t.Errorf("%s on training windows: error %v", name, err)
		}
	}
}

// TestComplete checks that Complete removes a policy only from the scenarios in which it lacks a case.
func TestComplete(t *testing.T) {
	plan := Plan{
		Suites: []Suite{
			{Scenario: "a", Windows: []Window{{Name: "v"}, {Name: "w"}}, Seeds: []uint64{1}},
			{Scenario: "b", Windows: []Window{{Name: "v"}}, Seeds: []uint64{1}},
		},
		Policies: []policy.Policy{{Name: "p"}, {Name: "q"}},
	}
	var results []Result
	for _, c := range plan.Cases() {
		if c.Scenario != "a" || c.Window != "w" || c.Policy != "q" {
			results = append(results, Result{Case: c})
		}
	}
	var got []string
	for _, r := range plan.Complete(results) {
		got = append(got, r.Scenario+r.Window+r.Policy)
	}
	if want := "avp awp bvp bvq"; strings.Join(got, " ") != want {
		t.Errorf("complete are %v, want %s", got, want)
	}
}

package decide_test

import (
	"math"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// TestChoicesSayWhyACandidateWins checks that a team with random weights takes the candidate with the highest total at every
// choice, that totals are bids less margins, and that payoffs are part of bids.
func TestChoicesSayWhyACandidateWins(t *testing.T) {
	for _, size := range []agents.Size{agents.DefaultSize(), jointly()} {
		checkChoices(t, teamOf(t, size))
	}
}

// jointly is the size of a network with edges between candidates.
func jointly() agents.Size {
	size := agents.DefaultSize()
	size.Hidden, size.Joint = size.Width, true
	return size
}

// teamOf returns a policy with random weights.
func teamOf(t *testing.T, size agents.Size) *policy.Policy {
	p := decidetest.Random(t, agents.Design{
		Name: "random", Window: 8, Prior: "sjfskip", Wide: agents.Wide{Items: 8}, Margin: 0.1, Size: size,
	}, "choices")
	return &policy.Policy{Name: "random", New: func() (cluster.Scheduler, error) { return agents.NewTeam(p), nil }}
}

func checkChoices(t *testing.T, p *policy.Policy) {
	t.Helper()
	plan := must.Get(decide.Plan(t.Context(), read(t), p, decide.Asking{Seed: 1, Stops: -1, Choices: true}))(t)
	if len(plan.Choices) == 0 {
		t.Fatal("no choices")
	}
	paid := false
	for _, c := range plan.Choices {
		best, priors := -1, 0
		for i, x := range c.Candidates {
			if x.Number != i+1 || x.Does == "" || !x.Masked && math.Abs(x.Total-(x.Bid-x.Margin)) > 1e-9 {
				t.Errorf("choice %d: %+v", c.Number, x)
			}
			if x.Prior {
				if priors++; x.Margin != 0 {
					t.Errorf("choice %d: the prior's choice has a margin: %+v", c.Number, x)
				}
			}
			if !x.Masked && (best < 0 || x.Total > c.Candidates[best].Total) {
				best = i
			}
			paid = paid || len(x.Edges) > 0 && x.Payoff != 0
		}
		if !c.Candidates[best].Taken || priors != 1 {
			t.Errorf("choice %d: %d candidates of the prior, and the highest total was not taken: %+v", c.Number, priors, c.Candidates)
		}
		for job, servers := range c.Attention {
			sum := 0.0
			for _, s := range servers {
				sum += s.Weight
			}
			if sum > 1+1e-5 || sum <= 0 {
				t.Errorf("choice %d: %s attends to %v", c.Number, job, servers)
			}
		}
	}
	if !paid {
		t.Error("no candidate has a payoff")
	}
	for _, x := range plan.Waiting {
		for _, c := range explain.About(plan.Choices, x.Job) {
			if !slices.ContainsFunc(c.Candidates, func(o explain.Candidate) bool { return slices.Contains(o.Jobs, x.Job) }) {
				t.Errorf("%s: choice %d is not about it", x.Job, c.Number)
			}
		}
	}
	silent, err := decide.Plan(t.Context(), read(t), p, decide.Asking{Seed: 1, Stops: -1})
	if err != nil || silent.Choices != nil || len(silent.Ops) != len(plan.Ops) {
		t.Errorf("without choices: %v, %d operations, want %d; error %v", silent.Choices, len(silent.Ops), len(plan.Ops), err)
	}
}

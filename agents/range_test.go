package agents_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
)

// TestRange checks that observations met are within the range, and that numbers far from all observations are outside.
func TestRange(t *testing.T) {
	s := agents.Shape{Server: 2, Job: 1, Candidate: 3}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, n int) []float32 {
			return rapid.SliceOfN(rapid.Float32Range(-1, 1), n, n).Draw(t, name)
		}
		var seen []agents.Observation
		var r agents.Range
		for range rapid.IntRange(1, 4).Draw(t, "observations") {
			o := agents.Observation{Server: draw("servers", 4), Job: draw("jobs", 2), Candidate: draw("candidates", 6)}
			seen, r = append(seen, o), r.Widen(&s, &o)
		}
		for i := range seen {
			if got := r.Outside(&s, &seen[i]); got != 0 {
				t.Fatalf("%v of what was met lies beyond %v", got, r)
			}
		}
		o := seen[0].Clone()
		far := rapid.IntRange(0, 5).Draw(t, "far")
		o.Candidate[far] = rapid.SampledFrom([]float32{-2, 2}).Draw(t, "value")
		if got, want := r.Outside(&s, &o), 1.0/12; got != want {
			t.Fatalf("%v lies beyond, want %v: 1 of 12 numbers", got, want)
		}
	})
	if got := agents.Range(nil).Outside(&s, &agents.Observation{Server: make([]float32, 2)}); got != 0 {
		t.Errorf("%v lies beyond no range", got)
	}
}

// TestBeyondItsRangeATeamIsItsPrior checks that within its range a team decides as it does without one, and outside it as its
// prior.
func TestBeyondItsRangeATeamIsItsPrior(t *testing.T) {
	p := newPolicy(t, 1, "sjfskip")
	shake(p, 1)
	jobs := workload(100, 1, true)
	c := cluster.Uniform(4, 8)
	team := agents.NewTeam(p)
	var met agents.Range
	team.Record(func(_ *cluster.Txn, c *agents.Choice) error {
		met = met.Widen(&p.Shape, c.Observation)
		return nil
	})
	free, prior := text(t, play(t, c, jobs, team)), text(t, play(t, c, jobs, agents.NewPrior(&p.Setting)))
	if bytes.Equal(free, prior) {
		t.Fatal("the team is its prior without a range")
	}
	p.Range = met
	team = agents.NewTeam(p)
	if got := text(t, play(t, c, jobs, team)); !bytes.Equal(got, free) || team.OutOfDistribution() != 0 {
		t.Errorf("within its range the team decides otherwise, %d choices were out of distribution", team.OutOfDistribution())
	}
	for i := range p.Range {
		p.Range[i] -= 3
	}
	team = agents.NewTeam(p)
	if got := text(t, play(t, c, jobs, team)); !bytes.Equal(got, prior) || team.OutOfDistribution() == 0 {
		t.Errorf("beyond its range the team is not its prior, %d choices were out of distribution", team.OutOfDistribution())
	}
}

package learn_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
)

// The loss and the figures of a batch are the sums that their definitions say, from log-probabilities that are distributions
// over the legal choices.
func TestLossIsItsDefinition(t *testing.T) {
	const servers, window, rows, clip, weight, spread = 3, 5, 12, 0.2, 0.25, 0.03
	p := shaken(t, agents.Size{Width: 8, Heads: 2, Hidden: 5, Rank: 3, Kappa: 2, Inducing: 3}, window)
	s := samples(t, p, servers, 4, rows-2) // two padded rows
	m, err := learn.NewMachine[float64](p.Shape, rows, servers, window, clip)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(4, 4))
	for i := range s { // ratios within and beyond the clip range on both sides, gains of both signs
		s[i].LogProb += 0.3 * r.NormFloat64()
	}
	got, err := m.Run(p.Params, s, weight, spread, make([]float64, p.Params.Count()))
	if err != nil {
		t.Fatal(err)
	}
	want := learn.Stats{Rows: len(s)}
	for i := range s {
		total, entropy := 0.0, 0.0
		for a, lp := range m.LogProbs(i) {
			if s[i].Legal[a] {
				total += math.Exp(lp)
				entropy -= math.Exp(lp) * lp
			}
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("row %d: probabilities of the legal choices sum to %v", i, total)
		}
		ratio := math.Exp(m.LogProbs(i)[s[i].Action] - s[i].LogProb)
		surrogate := ratio * s[i].Gain
		switch {
		case s[i].Gain > 0 && ratio > 1+clip:
			surrogate = (1 + clip) * s[i].Gain
		case s[i].Gain < 0 && ratio < 1-clip:
			surrogate = (1 - clip) * s[i].Gain
		}
		if ratio > 1+clip || ratio < 1-clip {
			want.Clipped++
		}
		if s[i].Action == servers*window {
			want.Stops++
		}
		want.Loss -= weight * (surrogate + spread*entropy)
		want.Entropy += entropy
		want.KL += ratio - 1 - math.Log(ratio)
	}
	if want.Clipped == 0 || want.Clipped == len(s) {
		t.Fatalf("%d of %d rows clipped: the test sees too little", want.Clipped, len(s))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if got.Rows != want.Rows || got.Clipped != want.Clipped || got.Stops != want.Stops || !near(got.Loss, want.Loss) ||
		!near(got.Entropy, want.Entropy) || !near(got.KL, want.KL) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestTooManySamples(t *testing.T) {
	p := shaken(t, agents.DefaultSize(), 4)
	s := samples(t, p, 3, 4, 3)
	m, err := learn.NewMachine[float32](p.Shape, 2, 3, 4, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, err = m.Run(p.Params, s, 1, 0, make([]float32, p.Params.Count()))
	if err == nil || !strings.Contains(err.Error(), "3 samples on a machine for 2") {
		t.Errorf("error %v", err)
	}
}

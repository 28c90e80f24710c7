package learn_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/internal/must"
)

// TestLossIsItsDefinition checks the losses and statistics of a batch against their definitions.
func TestLossIsItsDefinition(t *testing.T) {
	const servers, jobs, candidates, rows, weight, spread = 3, 5, 6, 14, 0.25, 0.03
	s, p := shaken(t, tiny("attend", "dynamic"))
	net := agents.NewNet(s, p)
	for _, l := range losses {
		list := samples(s, p, servers, jobs, candidates, rows-2) // two padded rows
		m := machine[float64](t, s, rows, servers, jobs, candidates, l)
		r := rand.New(rand.NewPCG(4, 4))
		for i := range list { // ratios within and beyond the clip range on both sides, for gains of both signs
			list[i].LogProb += 0.3 * r.NormFloat64()
		}
		got := must.Get(m.Run(p, list, weight, spread, make([]float64, p.Count())))(t)
		want := learn.Stats{Rows: len(list)}
		linear := 0
		for i := range list {
			x := &list[i]
			net.Forward(x.Observation)
			lp := logProbs(x, net.Bids, l.Temperature)
			entropy, expected, regret, best, most := 0.0, 0.0, 0.0, 0, 0
			for o := range lp {
				entropy -= math.Exp(lp[o]) * lp[o]
				expected += math.Exp(lp[o]) * x.Saved[o]
				if lp[o] > lp[best] {
					best = o
				}
				if x.Saved[o] > x.Saved[most] {
					most = o
				}
				if o == 0 {
					continue
				}
				e := math.Abs(float64(net.Bids[o]) - float64(net.Bids[0]) - x.Saved[o])
				each := e * e / 2
				if e > l.Huber {
					each = l.Huber * (e - l.Huber/2)
					linear++
				}
				regret += each / float64(len(lp)-1)
			}
			want.Entropy += entropy
			want.Value += x.Saved[best]
			if best == 0 {
				want.Kept++
			}
			if best == most {
				want.Agree++
			}
			switch l.Kind {
			case learn.Expert:
				want.Loss -= weight * (expected + spread*entropy)
			case learn.Value:
				want.Loss += weight * regret
			case learn.PPO:
				ratio := math.Exp(lp[x.Action] - x.LogProb)
				surrogate := ratio * x.Gain
				switch {
				case x.Gain > 0 && ratio > 1+l.Clip:
					surrogate = (1 + l.Clip) * x.Gain
				case x.Gain < 0 && ratio < 1-l.Clip:
					surrogate = (1 - l.Clip) * x.Gain
				}
				if ratio > 1+l.Clip || ratio < 1-l.Clip {
					want.Clipped++
				}
				want.Loss -= weight * (surrogate + spread*entropy)
				want.KL += ratio - 1 - math.Log(ratio)
			}
		}
		if l.Kind == learn.PPO && (want.Clipped == 0 || want.Clipped == len(list)) || want.Kept == 0 || want.Kept == len(list) ||
			want.Agree == 0 || want.Agree == len(list) || l.Kind == learn.Value && linear == 0 {
			t.Fatalf("%v: %+v: the test sees too little", l.Kind, want)
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-4 } // the forward pass computes bids in float32
		if got.Rows != want.Rows || got.Clipped != want.Clipped || got.Kept != want.Kept || got.Agree != want.Agree ||
			!near(got.Loss, want.Loss) || !near(got.Entropy, want.Entropy) || !near(got.KL, want.KL) || !near(got.Value, want.Value) {
			t.Errorf("%v: got %+v, want %+v", l.Kind, got, want)
		}
	}
}

// TestSamplesAreChecked checks that PPO accepts samples without Saved, and that errors name what is missing or too large.
func TestSamplesAreChecked(t *testing.T) {
	s, p := shaken(t, agents.DefaultSize())
	for _, c := range []struct {
		name   string
		change func(*learn.Sample)
		want   string
	}{
		{"nothing", func(*learn.Sample) {}, ""},
		{"servers", func(s *learn.Sample) { s.Servers = 7 }, "servers: 7, want 0 to 3"},
		{"jobs", func(s *learn.Sample) { s.Jobs = 9 }, "jobs: 9, want 0 to 4"},
		{"candidates", func(s *learn.Sample) { s.Candidates = 6 }, "candidates: 6, want 1 to 5"},
		{"server rows", func(s *learn.Sample) { s.Server = s.Server[1:] }, "server numbers"},
		{"prior", func(s *learn.Sample) { s.Prior = nil }, "prior: 0, want 5 to 5"},
		{"action", func(s *learn.Sample) { s.Action = 5 }, "action: 5, want 0 to 4"},
		{"adjacent", func(s *learn.Sample) { s.Adjacent = nil }, "adjacent: 0 numbers, want 9"},
		{"saved", func(s *learn.Sample) { s.Saved = nil }, "saved: 0 numbers, want 5"},
	} {
		for _, l := range losses {
			list := samples(s, p, 3, 4, 5, 1)
			o := list[0].Clone()
			list[0].Observation = &o
			c.change(&list[0])
			want := c.want
			if l.Kind == learn.PPO && c.name == "saved" {
				want = ""
			}
			m := machine[float32](t, s, 2, 3, 4, 5, l)
			_, err := m.Run(p, list, 1, 0, make([]float32, p.Count()))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %v: error %v, want %q", c.name, l.Kind, err, want)
			}
		}
	}
	m := machine[float32](t, s, 2, 3, 4, 5, losses[0])
	_, err := m.Run(p, samples(s, p, 3, 4, 5, 3), 1, 0, make([]float32, p.Count()))
	if err == nil || !strings.Contains(err.Error(), "3 samples on a machine for 2") {
		t.Errorf("error %v", err)
	}
}

func TestMachinesAreChecked(t *testing.T) {
	good, _ := shaken(t, agents.DefaultSize())
	bad := good
	bad.Graph = "ring"
	for _, c := range []struct {
		shape      agents.Shape
		candidates int
		loss       learn.Loss
		want       string
	}{
		{bad, 1, losses[0], `graph: "ring"`},
		{good, 0, losses[0], "0 candidates"},
		{good, 1, learn.Loss{Kind: learn.PPO}, "clip 0"},
		{good, 1, learn.Loss{Kind: learn.Value}, "huber 0"},
		{good, 1, learn.Loss{Kind: 7}, "kind 7"},
		{good, 1, learn.Loss{Kind: learn.Expert}, "temperature 0"},
	} {
		_, err := learn.NewMachine[float32](c.shape, 1, 1, 1, c.candidates, c.loss)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one with %s", err, c.want)
		}
	}
}

package learn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// shaken returns a policy all of whose weights are away from zero, so that nothing is tested by accident.
func shaken(t testing.TB, size agents.Size, window int) *agents.Policy {
	t.Helper()
	p, err := agents.NewPolicy("shaken", size, window, nil, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range p.Params {
		for j := range p.Params[i].Data {
			p.Params[i].Data[j] += float32(0.3 * r.NormFloat64())
		}
	}
	return p
}

// samples plays sampled rounds on a contended cluster with gangs across servers.
func samples(t testing.TB, p *agents.Policy, servers, gpus, most int) []learn.Sample {
	t.Helper()
	e, err := env.New(env.Config{
		Sim: sim.Config{Cluster: cluster.Uniform(servers, gpus)}, Encoder: p.Encoder(), SkipForced: true,
		Jobs: func(seed uint64) ([]trace.Job, error) {
			r := rand.New(rand.NewPCG(seed, 9))
			jobs := make([]trace.Job, 60+4*most)
			for i := range jobs {
				jobs[i].Name = fmt.Sprint(i)
				jobs[i].Submit = time.Duration(i/8) * time.Minute
				jobs[i].Workers = 1 + int32(r.IntN(3*gpus))
				jobs[i].Request.GPUMilli = cluster.WholeGPU
				jobs[i].Work = time.Duration(1+r.IntN(100)) * time.Minute
				jobs[i].Estimate = jobs[i].Work
			}
			return jobs, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d := agents.NewDecoder(e.Spec(), 0, agents.NewNet(p.Shape, p.Params))
	var ts env.TimeStep
	if err := e.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(5, 6))
	joint := make([]env.Action, servers)
	var all []learn.Sample
	gangs := 0
	for !ts.Over() && (len(all) < most || gangs == 0) {
		d.Round(&ts, draw, joint, func(c *agents.Choice) {
			s := learn.Sample{Choice: c.Clone(), Gain: draw.NormFloat64(), Adjacent: make([]float32, servers*servers)}
			o := c.Observation.Clone()
			s.Observation = &o
			if len(c.Committed) > 0 {
				gangs++
			}
			c.Graph.Adjacency(s.Adjacent)
			all = append(all, s)
		})
		if err := e.Step(joint, &ts); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < most || gangs == 0 {
		t.Fatalf("%d samples, %d within gangs, want %d and some", len(all), gangs, most)
	}
	return all[len(all)-most:]
}

// The training graph gives every sampled choice the probability with which the production forward pass and decoder drew it,
// at production size, payoffs of committed items included.
func TestGraphAgreesWithDecoder(t *testing.T) {
	for _, c := range []struct {
		servers, gpus, window, rows int
	}{{4, 4, 8, 24}, {32, 8, 32, 24}} {
		p := shaken(t, agents.DefaultSize(), c.window)
		s := samples(t, p, c.servers, c.gpus, c.rows)
		m, err := learn.NewMachine[float32](p.Shape, c.rows, c.servers, c.window, 0.2)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.Run(p.Params, s, 1, 0, make([]float32, p.Params.Count())); err != nil {
			t.Fatal(err)
		}
		for r := range s {
			got, want := float64(m.LogProbs(r)[s[r].Action]), s[r].LogProb
			if math.Abs(got-want) > 2e-4 {
				t.Errorf("%d servers, row %d with %d committed: log-probability %v, want %v", c.servers, r, len(s[r].Committed), got, want)
			}
		}
	}
}

// Gradients in float64 equal central differences of the loss, for every parameter.
func TestGradients(t *testing.T) {
	const servers, window, rows = 3, 4, 6
	p := shaken(t, agents.Size{Width: 8, Heads: 2, Hidden: 5, Rank: 3, Kappa: 2, Inducing: 3}, window)
	s := samples(t, p, servers, 4, rows-1) // one padded row
	m, err := learn.NewMachine[float64](p.Shape, rows, servers, window, 0.2)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range s {
		s[i].LogProb += 0.05 * float64(i%5-2) // ratios on both sides of 1, within the clip range
	}
	grad, scrap := make([]float64, p.Params.Count()), make([]float64, p.Params.Count())
	if _, err := m.Run(p.Params, s, 0.5, 0.01, grad); err != nil {
		t.Fatal(err)
	}
	cost := func() float64 {
		st, err := m.Run(p.Params, s, 0.5, 0.01, scrap)
		if err != nil {
			t.Fatal(err)
		}
		return st.Loss
	}
	at := 0
	r := rand.New(rand.NewPCG(7, 8))
	for i := range p.Params {
		data := p.Params[i].Data
		largest := 0.0
		for range 6 {
			j := r.IntN(len(data))
			// Parameters are float32: a power of two as step keeps both ends exact enough.
			const step = 1.0 / (1 << 16) // small, so that few rectifiers turn within it
			old := data[j]
			data[j] = old + step
			up, plus := cost(), float64(data[j])
			data[j] = old - step
			down, minus := cost(), float64(data[j])
			data[j] = old
			want := (up - down) / (plus - minus)
			got := grad[at+j]
			largest = max(largest, math.Abs(want))
			if math.Abs(got-want) > 1e-4*max(0.05, math.Abs(got)+math.Abs(want)) {
				t.Errorf("%s[%d]: gradient %v, want %v", p.Params[i].Name, j, got, want)
			}
		}
		if largest == 0 && p.Params[i].Name != "pair.match.b" {
			t.Logf("%s: no gradient at any of the entries tried", p.Params[i].Name)
		}
		at += len(data)
	}
}

// Padding adds nothing, a second run gives the same, and rows that left the clip range on the good side have no gradient.
func TestRunsAreClean(t *testing.T) {
	const servers, window = 4, 8
	p := shaken(t, agents.DefaultSize(), window)
	s := samples(t, p, servers, 4, 5)
	run := func(rows int, s []learn.Sample) ([]float32, learn.Stats) {
		m, err := learn.NewMachine[float32](p.Shape, rows, servers, window, 0.2)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		grad := make([]float32, p.Params.Count())
		for range 2 {
			st, err := m.Run(p.Params, s, 1, 0, grad)
			if err != nil {
				t.Fatal(err)
			}
			if st.Rows != len(s) {
				t.Fatalf("%d rows, want %d", st.Rows, len(s))
			}
		}
		st, err := m.Run(p.Params, s, 1, 0, grad)
		if err != nil {
			t.Fatal(err)
		}
		return grad, st
	}
	exact, first := run(5, s)
	padded, second := run(9, s)
	for i := range exact {
		if math.Abs(float64(exact[i]-padded[i])) > 1e-5*max(1, math.Abs(float64(exact[i]))) {
			t.Fatalf("gradient %d: %v with padding, %v without", i, padded[i], exact[i])
		}
	}
	if math.Abs(first.Loss-second.Loss) > 1e-5 || first.Entropy <= 0 || first.KL < 0 {
		t.Fatalf("stats %+v and %+v", first, second)
	}
	for i := range s {
		s[i].Gain, s[i].LogProb = 1, s[i].LogProb-1 // ratio e, beyond 1.2
	}
	if grad, st := run(5, s); st.Clipped != 5 || norm(grad) != 0 {
		t.Fatalf("%d clipped rows with gradient norm %v, want 5 and 0", st.Clipped, norm(grad))
	}
}

func norm(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

package learn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/must"
)

// tiny returns a size whose gradients can be checked quickly.
func tiny(attention, graph string) agents.Size {
	return agents.Size{
		Width: 8, Heads: 2, Hidden: 5, Rank: 3, Kappa: 2, Inducing: 3, Attention: attention, Graph: graph,
	}
}

// shaken returns a network in which all weights differ from their initial values, so that no test passes because a weight is 0.
func shaken(tb testing.TB, size agents.Size) (agents.Shape, agents.Params) {
	tb.Helper()
	s := must.Get(agents.NewShape(9, 7, 6, 3, size))(tb)
	r := rand.New(rand.NewPCG(3, 4))
	p := agents.Init(s, r)
	for i := range p {
		for j := range p[i].Data {
			p[i].Data[j] += float32(0.2 * r.NormFloat64())
		}
	}
	return s, p
}

// random returns an observation with random features. Each candidate is about at most one job and has up to six servers.
func random(s *agents.Shape, servers, jobs, candidates int, r *rand.Rand) *agents.Observation {
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = r.Float32()
		}
		return x
	}
	o := &agents.Observation{
		Servers: servers, Jobs: jobs, Candidates: candidates,
		Server: numbers(servers * s.Server), Job: numbers(jobs * s.Job), Candidate: numbers(candidates * s.Candidate),
	}
	for i := range candidates {
		o.Of = append(o.Of, int32(r.IntN(jobs+1)-1))
		members := r.Perm(servers)[:r.IntN(min(6, servers)+1)]
		slices.Sort(members)
		for _, m := range members {
			o.Shares = append(o.Shares, agents.Share{Candidate: int32(i), Server: int32(m), Weight: 1 / float32(len(members))})
		}
	}
	if s.Joint {
		few := func(n int) []int32 {
			x := make([]int32, n)
			for i := range x {
				x[i] = int32(r.IntN(3))
			}
			return x
		}
		o.Rack, o.Type, o.Tenant = few(servers), few(servers), make([]int32, jobs)
		for i := range o.Tenant {
			o.Tenant[i] = 1
		}
		for _, k := range r.Perm(candidates)[:r.IntN(min(candidates, 4))] {
			if k > 0 {
				o.Taken = append(o.Taken, int32(k))
			}
		}
	}
	return o
}

// samples draws choices with up to the given numbers of servers, jobs and candidates. The first sample has the largest numbers
// and the second the smallest possible. Each has the log-probability of its action under the production forward pass.
func samples(s agents.Shape, p agents.Params, servers, jobs, candidates, n int) []learn.Sample {
	r := rand.New(rand.NewPCG(5, 6))
	net := agents.NewNet(s, p)
	list := make([]learn.Sample, n)
	for i := range list {
		a, b, c := 1+r.IntN(servers), r.IntN(jobs+1), 1+r.IntN(candidates)
		switch i {
		case 0:
			a, b, c = servers, jobs, candidates
		case 1:
			a, b, c = 1, 0, 1
		}
		x := learn.Sample{Observation: random(&s, a, b, c, r), Saved: make([]float64, c), Prior: make([]float32, c), Gain: r.NormFloat64()}
		for o := 1; o < c; o++ {
			x.Saved[o], x.Prior[o] = r.NormFloat64(), -r.Float32()
		}
		net.Forward(x.Observation)
		x.Action = r.IntN(c)
		if s.Joint {
			a = c
			x.Gone = make([]bool, c)
			for _, k := range x.Taken {
				x.Gone[k] = true
			}
			for x.Gone[x.Action] {
				x.Action = r.IntN(c)
			}
		}
		if s.Graph != agents.GraphNone {
			x.Adjacent = make([]float32, a*a)
			net.Adjacency(x.Adjacent)
		}
		x.LogProb = logProbs(&x, net.Bids, 1)[x.Action]
		list[i] = x
	}
	return list
}

// logProbs returns the log-probabilities of a sample's candidates for the given bids, at a temperature.
func logProbs(s *learn.Sample, bids []float32, temperature float64) []float64 {
	out, sum := make([]float64, len(bids)), 0.0
	for i, b := range bids {
		out[i] = (float64(s.Prior[i]) + float64(b)) / temperature
		if s.Gone != nil && s.Gone[i] {
			out[i] = attention.Masked
			continue
		}
		sum += math.Exp(out[i])
	}
	for i := range out {
		if out[i] != attention.Masked {
			out[i] -= math.Log(sum)
		}
	}
	return out
}

// losses are the objectives with their parameters.
var losses = []learn.Loss{
	{Kind: learn.Expert, Temperature: 0.4}, {Kind: learn.Value, Huber: 0.7, Temperature: 1}, {Kind: learn.PPO, Clip: 0.2, Temperature: 2},
}

// variants returns the given size with all variants of the network.
func variants(size agents.Size) []agents.Size {
	var list []agents.Size
	hidden := size.Hidden
	for _, c := range [][2]string{
		{"attend", "dynamic"}, {"mean", "dynamic"}, {"none", "dynamic"}, {"attend", "none"}, {"attend", "random"}, {"attend", "full"},
	} {
		size.Attention, size.Graph = c[0], c[1]
		list = append(list, size)
		size.Joint, size.Hidden = true, size.Width
		list = append(list, size)
		size.Joint, size.Hidden = false, hidden
	}
	return list
}

func machine[T float32 | float64](tb testing.TB, s agents.Shape, rows, servers, jobs, candidates int, l learn.Loss) *learn.Machine[T] {
	tb.Helper()
	m := must.Get(learn.NewMachine[T](s, rows, servers, jobs, candidates, l))(tb)
	tb.Cleanup(func() { _ = m.Close() }) // a machine contains nothing to lose
	return m
}

// TestGraphAgreesWithForward checks that the training graph and the production forward pass give every candidate the same
// probability, at production size, in all variants, also with fewer servers, jobs and candidates than the machine's maximum.
func TestGraphAgreesWithForward(t *testing.T) {
	const rows = 10
	for _, size := range variants(agents.DefaultSize()) {
		for _, c := range []struct{ servers, jobs, candidates int }{{1, 1, 1}, {16, 32, 8}, {64, 48, 12}} {
			s, p := shaken(t, size)
			list := samples(s, p, c.servers, c.jobs, c.candidates, rows)
			net, grad := agents.NewNet(s, p), make([]float32, p.Count())
			for _, l := range losses {
				m := machine[float32](t, s, rows+1, c.servers, c.jobs, c.candidates, l)
				must.Get(m.Run(p, list, 1, 0, grad))(t)
				for r := range list {
					net.Forward(list[r].Observation)
					got := m.LogProbs(r)
					for o, want := range logProbs(&list[r], net.Bids, l.Temperature) {
						if !(math.Abs(float64(got[o])-want) <= 1e-5*(1+math.Abs(want))) {
							t.Fatalf("%s, %s, %v, %+v, row %d: log-probability of candidate %d is %v, want %v",
								s.Attention, s.Graph, l.Kind, c, r, o, got[o], want)
						}
					}
					for o, lp := range got[len(net.Bids):] {
						if lp > -1e8 {
							t.Fatalf("row %d: padded candidate %d has log-probability %v", r, o, lp)
						}
					}
				}
			}
		}
	}
}

// TestGradients checks gradients in float64 against central differences of the loss, for every parameter, loss and variant.
func TestGradients(t *testing.T) {
	const servers, jobs, candidates, rows = 5, 4, 5, 8
	for _, size := range variants(tiny("", "")) {
		for _, l := range losses {
			t.Run(fmt.Sprint(size.Attention, " ", size.Graph, " ", size.Joint, " ", l.Kind), func(t *testing.T) {
				s, p := shaken(t, size)
				list := samples(s, p, servers, jobs, candidates, rows-1) // one padded row
				m := machine[float64](t, s, rows, servers, jobs, candidates, l)
				for i := range list {
					list[i].LogProb += 0.05 * float64(i%5-2) // ratios on both sides of 1, within the clip range
				}
				grad, scrap := make([]float64, p.Count()), make([]float64, p.Count())
				must.Get(m.Run(p, list, 0.5, 0.1, grad))(t)
				differences(t, p, grad, func() float64 {
					st := must.Get(m.Run(p, list, 0.5, 0.1, scrap))(t)
					return st.Loss
				})
			})
		}
	}
}

// differences compares some entries of each parameter's gradient with central differences of the cost.
func differences(t *testing.T, p agents.Params, grad []float64, cost func() float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	at, moved := 0, 0
	for i := range p {
		data := p[i].Data
		largest := 0.0
		for range 6 {
			j := r.IntN(len(data))
			// Parameters are float32. A step that is a power of two keeps both ends accurate.
			const step = 1.0 / (1 << 16) // small, so that few ReLUs switch within it
			old := data[j]
			data[j] = old + step
			up, plus := cost(), float64(data[j])
			data[j] = old - step
			down, minus := cost(), float64(data[j])
			data[j] = old
			want := (up - down) / (plus - minus)
			got := grad[at+j]
			largest = max(largest, math.Abs(want))
			if math.Abs(got-want) > 1e-4*max(0.02, math.Abs(got)+math.Abs(want)) {
				t.Errorf("%s[%d]: gradient %v, want %v", p[i].Name, j, got, want)
			}
		}
		if largest > 1e-6 {
			moved++
		}
		at += len(data)
	}
	if moved < len(p)/3 {
		t.Errorf("%d of %d parameters have a gradient: the test sees too little", moved, len(p))
	}
}

// TestRunsAreClean checks that padding adds nothing, for every loss and variant, and that a second run gives the same result.
func TestRunsAreClean(t *testing.T) {
	const servers, jobs, candidates, rows = 6, 5, 4, 5
	for _, size := range variants(agents.DefaultSize()) {
		for _, l := range losses {
			s, p := shaken(t, size)
			list := samples(s, p, servers, jobs, candidates, rows)
			run := func(m *learn.Machine[float64]) ([]float64, learn.Stats) {
				grad := slices.Repeat([]float64{99}, p.Count())
				st := must.Get(m.Run(p, list, 1, 0.01, grad))(t)
				return grad, st
			}
			small := machine[float64](t, s, rows, servers, jobs, candidates, l)
			large := machine[float64](t, s, rows+3, servers+7, jobs+9, candidates+2, l)
			exact, first := run(small)
			again, second := run(small)
			if !slices.Equal(exact, again) || first != second {
				t.Fatalf("%v: a second run differs", l.Kind)
			}
			full := list
			list = samples(s, p, servers+7, jobs+9, candidates+2, rows+3)
			run(large) // leaves numbers in the padding of the next batch
			list = full
			padded, third := run(large)
			for i := range exact {
				if math.Abs(exact[i]-padded[i]) > 1e-9*max(1, math.Abs(exact[i])) {
					t.Fatalf("%v: gradient %d is %v with padding, %v without", l.Kind, i, padded[i], exact[i])
				}
			}
			if math.Abs(first.Loss-third.Loss) > 1e-9 || math.Abs(first.Entropy-third.Entropy) > 1e-9 || first.Kept != third.Kept ||
				first.Agree != third.Agree || first.Rows != rows {
				t.Fatalf("%v: stats %+v and %+v", l.Kind, first, third)
			}
		}
	}
}

// TestClippedRowsRest checks that rows whose ratio left the clip range in the direction of the gain have gradient 0.
func TestClippedRowsRest(t *testing.T) {
	s, p := shaken(t, agents.DefaultSize())
	list := samples(s, p, 6, 5, 4, 5)
	for i := range list {
		list[i].Gain, list[i].LogProb = 1, list[i].LogProb-1 // ratio e, beyond 1.2
	}
	m, grad := machine[float32](t, s, 5, 6, 5, 4, learn.Loss{Kind: learn.PPO, Clip: 0.2, Temperature: 1}), make([]float32, p.Count())
	st := must.Get(m.Run(p, list, 1, 0, grad))(t)
	if moves := slices.ContainsFunc(grad, func(v float32) bool { return v != 0 }); st.Clipped != 5 || moves {
		t.Fatalf("%d clipped rows, gradient %v, want 5 and none", st.Clipped, moves)
	}
}

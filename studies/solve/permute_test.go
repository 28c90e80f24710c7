package solve_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/studies/solve"
)

// permuted returns p with agent i at index to[i].
func permuted(p *problem, to []int) *problem {
	n, k := p.Agents, p.Items
	q := &problem{Agents: n, Items: k, Utility: make([]float64, n*k), Capacity: p.Capacity}
	if p.Idle != nil {
		q.Idle = make([]float64, n)
	}
	if p.Task != nil {
		q.Task = make([]int32, n*k)
	}
	from := make([]int, n)
	for i, at := range to {
		from[at] = i
		copy(q.Utility[at*k:][:k], p.Utility[i*k:])
		if p.Idle != nil {
			q.Idle[at] = p.Idle[i]
		}
		if p.Task != nil {
			copy(q.Task[at*k:][:k], p.Task[i*k:])
		}
	}
	q.Graph = link(n, func(i, j int) bool {
		near, _ := p.Graph.Neighbours(from[i])
		return slices.Contains(near, int32(from[j]))
	})
	if f := p.Payoffs; f != nil {
		width := k * len(f.D)
		q.Payoffs = &solve.Payoffs[float64]{Agents: n, Items: k, D: f.D, Q: make([]float64, len(f.Q))}
		for i, at := range to {
			copy(q.Payoffs.Q[at*width:][:width], f.Q[i*width:])
		}
		for e := range q.Graph.Gate {
			q.Graph.Gate[e] = p.Graph.Gate[0]
		}
	}
	if p.Pair != nil {
		q.Pair = solve.PairFunc[float64](func(i, a, j, b int) float64 { return p.Pair.Payoff(from[i], a, from[j], b) })
	}
	return q
}

// exact rounds the numbers of p, so that sums do not depend on their order. Otherwise messages in loops could make different
// values equal, and rounding would then separate them at random. The steps are so fine that ties are rare, and so coarse that sums of
// products of three factors stay exact.
func exact(p *problem) {
	for _, x := range [][]float64{p.Utility, p.Idle} {
		for i := range x {
			x[i] = math.Round(x[i]*(1<<37)) / (1 << 37)
		}
	}
	if p.Graph != nil {
		for e := range p.Graph.Gate {
			p.Graph.Gate[e] = .5
		}
	}
	if f := p.Payoffs; f != nil {
		for i := range f.Q {
			f.Q[i] = math.Round(f.Q[i]*4096) / 4096
		}
		for r := range f.D {
			f.D[r] = math.Round(f.D[r]*4096) / 4096
		}
	}
	if pair := p.Pair; pair != nil {
		p.Pair = solve.PairFunc[float64](func(i, a, j, b int) float64 {
			return math.Round(pair.Payoff(i, a, j, b)*(1<<37)) / (1 << 37)
		})
	}
}

// TestPermutingAgentsPermutesTheAnswer checks that without ties the indexes of agents do not matter.
func TestPermutingAgentsPermutesTheAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 5, items: 4, edges: true, tasks: rapid.Bool().Draw(t, "with tasks")})
		exact(p)
		to := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "permutation"), 0)).Perm(p.Agents)
		q := permuted(p, to)
		all := append(all(), named{name: "max-plus, damped, at any time", new: func() solver {
			return &solve.MaxPlus[float64]{Damping: .5, Anytime: true}
		}})
		for _, s := range all {
			a, b := s.new(), s.new()
			switch m := a.(type) {
			case *solve.Sequential[float64]:
				if m.Rand != nil {
					continue
				}
				m.Order = make([]int, p.Agents)
				for i, at := range to {
					m.Order[at] = i
				}
			case *solve.MaxPlus[float64]:
				// Agents send in turn by index. The best joint choices without and with an agent's neighbour are often equal, and then the
				// gains that determine the order of decoding are equal too.
				if m.Async || m.Decode {
					continue
				}
			}
			want, got := make([]int, p.Agents), make([]int, p.Agents)
			value := a.Solve(p, want)
			if other := b.Solve(q, got); !near(other, value) {
				t.Fatalf("%s finds %g, and %g when permuted", s.name, value, other)
			}
			for i, at := range to {
				if got[at] != want[i] {
					t.Fatalf("%s: agent %d chooses %d, and %d when permuted", s.name, i, want[i], got[at])
				}
			}
		}
	})
}

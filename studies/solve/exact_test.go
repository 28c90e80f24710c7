package solve_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/studies/solve"
)

func TestBruteForceEqualsEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 3, items: 3, edges: true, tasks: rapid.Bool().Draw(t, "with tasks")})
		choice := make([]int, p.Agents)
		got := new(solve.BruteForce[float64]).Solve(p, choice)
		if want, _ := optimum(p); !near(got, want) {
			t.Fatalf("finds %v worth %g, the best is worth %g", choice, got, want)
		}
	})
}

func TestExactOnForests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 6, items: 3, edges: true, forest: true})
		choice := make([]int, p.Agents)
		best := new(solve.BruteForce[float64]).Solve(p, choice)
		for name, s := range map[string]solver{
			"tree":         new(solve.Tree[float64]),
			"synchronous":  &solve.MaxPlus[float64]{Iterations: 6},
			"asynchronous": &solve.MaxPlus[float64]{Iterations: 6, Async: true, Normalise: true},
			"normalised":   &solve.MaxPlus[float64]{Iterations: 6, Normalise: true},
			"decoded":      &solve.MaxPlus[float64]{Iterations: 6, Decode: true},
			// Damping leads to the same fixed point, but more slowly.
			"damped":              &solve.MaxPlus[float64]{Iterations: 400, Damping: .5},
			"damped in turn":      &solve.MaxPlus[float64]{Iterations: 400, Damping: .5, Async: true},
			"damped and decoded":  &solve.MaxPlus[float64]{Iterations: 400, Damping: .5, Decode: true},
			"damped, at any time": &solve.MaxPlus[float64]{Iterations: 400, Damping: .5, Anytime: true, Normalise: true},
		} {
			got := make([]int, p.Agents)
			if value := s.Solve(p, got); !near(value, best) || !slices.Equal(got, choice) {
				t.Fatalf("%s finds %v worth %g, best is %v worth %g", name, got, value, choice, best)
			}
		}
	})
}

// TestTreeKeepsTheEdgesThatMatter checks that on graphs with cycles the tree solver is exact if the dropped edges have no
// payoffs.
func TestTreeKeepsTheEdgesThatMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 6, items: 3, edges: true, forest: true})
		sparse := p.Graph
		p.Graph = link(p.Agents, func(i, j int) bool { return true })
		for i := range p.Agents {
			to, gates := p.Graph.Neighbours(i)
			for e, j := range to {
				near, _ := sparse.Neighbours(i)
				if !slices.Contains(near, j) {
					gates[e] = 0
				}
			}
		}
		p.Pair = nil
		choice := make([]int, p.Agents)
		best := new(solve.BruteForce[float64]).Solve(p, choice)
		if got := new(solve.Tree[float64]).Solve(p, choice); !near(got, best) {
			t.Fatalf("finds %g, the best is %g", got, best)
		}
	})
}

func TestAuctionIsNearTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Bool().Draw(t, "whole")
		p := draw(t, shape{agents: 6, items: 5, tasks: true, whole: whole})
		slack := rapid.SampledFrom([]float64{0, .01, .3, .99}).Draw(t, "slack")
		choice := make([]int, p.Agents)
		best := new(solve.BruteForce[float64]).Solve(p, choice)
		got := (&solve.Auction[float64]{Slack: slack}).Solve(p, choice)
		if got < best-max(slack, 1e-3) || whole && got != best {
			t.Fatalf("finds %v worth %g with slack %g, the best is %g", choice, got, slack, best)
		}
	})
}

// TestAuctionAmongEquals checks that scaling ends the bidding wars of equal agents over equal tasks, and that the auction finds
// the best choice.
func TestAuctionAmongEquals(t *testing.T) {
	const n, k = 48, 24
	p := &problem{Agents: n, Items: k, Utility: make([]float64, n*k), Task: make([]int32, n*k), Capacity: make([]int32, k)}
	want := 0.0
	for a := range k {
		p.Capacity[a] = int32(1 + a%2)
		want += float64(p.Capacity[a]) * float64(1+a%3)
		for i := range n {
			p.Utility[i*k+a], p.Task[i*k+a] = float64(1+a%3), int32(a)
		}
	}
	if got := (&solve.Auction[float64]{Slack: .5}).Solve(p, make([]int, n)); got != want {
		t.Errorf("finds %g, the best is %g", got, want)
	}
}

func TestTaskFactorsFindTheOnlyBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 4, items: 4, tasks: true, usable: true})
		best, unique := optimum(p)
		if !unique {
			t.Skip("another choice is nearly as good")
		}
		damping := rapid.SampledFrom([]float64{0, .3}).Draw(t, "damping")
		choice := make([]int, p.Agents)
		got := (&solve.TaskFactors[float64]{Iterations: 3000, Damping: damping}).Solve(p, choice)
		if !near(got, best) || solve.Conflicts(p, choice) > 0 {
			t.Fatalf("finds %v worth %g, the best is %g", choice, got, best)
		}
	})
}

// TestTaskFactorsWithTwoItemsOfATask checks that an agent's loss without a task counts the better of its two items for the task.
func TestTaskFactorsWithTwoItemsOfATask(t *testing.T) {
	p := &problem{Agents: 2, Items: 2, Utility: []float64{10, 8, 12, -inf}, Idle: []float64{0, 3}, Task: []int32{0, 0, 0, 0},
		Capacity: []int32{1}}
	if got := new(solve.TaskFactors[float64]).Solve(p, make([]int, 2)); got != 13 {
		t.Errorf("finds %g, want 13", got)
	}
}

// TestDiagonalEqualsFunction checks that the fast path for payoffs between equal items gives the same result as the general
// path.
func TestDiagonalEqualsFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 5, items: 5, edges: true, tasks: rapid.Bool().Draw(t, "with tasks")})
		p.Payoffs = nil
		n, k := p.Agents, p.Items
		f := normal(rand.New(rand.NewPCG(uint64(n), uint64(k))), n*n*k)
		same := solve.Diagonal[float64](func(i, j, a int) float64 { return f[(min(i, j)*n+max(i, j))*k+a] })
		for _, s := range all() {
			short, long := make([]int, n), make([]int, n)
			p.Pair = same
			got := s.new().Solve(p, short)
			p.Pair = solve.PairFunc[float64](same.Payoff)
			if want := s.new().Solve(p, long); got != want || !slices.Equal(short, long) {
				t.Fatalf("%s finds %v worth %g, and %v worth %g by the long way", s.name, short, got, long, want)
			}
		}
	})
}

// TestSequentialEqualsPlainLoops checks, with plain loops, that each agent counts the payoffs with the agents before it.
func TestSequentialEqualsPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 5, items: 4, edges: true})
		p.Pair, p.Idle = nil, nil
		bids, want := slices.Clone(p.Utility), make([]int, p.Agents)
		for i := range want {
			want[i] = solve.NoOp
			for a, b := range bids[i*p.Items:][:p.Items] {
				if b > 0 && (want[i] == solve.NoOp || b > bids[i*p.Items+want[i]]) {
					want[i] = a
				}
			}
			if p.Payoffs == nil || want[i] == solve.NoOp {
				continue
			}
			q, rank := p.Payoffs.Q, len(p.Payoffs.D)
			to, gates := p.Graph.Neighbours(i)
			for e, j := range to {
				for a := range p.Items {
					for r, d := range p.Payoffs.D {
						at := int(j)*p.Items + a
						bids[at] += gates[e] * d * q[(i*p.Items+want[i])*rank+r] * q[at*rank+r]
					}
				}
			}
		}
		got := make([]int, p.Agents)
		if new(solve.Sequential[float64]).Solve(p, got); !slices.Equal(got, want) {
			t.Fatalf("chooses %v, want %v", got, want)
		}
	})
}

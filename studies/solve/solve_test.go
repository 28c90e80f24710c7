package solve_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/studies/solve"
)

// TestSolversKeepTheirWord checks that every solver returns the value of its choice, never chooses an illegal item, never
// exceeds brute force, and gives the same result after solving another problem. Solvers that promise it have no conflicts.
func TestSolversKeepTheirWord(t *testing.T) {
	solvers := all()
	kept := make([]solver, len(solvers))
	for i, s := range solvers {
		kept[i] = s.new()
	}
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 5, items: 4, edges: true, tasks: rapid.Bool().Draw(t, "with tasks")})
		most := new(solve.BruteForce[float64]).Solve(p, make([]int, p.Agents))
		for i, s := range solvers {
			choice, again := make([]int, p.Agents), make([]int, p.Agents)
			value := s.new().Solve(p, choice)
			switch {
			case math.IsNaN(value) || !near(value, solve.Value(p, choice)):
				t.Fatalf("%s returns %g, its choice %v is worth %g", s.name, value, choice, solve.Value(p, choice))
			case value > most+1e-9:
				t.Fatalf("%s finds %g, more than the best %g", s.name, value, most)
			case !legal(p, choice):
				t.Fatalf("%s chooses illegal items: %v", s.name, choice)
			case s.clear && solve.Conflicts(p, choice) > 0:
				t.Fatalf("%s leaves conflicts: %v", s.name, choice)
			}
			if s.name == "sequential at random" {
				continue
			}
			if got := kept[i].Solve(p, again); got != value || !slices.Equal(choice, again) {
				t.Fatalf("%s finds %v, worth %g, after other problems, and %v, worth %g, afresh", s.name, again, got, choice, value)
			}
		}
	})
}

// TestValueSettlesConflicts checks that a conflict costs only the losers: the choice has the value that it has with them on
// NoOp.
func TestValueSettlesConflicts(t *testing.T) {
	p := &problem{
		Agents: 4, Items: 2, Idle: []float64{0, 0, 0, .25},
		Utility: []float64{3, 1, 5, 1, 5, -inf, 4, 2}, Task: []int32{0, -1, 0, 1, 0, 1, 0, 1}, Capacity: []int32{2, 1},
		Graph: link(4, func(i, j int) bool { return true }),
		Pair:  solve.PairFunc[float64](func(i, a, j, b int) float64 { return -.5 }),
	}
	for _, row := range []struct {
		name      string
		choice    []int
		value     float64
		conflicts int
	}{
		{"nobody", []int{-1, -1, -1, -1}, .25, 0},
		{"as many as there is room for", []int{0, 0, -1, -1}, 8 - .5 + .25, 0},
		{"the lowest claim goes, with its payoffs", []int{0, 0, 0, -1}, 10 - .5 + .25, 1},
		{"two claims go, one of them to an idle utility", []int{0, 0, 0, 0}, 10 - .5 + .25, 2},
		{"no task, no conflict", []int{1, 1, -1, 1}, 3 - .5, 1},
		{"illegal", []int{-1, -1, 1, -1}, -inf, 0},
	} {
		if got := solve.Value(p, row.choice); got != row.value {
			t.Errorf("%s: value is %g, want %g", row.name, got, row.value)
		}
		if got := solve.Conflicts(p, row.choice); got != row.conflicts {
			t.Errorf("%s: %d conflicts, want %d", row.name, got, row.conflicts)
		}
	}
}

func TestTies(t *testing.T) {
	// Three equal agents with three items: no gain, a task for one agent, and a task for two with the same utility.
	p := &problem{Agents: 3, Items: 3, Utility: []float64{0, 1, 1, 0, 1, 1, 0, 1, 1},
		Task: []int32{-1, 0, 1, -1, 0, 1, -1, 0, 1}, Capacity: []int32{1, 2}}
	nothing := &problem{Agents: 1, Items: 2, Utility: []float64{0, -1}}
	for _, s := range all() {
		choice := []int{5}
		if s.new().Solve(nothing, choice); choice[0] != solve.NoOp {
			t.Errorf("%s chooses %d for no gain", s.name, choice[0])
		}
		choice = []int{5, 5, 5}
		s.new().Solve(p, choice)
		want := []int{1, 2, 2} // the lowest agent gets the first, the others what is left
		switch {
		case !s.clear:
			want = []int{1, 1, 1}
		case s.name == "auction" || s.name == "sequential at random": // prices, or chance, decide between equal agents
			slices.Sort(choice)
		}
		if !slices.Equal(choice, want) {
			t.Errorf("%s chooses %v, want %v", s.name, choice, want)
		}
	}
}

func TestAnytimeNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 6, items: 4, edges: true, tasks: rapid.Bool().Draw(t, "with tasks")})
		s := solve.MaxPlus[float64]{Anytime: true, Async: rapid.Bool().Draw(t, "async"),
			Damping: rapid.SampledFrom([]float64{0, .5}).Draw(t, "damping"), Decode: rapid.Bool().Draw(t, "decode")}
		choice := make([]int, p.Agents)
		last := -inf
		if !s.Decode {
			last = new(solve.Independent[float64]).Solve(p, choice)
		}
		for s.Iterations = 1; s.Iterations < 12; s.Iterations++ {
			value := s.Solve(p, choice)
			if value < last {
				t.Fatalf("%g after %d iterations, %g before", value, s.Iterations, last)
			}
			last = value
		}
	})
}

func TestNothingLegal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := draw(t, shape{agents: 4, items: 4, edges: true, tasks: true})
		for i := range p.Utility {
			p.Utility[i] = -inf
		}
		for _, s := range all() {
			choice := make([]int, p.Agents)
			value, idle := s.new().Solve(p, choice), 0.0
			for _, u := range p.Idle {
				idle += u
			}
			if !near(value, idle) || slices.ContainsFunc(choice, func(a int) bool { return a != solve.NoOp }) {
				t.Fatalf("%s chooses %v, worth %g", s.name, choice, value)
			}
		}
	})
}

func TestSinglePrecision(t *testing.T) {
	p := &solve.Problem[float32]{Agents: 3, Items: 2, Utility: []float32{1, 3, 1, 4, 1, float32(-inf)},
		Task: []int32{0, 1, 0, 1, 0, 1}, Capacity: []int32{1, 1}}
	want := []int{0, 1, -1}
	for _, s := range []solve.Solver[float32]{new(solve.Repair[float32]), new(solve.Greedy[float32]),
		new(solve.Sequential[float32]), new(solve.Auction[float32]), new(solve.BruteForce[float32]),
		&solve.MaxPlus[float32]{Decode: true}} {
		choice := make([]int, 3)
		value := s.Solve(p, choice)
		if _, turns := s.(*solve.Sequential[float32]); turns {
			if value != 4 {
				t.Errorf("%T finds %g, want the first come", s, value)
			}
			continue
		}
		if value != 5 || choice[1] != want[1] {
			t.Errorf("%T finds %v worth %g, want %v worth 5", s, choice, value, want)
		}
	}
}

func TestReuseAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, k, rank = 6, 4, 2
	p := &problem{Agents: n, Items: k, Utility: normal(rng, n*k), Task: make([]int32, n*k), Capacity: []int32{1, 2, 1, 1},
		Graph:   link(n, func(i, j int) bool { return (i+j)%2 == 1 }),
		Payoffs: &solve.Payoffs[float64]{Agents: n, Items: k, Q: normal(rng, n*k*rank), D: normal(rng, rank)}}
	for i := range p.Task {
		p.Task[i] = int32(i % k)
	}
	choice := make([]int, n)
	for _, s := range all() {
		kept := s.new()
		kept.Solve(p, choice)
		if allocs := testing.AllocsPerRun(3, func() { kept.Solve(p, choice) }); allocs != 0 {
			t.Errorf("%s allocates %g times", s.name, allocs)
		}
	}
}

// BenchmarkSolve measures decisions of the size that the learned team makes: 64 servers, 48 jobs, 4 edges each, payoffs of rank
// 4.
func BenchmarkSolve(b *testing.B) {
	const n, k, rank = 64, 48, 4
	rng := rand.New(rand.NewPCG(5, 6))
	p := &problem{Agents: n, Items: k, Utility: normal(rng, n*k), Task: make([]int32, n*k), Capacity: make([]int32, k),
		Payoffs: &solve.Payoffs[float64]{Agents: n, Items: k, Q: normal(rng, n*k*rank), D: []float64{.05, .05, .05, .05}}}
	for i := range p.Task {
		p.Task[i], p.Capacity[i%k] = int32(i%k), 1
	}
	scores := make([]float64, n*n)
	match(scores, normal(rng, n*16), 16)
	p.Graph = selectEdges(scores, n, 4)
	choice := make([]int, n)
	for _, s := range all() {
		if s.name == "brute force" {
			continue
		}
		b.Run(s.name, func(b *testing.B) {
			kept := s.new()
			b.ReportAllocs()
			for b.Loop() {
				kept.Solve(p, choice)
			}
		})
	}
}

func TestMisfitsPanic(t *testing.T) {
	good := func() *problem {
		return &problem{Agents: 2, Items: 1, Utility: []float64{1, 2}}
	}
	oneWay := &solve.Graph[float64]{Agents: 2, Start: []int32{0, 1, 1}, To: []int32{1}, Gate: []float64{1}}
	for _, row := range []struct {
		name  string
		spoil func(p *problem)
	}{
		{"utilities of other agents", func(p *problem) { p.Agents = 3 }},
		{"an infinite utility", func(p *problem) { p.Utility[1] = inf }},
		{"an idle utility that is no number", func(p *problem) { p.Idle = []float64{0, math.NaN()} }},
		{"idle utilities of other agents", func(p *problem) { p.Idle = []float64{0} }},
		{"a task without a capacity", func(p *problem) { p.Task, p.Capacity = []int32{0, 1}, []int32{1} }},
		{"tasks of other items", func(p *problem) { p.Task = []int32{0} }},
		{"a graph of other agents", func(p *problem) { p.Graph = link(3, func(i, j int) bool { return true }) }},
		{"an edge in one direction", func(p *problem) { p.Graph = oneWay }},
		{"payoffs of other items", func(p *problem) { p.Payoffs = &solve.Payoffs[float64]{Agents: 2, Items: 2} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("does not panic")
				}
			}()
			p := good()
			row.spoil(p)
			new(solve.Greedy[float64]).Solve(p, make([]int, 2))
		})
	}
}

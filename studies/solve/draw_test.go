package solve_test

import (
	"math"
	"math/rand/v2"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/studies/solve"
)

type (
	problem = solve.Problem[float64]
	solver  = solve.Solver[float64]
)

var inf = math.Inf(1)

// named is a solver with its name and its promises.
type named struct {
	name  string
	clear bool // choices never conflict
	new   func() solver
}

func all() []named {
	mp := func(m solve.MaxPlus[float64]) func() solver {
		return func() solver { c := m; return &c }
	}
	return []named{
		{"independent", false, func() solver { return new(solve.Independent[float64]) }},
		{"repair", true, func() solver { return new(solve.Repair[float64]) }},
		{"sequential", true, func() solver { return new(solve.Sequential[float64]) }},
		{"sequential at random", true, func() solver {
			return &solve.Sequential[float64]{Rand: rand.New(rand.NewPCG(1, 1))}
		}},
		{"greedy", true, func() solver { return new(solve.Greedy[float64]) }},
		{"auction", true, func() solver { return new(solve.Auction[float64]) }},
		{"max-plus", false, mp(solve.MaxPlus[float64]{})},
		{"max-plus, most options", false,
			mp(solve.MaxPlus[float64]{Iterations: 5, Damping: .3, Async: true, Anytime: true, Normalise: true})},
		{"max-plus, decoded", true, mp(solve.MaxPlus[float64]{Decode: true})},
		{"max-plus, asynchronous, decoded", true,
			mp(solve.MaxPlus[float64]{Async: true, Normalise: true, Anytime: true, Decode: true})},
		{"task factors", true, func() solver { return new(solve.TaskFactors[float64]) }},
		{"tree", false, func() solver { return new(solve.Tree[float64]) }},
		{"brute force", true, func() solver { return new(solve.BruteForce[float64]) }},
	}
}

// link returns the graph of the pairs for which linked returns true; all gates are 1.
func link(n int, linked func(i, j int) bool) *solve.Graph[float64] {
	g := &solve.Graph[float64]{Agents: n, Start: []int32{0}}
	for i := range n {
		for j := range n {
			if i != j && linked(min(i, j), max(i, j)) {
				g.To, g.Gate = append(g.To, int32(j)), append(g.Gate, 1)
			}
		}
		g.Start = append(g.Start, int32(len(g.To)))
	}
	return g
}

// shape says what a drawn problem may contain.
type shape struct {
	agents, items int // at most
	edges, forest bool
	tasks, whole  bool
	usable        bool // every task has a place
}

func draw(t *rapid.T, s shape) *problem {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), rapid.Uint64().Draw(t, "seed")))
	n, k := 1+rng.IntN(s.agents), 1+rng.IntN(s.items) // rapid itself would prefer small sizes
	number := func() float64 {
		if s.whole {
			return float64(rng.IntN(21) - 5)
		}
		return rng.NormFloat64() + .5
	}
	p := &problem{Agents: n, Items: k, Utility: make([]float64, n*k)}
	for i := range p.Utility {
		p.Utility[i] = number()
		switch rng.IntN(8) {
		case 0:
			p.Utility[i] = -inf
		case 1:
			p.Utility[i] = math.NaN()
		case 2:
			p.Utility[i] = -1e9 // as a mask that is added to the utility would leave it
		}
	}
	if rapid.Bool().Draw(t, "idle") {
		for range n {
			p.Idle = append(p.Idle, number()/2)
			if s.whole {
				p.Idle[len(p.Idle)-1] = number()
			}
		}
	}
	if s.edges {
		addEdges(t, p, rng, s.forest)
	}
	if s.tasks {
		tasks := rapid.IntRange(1, 4).Draw(t, "tasks")
		for range n * k {
			p.Task = append(p.Task, int32(rng.IntN(tasks+1)-1))
		}
		for range tasks {
			c := rng.IntN(3)
			if s.usable {
				c = max(1, c)
			}
			p.Capacity = append(p.Capacity, int32(c))
		}
		if rng.IntN(2) == 0 { // all agents prefer the same tasks
			for x, t := range p.Task {
				p.Utility[x] += float64(5 * (t + 1))
			}
		}
	}
	return p
}

// addEdges links the agents at random, or as a forest. Payoffs are of low rank, a function, or both.
func addEdges(t *rapid.T, p *problem, rng *rand.Rand, forest bool) {
	n, k := p.Agents, p.Items
	dense := rng.Float64()
	linked := make([]bool, n*n)
	label := rng.Perm(n)
	for j := range n {
		if forest && j > 0 && rng.Float64() < dense+.3 {
			a, b := label[j], label[rng.IntN(j)]
			linked[min(a, b)*n+max(a, b)] = true
		}
		for i := range j {
			if !forest {
				linked[i*n+j] = rng.Float64() < dense
			}
		}
	}
	p.Graph = link(n, func(i, j int) bool { return linked[i*n+j] })
	kind := rapid.IntRange(0, 3).Draw(t, "payoffs")
	if kind != 1 && kind != 3 {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		p.Payoffs = &solve.Payoffs[float64]{Agents: n, Items: k, Q: normal(rng, n*k*rank), D: normal(rng, rank)}
		for e := range p.Graph.To {
			p.Graph.Gate[e] = .7
		}
	}
	f := normal(rng, n*k*n*k)
	for x, u := range p.Utility { // solvers must not use the payoffs of illegal items
		if u != u || u == -inf {
			for y := range n * k {
				f[min(x, y)*n*k+max(x, y)] = math.NaN()
			}
			if q := p.Payoffs; q != nil {
				q.Q[x*len(q.D)] = inf
			}
		}
	}
	symmetric := func(i, a, j, b int) float64 {
		x, y := i*k+a, j*k+b
		return f[min(x, y)*n*k+max(x, y)]
	}
	switch kind {
	case 1, 2:
		p.Pair = solve.PairFunc[float64](symmetric)
	case 3:
		p.Pair = solve.Diagonal[float64](func(i, j, a int) float64 { return symmetric(i, a, j, a) })
	}
}

func normal(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// legal reports whether no agent chose an illegal item.
func legal(p *problem, choice []int) bool {
	for i, a := range choice {
		if a == solve.NoOp {
			continue
		}
		u := p.Utility[i*p.Items+a]
		if u != u || u == -inf || p.Task != nil && p.Task[i*p.Items+a] >= 0 && p.Capacity[p.Task[i*p.Items+a]] <= 0 {
			return false
		}
	}
	return true
}

// optimum tries every joint choice, with and without conflicts, and evaluates it by Value.
func optimum(p *problem) (best float64, unique bool) {
	choice, second := make([]int, p.Agents), -inf
	best = -inf
	var try func(i int)
	try = func(i int) {
		if i == p.Agents {
			if !legal(p, choice) || solve.Conflicts(p, choice) > 0 {
				return
			}
			if v := solve.Value(p, choice); v > best {
				best, second = v, best
			} else {
				second = max(second, v)
			}
			return
		}
		for a := -1; a < p.Items; a++ {
			choice[i] = a
			try(i + 1)
		}
	}
	try(0)
	return best, best-second > .02
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(a)) }

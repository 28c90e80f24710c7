package coordgraph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/plain"
)

const coalitions, rank = 3, 4 // coalitions per group, rank of the payoffs

func kernels(s plain.Size) []plain.Kernel {
	rng := rand.New(rand.NewPCG(1, 2))
	agents := s.Batch * s.Agents
	return []plain.Kernel{{
		Name: "payoff", Wrt: []int{0, 1, 2},
		In: [][]float64{plain.Normal(rng, agents*rank), plain.Normal(rng, agents*rank), plain.Normal(rng, rank),
			plain.Shares(rng, s.Batch*coalitions, s.Agents)},
		Plain: func(x [][]complex128) []complex128 {
			return plain.Payoff(x[0], x[1], x[2], x[3], s.Batch, s.Agents, coalitions)
		},
		Single: payoff[float32](s), Double: payoff[float64](s),
	}, {
		Name: "neighbour sums", Wrt: []int{0},
		In:     [][]float64{plain.Normal(rng, agents*rank), plain.Bits(rng, agents*s.Agents, min(1, 8/float64(s.Agents)))},
		Plain:  func(x [][]complex128) []complex128 { return plain.NeighbourSums(x[0], x[1], s.Agents, rank) },
		Single: neighbourSums[float32](s.Agents), Double: neighbourSums[float64](s.Agents),
	}}
}

func payoff[T kernel.Float](s plain.Size) plain.Layer[T] {
	var buf coordgraph.PayoffScratch[T]
	shape := coordgraph.PayoffShape{Batch: s.Batch, Agents: s.Agents, Coalitions: coalitions, Rank: rank}
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Dirty[T](s.Batch * coalitions)
			coordgraph.Payoff(y, x[0], x[1], x[2], x[3], shape, &buf)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0]), plain.Like(x[1]), plain.Like(x[2])}
			coordgraph.PayoffBack(g[0], g[1], g[2], dy, x[0], x[1], x[2], x[3], shape, &buf)
			return g
		},
	}
}

func neighbourSums[T kernel.Float](n int) plain.Layer[T] {
	return plain.Layer[T]{
		Forward: func(x [][]T) []T {
			y := plain.Like(x[0])
			coordgraph.NeighbourSums(y, x[0], x[1], n, rank)
			return y
		},
		Back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{plain.Like(x[0])}
			coordgraph.NeighbourSumsBack(g[0], dy, x[1], n, rank)
			return g
		},
	}
}

func TestKernelsEqualPlainLoops(t *testing.T) { plain.Check(t, kernels) }

func steps() []plain.Step {
	const n = 64
	rng := rand.New(rand.NewPCG(1, 1))
	f := func(n int) []float32 { return plain.Singles([][]float64{plain.Normal(rng, n)})[0] }
	q, near, d, dq, dnear, dd, y := f(n*rank), f(n*rank), f(rank), f(n*rank), f(n*rank), f(rank), f(coalitions)
	drawn := plain.Singles([][]float64{plain.Shares(rng, coalitions, n), plain.Bits(rng, n*n, 8./n)})
	s := coordgraph.PayoffShape{Batch: 1, Agents: n, Coalitions: coalitions, Rank: rank}
	var buf coordgraph.PayoffScratch[float32]
	return []plain.Step{
		{Name: "neighbour sums", Run: func() { coordgraph.NeighbourSums(near, q, drawn[1], n, rank) }},
		{Name: "payoff", Run: func() { coordgraph.Payoff(y, q, near, d, drawn[0], s, &buf) }},
		{Name: "payoff back", Run: func() { coordgraph.PayoffBack(dq, dnear, dd, y, q, near, d, drawn[0], s, &buf) }},
	}
}

func BenchmarkKernels(b *testing.B) { plain.Bench(b, steps()) }

func TestKernelsAllocateNothing(t *testing.T) { plain.AllocatesNothing(t, steps()) }

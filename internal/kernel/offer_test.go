package kernel_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/kernel/plain"
)

// shares draws the weights of coalitions of a few servers, the second without any.
func shares(rng *rand.Rand, offers, n int) []float64 {
	w := bits(rng, offers*n, min(1, 4/float64(n)))
	for i := range w {
		w[i] *= rng.Float64()
		if i/n == 1 {
			w[i] = 0
		}
	}
	return w
}

// offerSubjects are the kernels of offers, three of them to a group.
func offerSubjects(s size, rng *rand.Rand) []subject {
	const offers, rank, f = 3, 4, 2
	servers, jobs, rows := s.batch*s.n, s.batch*s.items, s.batch*offers
	of := make([]float64, rows)
	for i := range of {
		of[i] = float64(rng.IntN(s.items+1) - 1)
	}
	shape := kernel.OfferShape{Batch: s.batch, Servers: s.n, Jobs: s.items, Offers: offers, Width: s.d, Features: f}
	pay := kernel.PayoffShape{Batch: s.batch, Servers: s.n, Offers: offers, Rank: rank}
	return []subject{{
		name: "offer rows", wrt: []int{0, 1},
		in: [][]float64{normal(rng, servers*s.d), normal(rng, jobs*s.d), normal(rng, rows*f), shares(rng, rows, s.n), of,
			padding(rng, s.batch, s.n), padding(rng, s.batch, s.items)},
		ref: func(x [][]complex128) []complex128 {
			return plain.OfferRows(x[0], x[1], x[2], x[3], x[4], x[5], x[6], s.batch, s.n, s.items, offers, s.d, f)
		},
		single: offerRows[float32](shape), double: offerRows[float64](shape),
	}, {
		name: "payoff", wrt: []int{0, 1, 2},
		in: [][]float64{normal(rng, servers*rank), normal(rng, servers*rank), normal(rng, rank), shares(rng, rows, s.n)},
		ref: func(x [][]complex128) []complex128 {
			return plain.Payoff(x[0], x[1], x[2], x[3], s.batch, s.n, offers)
		},
		single: payoff[float32](pay), double: payoff[float64](pay),
	}, {
		name: "neighbour sums", wrt: []int{0},
		in:     [][]float64{normal(rng, servers*rank), bits(rng, servers*s.n, min(1, 8/float64(s.n)))},
		ref:    func(x [][]complex128) []complex128 { return plain.NeighbourSums(x[0], x[1], s.n, rank) },
		single: neighbourSums[float32](s.n, rank), double: neighbourSums[float64](s.n, rank),
	}, {
		name: "mean of others", wrt: []int{0},
		in:     [][]float64{normal(rng, servers*s.d), padding(rng, s.batch, s.n)},
		ref:    func(x [][]complex128) []complex128 { return plain.MeanOthers(x[0], x[1], s.n, s.d) },
		single: meanOthers[float32](s.n, s.d), double: meanOthers[float64](s.n, s.d),
	}}
}

func offerRows[T kernel.Float](s kernel.OfferShape) layer[T] {
	data := func(x [][]T) kernel.OfferData[T] {
		return kernel.OfferData[T]{Features: x[2], Weights: x[3], Of: x[4], ServerMask: x[5], JobMask: x[6]}
	}
	return layer[T]{
		forward: func(x [][]T) []T {
			y := dirty[T](s.Batch * s.Offers * s.Row())
			kernel.OfferRows(y, x[0], x[1], data(x), s)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0]), like(x[1])}
			kernel.OfferRowsBack(g[0], g[1], dy, data(x), s)
			return g
		},
	}
}

func payoff[T kernel.Float](s kernel.PayoffShape) layer[T] {
	var buf kernel.PayoffScratch[T]
	return layer[T]{
		forward: func(x [][]T) []T {
			y := dirty[T](s.Batch * s.Offers)
			kernel.Payoff(y, x[0], x[1], x[2], x[3], s, &buf)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0]), like(x[1]), like(x[2])}
			kernel.PayoffBack(g[0], g[1], g[2], dy, x[0], x[1], x[2], x[3], s, &buf)
			return g
		},
	}
}

func neighbourSums[T kernel.Float](n, width int) layer[T] {
	return layer[T]{
		forward: func(x [][]T) []T {
			y := like(x[0])
			kernel.NeighbourSums(y, x[0], x[1], n, width)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0])}
			kernel.NeighbourSumsBack(g[0], dy, x[1], n, width)
			return g
		},
	}
}

func meanOthers[T kernel.Float](n, d int) layer[T] {
	return layer[T]{
		forward: func(x [][]T) []T {
			y := like(x[0])
			kernel.MeanOthers(y, x[0], x[1], n, d)
			return y
		},
		back: func(dy, y []T, x [][]T) [][]T {
			g := [][]T{like(x[0])}
			kernel.MeanOthers(g[0], dy, x[1], n, d)
			return g
		},
	}
}

// Groups without jobs are no special case: attention gives zeros, a pool of nothing zeros.
func TestNothingToAttendTo(t *testing.T) {
	var buf kernel.AttentionScratch[float32]
	y := []float32{7, 7, 7, 7}
	s := kernel.AttentionShape{Batch: 1, Queries: 1, Keys: 0, Width: 4, Heads: 1}
	kernel.Attention(y, []float32{1, 2, 3, 4}, nil, nil, nil, s, &buf)
	if !slices.Equal(y, make([]float32, 4)) {
		t.Errorf("attention to nothing is %v", y)
	}
	kernel.MeanPool(y, nil, nil, 0, 4)
	if !slices.Equal(y, make([]float32, 4)) {
		t.Errorf("the mean of nothing is %v", y)
	}
	s.Queries, s.Width, s.Heads = 70, 36, 3
	many := slices.Repeat([]float32{7}, s.Queries*s.Width)
	kernel.Attention(many, slices.Clone(many), nil, nil, nil, s, &buf)
	if !slices.Equal(many, make([]float32, len(many))) {
		t.Error("attention of many to nothing is not 0")
	}
}

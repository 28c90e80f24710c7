package kernel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
)

// network holds the tensors of one decision, in single precision, for benchmarks and allocation tests.
type network struct {
	size
	x, y, gx, gy, w, dw, b, db []float32 // servers, jobs, their gradients, a [d,d] layer
	q, k                       []float32 // server and job tensors to write to
	serverMask, jobMask        []float32
	pairs, dpairs              []float32 // [n*K,d]
	logits, legal, chosen      []float32 // [n*K]
	offers                     kernel.OfferData[float32]
	rows, drows                []float32
	factors, near, diag        []float32
	dfactors, dnear, ddiag     []float32
	payoffs                    []float32
	adj                        []float32
	attention                  kernel.AttentionScratch[float32]
	payoff                     kernel.PayoffScratch[float32]
}

const features, rank, offers = 12, 4, 8

func newNetwork(s size) *network {
	rng := rand.New(rand.NewPCG(1, 1))
	f := func(n int) []float32 { return singles([][]float64{normal(rng, n)})[0] }
	ones := func(n int, p float64) []float32 { return singles([][]float64{bits(rng, n, p)})[0] }
	n, k, d, p, o := s.batch*s.n, s.batch*s.items, s.d, s.batch*s.n*s.items, s.batch*offers
	t := &network{
		size: s, x: f(n * d), y: f(k * d), gx: f(n * d), gy: f(k * d), w: f(d * d), dw: f(d * d), b: f(d), db: f(d),
		q: f(n * d), k: f(k * d), serverMask: ones(n, 0.9), jobMask: ones(k, 0.8), pairs: f(p * d), dpairs: f(p * d),
		logits: f(p), legal: ones(p, 0.5), chosen: f(p), factors: f(n * rank), near: f(n * rank), diag: f(rank),
		dfactors: f(n * rank), dnear: f(n * rank), ddiag: f(rank), payoffs: f(o), adj: ones(n*s.n, 8/float64(s.n)),
	}
	t.offers = kernel.OfferData[float32]{
		Features: f(o * features), Weights: ones(o*s.n, 4/float64(s.n)), Of: make([]float32, o),
		ServerMask: t.serverMask, JobMask: t.jobMask,
	}
	t.rows, t.drows = f(o*t.offerShape().Row()), f(o*t.offerShape().Row())
	return t
}

func (t *network) offerShape() kernel.OfferShape {
	return kernel.OfferShape{Batch: t.batch, Servers: t.n, Jobs: t.size.items, Offers: offers, Width: t.d, Features: features}
}

// step is one kernel applied to the network.
type step struct {
	name string
	run  func()
}

func (t *network) steps() []step {
	s := kernel.AttentionShape{Batch: t.batch, Queries: t.n, Keys: t.size.items, Width: t.d, Heads: t.heads}
	os := t.offerShape()
	ps := kernel.PayoffShape{Batch: t.batch, Servers: t.n, Offers: offers, Rank: rank}
	d, n := t.d, t.n
	return []step{
		{"dense", func() { kernel.Dense(t.q, t.x, t.w, t.b, d, d, kernel.ReLU) }},
		{"dense tall", func() { kernel.Dense(t.dpairs, t.pairs, t.w, t.b, d, d, kernel.ReLU) }},
		{"dense back", func() { kernel.DenseBack(t.q, t.dw, t.db, t.gx, t.x, t.w, d, d) }},
		{"layer norm", func() { kernel.LayerNorm(t.q, t.x, t.b, t.b) }},
		{"layer norm back", func() { kernel.LayerNormBack(t.q, t.db, t.b, t.gx, t.x, t.b) }},
		{"attention", func() { kernel.Attention(t.q, t.x, t.y, t.y, t.jobMask, s, &t.attention) }},
		{"attention back", func() {
			kernel.AttentionBack(t.q, t.k, t.gy, t.gx, t.x, t.y, t.y, t.jobMask, s, &t.attention)
		}},
		{"offer rows", func() { kernel.OfferRows(t.rows, t.x, t.y, t.offers, os) }},
		{"offer rows back", func() { kernel.OfferRowsBack(t.q, t.k, t.drows, t.offers, os) }},
		{"neighbour sums", func() { kernel.NeighbourSums(t.near, t.factors, t.adj, n, rank) }},
		{"payoff", func() { kernel.Payoff(t.payoffs, t.factors, t.near, t.diag, t.offers.Weights, ps, &t.payoff) }},
		{"payoff back", func() {
			kernel.PayoffBack(t.dfactors, t.dnear, t.ddiag, t.payoffs, t.factors, t.near, t.diag, t.offers.Weights, ps, &t.payoff)
		}},
		{"masked log softmax", func() { kernel.MaskedLogSoftmax(t.chosen, t.logits, t.legal, n*t.size.items) }},
		{"mean pool", func() { kernel.MeanPool(t.db, t.x, t.serverMask, n, d) }},
		{"max pool", func() { kernel.MaxPool(t.db, t.x, t.serverMask, n, d) }},
	}
}

func BenchmarkKernels(b *testing.B) {
	for _, step := range newNetwork(size{1, 32, 48, 32, 4}).steps() {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				step.run()
			}
		})
	}
}

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
	items, ditems, features    []float32 // [n*K,d], [n*K,f]
	wz, dwz                    []float32
	factors, dfactors          []float32
	proj, dproj                []float32
	diag, ddiag                []float32
	adj, committed, bids       []float32
	attention                  kernel.AttentionScratch[float32]
	pairs                      kernel.PairScratch[float32]
}

const features, rank, width = 12, 4, 16

func newNetwork(s size) *network {
	rng := rand.New(rand.NewPCG(1, 1))
	f := func(n int) []float32 { return singles([][]float64{normal(rng, n)})[0] }
	ones := func(n int, p float64) []float32 { return singles([][]float64{bits(rng, n, p)})[0] }
	n, k, d, p := s.batch*s.n, s.batch*s.items, s.d, s.batch*s.n*s.items
	return &network{
		size: s, x: f(n * d), y: f(k * d), gx: f(n * d), gy: f(k * d), w: f(d * d), dw: f(d * d), b: f(d), db: f(d),
		q: f(n * d), k: f(k * d), serverMask: ones(n, 0.9), jobMask: ones(k, 0.8),
		items: f(p * d), ditems: f(p * d), features: f(p * features), wz: f(features * d), dwz: f(features * d),
		factors: f(p * rank), dfactors: f(p * rank), proj: f(n * width), dproj: f(n * width), diag: f(rank), ddiag: f(rank),
		adj: ones(n*s.n, 8/float64(s.n)), committed: ones(p, 0.5/float64(s.items)), bids: f(p),
	}
}

// step is one kernel applied to the network.
type step struct {
	name string
	run  func()
}

func (t *network) steps() []step {
	s := kernel.AttentionShape{Batch: t.batch, Queries: t.n, Keys: t.size.items, Width: t.d, Heads: t.heads}
	is := kernel.ItemShape{Batch: t.batch, Agents: t.n, Items: t.size.items, Features: features, Hidden: t.d}
	ps := kernel.PairShape{Batch: t.batch, Agents: t.n, Items: t.size.items, Rank: rank, Width: width}
	d, n := t.d, t.n
	return []step{
		{"dense", func() { kernel.Dense(t.q, t.x, t.w, t.b, d, d, kernel.ReLU) }},
		{"dense tall", func() { kernel.Dense(t.ditems, t.items, t.w, t.b, d, d, kernel.ReLU) }},
		{"dense back", func() { kernel.DenseBack(t.q, t.dw, t.db, t.gx, t.x, t.w, d, d) }},
		{"layer norm", func() { kernel.LayerNorm(t.q, t.x, t.b, t.b) }},
		{"layer norm back", func() { kernel.LayerNormBack(t.q, t.db, t.b, t.gx, t.x, t.b) }},
		{"attention", func() { kernel.Attention(t.q, t.x, t.y, t.y, t.jobMask, s, &t.attention) }},
		{"attention back", func() {
			kernel.AttentionBack(t.q, t.k, t.gy, t.gx, t.x, t.y, t.y, t.jobMask, s, &t.attention)
		}},
		{"item hidden", func() { kernel.ItemHidden(t.ditems, t.x, t.y, t.features, t.wz, is) }},
		{"item hidden back", func() {
			kernel.ItemHiddenBack(t.q, t.k, nil, t.dwz, t.items, t.features, t.wz, is)
		}},
		{"pair bonus", func() {
			kernel.PairBonus(t.bids, t.factors, t.proj, t.diag, t.adj, t.committed, ps, &t.pairs)
		}},
		{"pair bonus back", func() {
			kernel.PairBonusBack(t.dfactors, t.dproj, t.ddiag, t.bids, t.factors, t.proj, t.diag, t.adj, t.committed, ps,
				&t.pairs)
		}},
		{"masked log softmax", func() {
			kernel.MaskedLogSoftmax(t.bids, t.factors[:len(t.bids)], t.committed, n*t.size.items)
		}},
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

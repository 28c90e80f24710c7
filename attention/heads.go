// Package attention is masked multi-head attention over sets, and what a network of sets needs besides: means over sets, the
// readout of candidates and a masked softmax. Every kernel is there forward and backward, follows the rules of package
// internal/kernel, and knows nothing of Gorgonia. Package attention/graph builds the same layers for training from the same
// kernels.
//
// Attention has neither positions nor identities: permuting the queries permutes the outputs, permuting the keys together
// with their mask changes nothing but the order of summation.
package attention

import "github.com/clustergym/clustergym/internal/kernel"

// Weights are the projections of a layer of width d: each W is [d,d] as stored (input row, output column), each B is [d].
// The slices are borrowed, not copied, and never written.
type Weights[T kernel.Float] struct {
	Wq, Bq []T // queries
	Wk, Bk []T // keys
	Wv, Bv []T // values
	Wo, Bo []T // output
}

// Heads is a multi-head attention layer with its scratch memory. It is not safe for concurrent use; several may share one
// set of weights.
type Heads[T kernel.Float] struct {
	Width     int // d, a multiple of Heads
	Heads     int
	Reference int // number of keys at which scores are as they come, see Shape; 0: at any
	Weights   Weights[T]

	q, k, v, o []T
	buf        Scratch[T]
}

// Forward computes dst = attention(x*Wq+Bq, y*Wk+Bk, y*Wv+Bv)*Wo + Bo for each of batch groups: queries x [batch*nq,d]
// attend to the keys y [batch*nk,d] of their own group, mask [batch*nk] being 1 for a valid key and 0 for padding; dst is
// [batch*nq,d]. A group without a valid key gets Bo. x and y may be the same slice; dst must overlap neither.
//
// It allocates only while the shapes grow, and panics if a length does not fit.
func (h *Heads[T]) Forward(dst, x, y, mask []T, batch, nq, nk int) {
	d, w := h.Width, &h.Weights
	queries, keys := batch*nq*d, batch*nk*d
	h.q, h.o = kernel.Grow(h.q, queries), kernel.Grow(h.o, queries)
	h.k, h.v = kernel.Grow(h.k, keys), kernel.Grow(h.v, keys)
	kernel.Dense(h.q, x, w.Wq, w.Bq, d, d, kernel.None)
	kernel.Dense(h.k, y, w.Wk, w.Bk, d, d, kernel.None)
	kernel.Dense(h.v, y, w.Wv, w.Bv, d, d, kernel.None)
	shape := Shape{Batch: batch, Queries: nq, Keys: nk, Width: d, Heads: h.Heads, Reference: h.Reference}
	Attend(h.o, h.q, h.k, h.v, mask, shape, &h.buf)
	kernel.Dense(dst, h.o, w.Wo, w.Bo, d, d, kernel.None)
}

// Package attention implements masked multi-head attention over sets, and the other operations of a network over sets: means over
// sets, the readout of candidates and a masked softmax. It has a forward and a backward kernel for each, which follow the rules
// of package internal/kernel and do not depend on Gorgonia. Package attention/graph builds the same layers for training from the
// same kernels.
//
// Attention uses neither positions nor identities: permuting the queries permutes the outputs, and permuting the keys together
// with their mask changes only the order of summation.
package attention

import "github.com/clustergym/clustergym/internal/kernel"

// Weights are the projections of a layer of width d: each W is [d,d] (input row, output column), each B is [d]. The caller owns
// the slices; this package does not copy or change them.
type Weights[T kernel.Float] struct {
	Wq, Bq []T // queries
	Wk, Bk []T // keys
	Wv, Bv []T // values
	Wo, Bo []T // output
}

// Heads is a multi-head attention layer with its working memory. It is not safe for concurrent use. Several Heads may share one
// set of weights.
type Heads[T kernel.Float] struct {
	Width     int // d, a multiple of Heads
	Heads     int
	Reference int // number of keys at which scores are not scaled, see Shape; 0: never scaled
	Weights   Weights[T]

	q, k, v, o []T
	buf        Scratch[T]
}

// Forward computes dst = attention(x*Wq+Bq, y*Wk+Bk, y*Wv+Bv)*Wo + Bo for each of batch groups. The queries x [batch*nq,d] attend
// to the keys y [batch*nk,d] of the same group. mask [batch*nk] is 1 for a valid key and 0 for padding. dst is [batch*nq,d]. A
// group without a valid key gets Bo. x and y may be the same slice; dst must overlap neither.
//
// Forward allocates only while the shapes grow, and panics if a length does not fit.
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

// Probabilities fills dst [nk] with how much a query of the last Forward attended to each key: the softmax of the scores, in the
// mean over heads. The last Forward must have had one group; mask is its mask.
func (h *Heads[T]) Probabilities(dst, mask []T, query int) {
	d, keys := h.Width, len(mask)
	kernel.Want("attention keys", h.k, keys*d)
	kernel.Want("attention probabilities", dst, keys)
	clear(dst)
	shape := Shape{Batch: 1, Queries: 1, Keys: keys, Width: d, Heads: h.Heads, Reference: h.Reference}
	by, head, row := scale(shape, mask), d/h.Heads, make([]T, keys)
	q, k := kernel.Mat(h.q[query*d:][:d], 1, d), kernel.Mat(h.k, keys, d)
	for i := range h.Heads {
		part := upright(nil, k.Columns(i*head, head))
		probabilities(kernel.Mat(row, 1, keys), by, q.Columns(i*head, head), kernel.Mat(part, head, keys), mask)
		kernel.Axpy(dst, 1/T(h.Heads), row)
	}
}

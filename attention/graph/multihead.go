package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Attention adds masked multi-head attention: the rows of q [batch*nq,d] attend to k and v [batch*nk,d] of the same group, in
// heads parts of d/heads columns each. mask, with batch*nk elements, is 1 for a valid key. Scores are not scaled at reference
// valid keys, or at any number if reference is 0; see attention.Shape. The result is [batch*nq,d]; a group without a valid key
// gets zeros.
func Attention(q, k, v, mask *G.Node, batch, heads, reference int) (*G.Node, error) {
	if err := wantMatrix("attention", "queries", q, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix("attention", "keys", k, batch); err != nil {
		return nil, err
	}
	d, keys := q.Shape()[1], k.Shape()[0]
	if heads <= 0 || d%heads != 0 {
		return nil, fmt.Errorf("build attention: width %d, want a multiple of the %d heads", d, heads)
	}
	for _, n := range []*G.Node{k, v} {
		if err := wantShape("attention", "keys or values", n, keys, d); err != nil {
			return nil, err
		}
	}
	if err := wantMask("attention", mask, keys); err != nil {
		return nil, err
	}
	if reference < 0 {
		return nil, fmt.Errorf("build attention: reference of %d keys, want 0 or more", reference)
	}
	s := attention.Shape{
		Batch: batch, Queries: q.Shape()[0] / batch, Keys: keys / batch, Width: d, Heads: heads, Reference: reference,
	}
	grad := func(n G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		parts, err := graphop.Packed("attention.attentionGrad", s, n[:3], attendBack[float32](s), attendBack[float64](s),
			dy, n[0], n[1], n[2], n[3])
		return append(parts, nil), err
	}
	return graphop.Apply("attention.attention", s, q.Shape().Clone(), attend[float32](s), attend[float64](s),
		grad, []bool{true, true, true, false}, q, k, v, mask)
}

func attend[T kernel.Float](s attention.Shape) graphop.Body[T] {
	var buf attention.Scratch[T]
	return func(y []T, n [][]T) { attention.Attend(y, n[0], n[1], n[2], n[3], s, &buf) }
}

func attendBack[T kernel.Float](s attention.Shape) graphop.Body[T] {
	var buf attention.Scratch[T]
	return func(out []T, n [][]T) {
		dy, q, k, v, mask := n[0], n[1], n[2], n[3], n[4]
		dk := out[len(q):]
		dv := dk[len(k):]
		attention.AttendBack(out[:len(q)], dk[:len(k)], dv, dy, q, k, v, mask, s, &buf)
	}
}

// Projections are the parameters of MultiHead: weights [d,d] and biases [d].
type Projections struct{ Wq, Bq, Wk, Bk, Wv, Bv, Wo, Bo *G.Node }

// MultiHead adds an attention layer with projections: x [batch*nq,d] attends to y [batch*nk,d]. It computes the same as
// attention.Heads.
func MultiHead(x, y, mask *G.Node, p Projections, batch, heads, reference int) (*G.Node, error) {
	q, err := Dense(x, p.Wq, p.Bq, None)
	if err != nil {
		return nil, fmt.Errorf("project queries: %w", err)
	}
	k, err := Dense(y, p.Wk, p.Bk, None)
	if err != nil {
		return nil, fmt.Errorf("project keys: %w", err)
	}
	v, err := Dense(y, p.Wv, p.Bv, None)
	if err != nil {
		return nil, fmt.Errorf("project values: %w", err)
	}
	o, err := Attention(q, k, v, mask, batch, heads, reference)
	if err != nil {
		return nil, err
	}
	if o, err = Dense(o, p.Wo, p.Bo, None); err != nil {
		return nil, fmt.Errorf("project output: %w", err)
	}
	return o, nil
}

// Repeat adds batch copies of x [m,d], one below another: [batch*m,d]. Every group of a batch then gets the same learned rows.
func Repeat(x *G.Node, batch int) (*G.Node, error) {
	if err := wantMatrix("repeat", "input", x, 1); err != nil {
		return nil, err
	}
	if batch <= 0 {
		return nil, fmt.Errorf("build repeat: %d copies, want 1 or more", batch)
	}
	m, d := x.Shape()[0], x.Shape()[1]
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		dx, err := graphop.Like("attention.repeatGrad", batch, in[0], sumRows[float32], sumRows[float64], dy)
		return G.Nodes{dx}, err
	}
	return graphop.Apply("attention.repeat", batch, tensor.Shape{batch * m, d}, repeat[float32], repeat[float64], grad,
		[]bool{true}, x)
}

func repeat[T kernel.Float](y []T, in [][]T) {
	for from := 0; from < len(y); from += len(in[0]) {
		copy(y[from:], in[0])
	}
}

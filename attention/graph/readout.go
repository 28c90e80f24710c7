package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Candidates are the inputs of Readout without gradients: features [batch*C,f], weights [batch,C*n], of [batch*C], and masks of
// batch*n and batch*K elements. See attention.ReadoutData.
type Candidates struct{ Features, Weights, Of, AgentMask, ItemMask *G.Node }

// Readout adds the network's input for each candidate, from agents h [batch*n,d] and items y [batch*K,d]. A row joins the
// weighted sum of the coalition's rows of h, the item's row of y, the means of h and of y, and the candidate's features. The
// result is [batch*C,4d+f].
func Readout(h, y *G.Node, in Candidates, batch int) (*G.Node, error) {
	const op = "readout"
	if err := wantMatrix(op, "agents", h, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix(op, "items", y, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix(op, "features", in.Features, batch); err != nil {
		return nil, err
	}
	rows := in.Features.Shape()[0]
	s := attention.ReadoutShape{
		Batch: batch, Agents: h.Shape()[0] / batch, Items: y.Shape()[0] / batch, Candidates: rows / batch,
		Width: h.Shape()[1], Features: in.Features.Shape()[1],
	}
	if err := wantShape(op, "items", y, batch*s.Items, s.Width); err != nil {
		return nil, err
	}
	if err := wantShape(op, "weights", in.Weights, batch, s.Candidates*s.Agents); err != nil {
		return nil, err
	}
	if err := wantShape(op, "items' rows", in.Of, rows); err != nil {
		return nil, err
	}
	if err := wantMask(op, in.AgentMask, batch*s.Agents); err != nil {
		return nil, err
	}
	if err := wantMask(op, in.ItemMask, batch*s.Items); err != nil {
		return nil, err
	}
	grad := func(n G.Nodes, _, dx *G.Node) (G.Nodes, error) {
		g, err := graphop.Packed("attention.readoutGrad", s, n[:2], readoutBack[float32](s), readoutBack[float64](s),
			dx, n[3], n[4], n[5], n[6])
		return append(g, nil, nil, nil, nil, nil), err
	}
	return graphop.Apply("attention.readout", s, tensor.Shape{rows, s.Row()}, readout[float32](s), readout[float64](s),
		grad, []bool{true, true, false, false, false, false, false},
		h, y, in.Features, in.Weights, in.Of, in.AgentMask, in.ItemMask)
}

func readout[T kernel.Float](s attention.ReadoutShape) graphop.Body[T] {
	return func(out []T, n [][]T) {
		data := attention.ReadoutData[T]{Features: n[2], Weights: n[3], Of: n[4], AgentMask: n[5], ItemMask: n[6]}
		attention.Readout(out, n[0], n[1], data, s)
	}
}

func readoutBack[T kernel.Float](s attention.ReadoutShape) graphop.Body[T] {
	agents := s.Batch * s.Agents * s.Width
	return func(out []T, n [][]T) {
		data := attention.ReadoutData[T]{Weights: n[1], Of: n[2], AgentMask: n[3], ItemMask: n[4]}
		attention.ReadoutBack(out[:agents], out[agents:], n[0], data, s)
	}
}

// MeanOthers adds, for each valid row in each of batch groups, the mean of the group's other valid rows. x is [batch*n,d] and
// mask has batch*n elements. An invalid row, or the only valid row of a group, gets zeros.
func MeanOthers(x, mask *G.Node, batch int) (*G.Node, error) {
	const op = "mean of others"
	if err := wantMatrix(op, "input", x, batch); err != nil {
		return nil, err
	}
	if err := wantMask(op, mask, x.Shape()[0]); err != nil {
		return nil, err
	}
	n, d := x.Shape()[0]/batch, x.Shape()[1]
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		dx, err := graphop.Like("attention.meanOthersGrad", batch, in[0], others[float32](n, d), others[float64](n, d), dy, in[1])
		if err != nil {
			return nil, fmt.Errorf("differentiate mean of others: %w", err)
		}
		return G.Nodes{dx, nil}, nil
	}
	return graphop.Apply("attention.meanOthers", batch, x.Shape().Clone(), others[float32](n, d), others[float64](n, d),
		grad, []bool{true, false}, x, mask)
}

func others[T kernel.Float](n, d int) graphop.Body[T] {
	return func(y []T, in [][]T) { attention.MeanOthers(y, in[0], in[1], n, d) }
}

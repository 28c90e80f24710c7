package graph

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Offers are the inputs of OfferRows that are data: features [batch*O,f], weights [batch,O*n], of [batch*O], masks of
// [batch*n] and [batch*K] elements. See kernel.OfferData.
type Offers struct{ Features, Weights, Of, ServerMask, JobMask *G.Node }

// OfferRows adds what is known of each offer, from servers h [batch*n,d] and jobs y [batch*K,d]: the weighted sum of its
// coalition's rows of h, its job's row of y, the means of h and y, and its features. The result is [batch*O,4d+f].
func OfferRows(h, y *G.Node, in Offers, batch int) (*G.Node, error) {
	const op = "offer rows"
	if err := wantMatrix(op, "servers", h, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix(op, "jobs", y, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix(op, "features", in.Features, batch); err != nil {
		return nil, err
	}
	rows := in.Features.Shape()[0]
	s := kernel.OfferShape{
		Batch: batch, Servers: h.Shape()[0] / batch, Jobs: y.Shape()[0] / batch, Offers: rows / batch,
		Width: h.Shape()[1], Features: in.Features.Shape()[1],
	}
	if err := wantShape(op, "jobs", y, batch*s.Jobs, s.Width); err != nil {
		return nil, err
	}
	if err := wantShape(op, "weights", in.Weights, batch, s.Offers*s.Servers); err != nil {
		return nil, err
	}
	if err := wantShape(op, "jobs' rows", in.Of, rows); err != nil {
		return nil, err
	}
	if err := wantMask(op, in.ServerMask, batch*s.Servers); err != nil {
		return nil, err
	}
	if err := wantMask(op, in.JobMask, batch*s.Jobs); err != nil {
		return nil, err
	}
	grad := func(n G.Nodes, _, dx *G.Node) (G.Nodes, error) {
		g, err := graphop.Packed("attention.offerRowsGrad", s, n[:2], offerBack[float32](s), offerBack[float64](s),
			dx, n[3], n[4], n[5], n[6])
		return append(g, nil, nil, nil, nil, nil), err
	}
	return graphop.Apply("attention.offerRows", s, tensor.Shape{rows, s.Row()}, offerRows[float32](s), offerRows[float64](s),
		grad, []bool{true, true, false, false, false, false, false},
		h, y, in.Features, in.Weights, in.Of, in.ServerMask, in.JobMask)
}

func offerRows[T kernel.Float](s kernel.OfferShape) graphop.Body[T] {
	return func(out []T, n [][]T) {
		data := kernel.OfferData[T]{Features: n[2], Weights: n[3], Of: n[4], ServerMask: n[5], JobMask: n[6]}
		kernel.OfferRows(out, n[0], n[1], data, s)
	}
}

func offerBack[T kernel.Float](s kernel.OfferShape) graphop.Body[T] {
	servers := s.Batch * s.Servers * s.Width
	return func(out []T, n [][]T) {
		data := kernel.OfferData[T]{Weights: n[1], Of: n[2], ServerMask: n[3], JobMask: n[4]}
		kernel.OfferRowsBack(out[:servers], out[servers:], n[0], data, s)
	}
}

// MeanOthers adds, for each valid row of each of batch groups, the mean of the group's other valid rows: x [batch*n,d], mask
// [batch*n] (any dimensions). A row that is alone, or not valid, gets zeros.
func MeanOthers(x, mask *G.Node, batch int) (*G.Node, error) {
	n, d, err := poolShape("mean of others", x, mask, batch)
	if err != nil {
		return nil, err
	}
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
	return func(y []T, in [][]T) { kernel.MeanOthers(y, in[0], in[1], n, d) }
}

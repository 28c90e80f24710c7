package graph

import (
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Pool adds a summary of each of batch groups, from agents h [batch*n,d], items y [batch*K,d], features [batch,f] and masks of
// batch*n and batch*K elements. A row joins mean and maximum of the agents, mean and maximum of the items, and the features. The
// result is [batch,4d+f].
func Pool(h, y, features, agentMask, itemMask *G.Node, batch int) (*G.Node, error) {
	const op = "pool"
	if err := wantMatrix(op, "agents", h, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix(op, "items", y, batch); err != nil {
		return nil, err
	}
	if err := wantMatrix(op, "features", features, batch); err != nil {
		return nil, err
	}
	s := attention.PoolShape{
		Batch: batch, Agents: h.Shape()[0] / batch, Items: y.Shape()[0] / batch, Width: h.Shape()[1], Features: features.Shape()[1],
	}
	if err := wantShape(op, "items", y, batch*s.Items, s.Width); err != nil {
		return nil, err
	}
	if err := wantShape(op, "features", features, batch, s.Features); err != nil {
		return nil, err
	}
	if err := wantMask(op, agentMask, batch*s.Agents); err != nil {
		return nil, err
	}
	if err := wantMask(op, itemMask, batch*s.Items); err != nil {
		return nil, err
	}
	grad := func(n G.Nodes, _, dx *G.Node) (G.Nodes, error) {
		g, err := graphop.Packed("attention.poolGrad", s, n[:2], poolBack[float32](s), poolBack[float64](s),
			dx, n[0], n[1], n[3], n[4])
		return append(g, nil, nil, nil), err
	}
	return graphop.Apply("attention.pool", s, tensor.Shape{batch, s.Row()}, pool[float32](s), pool[float64](s), grad,
		[]bool{true, true, false, false, false}, h, y, features, agentMask, itemMask)
}

func pool[T kernel.Float](s attention.PoolShape) graphop.Body[T] {
	return func(out []T, n [][]T) {
		attention.Pool(out, n[0], n[1], attention.PoolData[T]{Features: n[2], AgentMask: n[3], ItemMask: n[4]}, s)
	}
}

func poolBack[T kernel.Float](s attention.PoolShape) graphop.Body[T] {
	agents := s.Batch * s.Agents * s.Width
	return func(out []T, n [][]T) {
		data := attention.PoolData[T]{AgentMask: n[3], ItemMask: n[4]}
		attention.PoolBack(out[:agents], out[agents:], n[0], n[1], n[2], data, s)
	}
}

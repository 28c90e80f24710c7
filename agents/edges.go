package agents

import "slices"

// Edge is what one edge of the coordination graph adds to a candidate's bid. From and To are servers, and equal for what a server
// of the coalition adds without a neighbour. If Shape.Joint, they are candidates: To is the one whose bid it is, and From was
// carried out before it.
type Edge struct {
	From, To int32
	Payoff   float32
}

// Edges returns the parts of a candidate's payoff for the last observation: its bid without the graph is its bid minus their sum.
// The parts are in the order of From, then To. There are none if Shape.Graph is none.
func (n *Net) Edges(candidate int) []Edge {
	switch {
	case n.shape.Graph == GraphNone:
		return nil
	case n.shape.Joint:
		return n.tiesTo(candidate)
	}
	rank, servers := n.shape.Rank, n.obs.Servers
	q, scale := n.linears[pairLayer.Weight].out, n.params.get(pairWeight)
	weights := n.weights[candidate*servers:][:servers]
	pooled := make([]float32, rank) // the coalition's factors, times the weights of the factors
	for i, w := range weights {
		for r := range pooled {
			pooled[r] += w * q[i*rank+r]
		}
	}
	for r := range pooled {
		pooled[r] *= scale[r]
	}
	var all []Edge
	for i, w := range weights {
		if w == 0 {
			continue
		}
		for _, j := range append([]int32{int32(i)}, n.Graph.Neighbours(i)...) {
			e := Edge{From: int32(i), To: j}
			for r, v := range pooled {
				e.Payoff += v * w * q[int(j)*rank+r]
			}
			all = append(all, e)
		}
	}
	return all
}

// tiesTo returns what a candidate's ties to those that were carried out add to its bid.
func (n *Net) tiesTo(candidate int) (all []Edge) {
	n.link()
	for _, i := range n.obs.Taken {
		if slices.Contains(n.Graph.Neighbours(int(i)), int32(candidate)) {
			all = append(all, Edge{i, int32(candidate), n.payoff(int(i), candidate)})
		}
	}
	return all
}

// JobAttention fills dst [Servers] with how much the job with a row in the last observation attends to each server: the mean over
// heads, which sums to 1.
func (n *Net) JobAttention(dst []float32, job int) {
	forward{n}.block(jobsToServers).heads.Probabilities(dst, n.ones[:n.obs.Servers], job)
}

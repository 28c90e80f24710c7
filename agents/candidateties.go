package agents

import (
	"math"
	"slices"

	"github.com/clustergym/clustergym/coordgraph"
)

// Tie is a relation between two candidates, with a strength from 0 to 1. Payoffs have weights of their own for each.
type Tie uint8

// The ties. The strength of the first three is the sum, over the servers (racks, GPU types), of the smaller of the weights that
// the servers have in the two coalitions.
const (
	SameServer Tie = iota
	SameRack
	SameType
	SameTenant // 1 if the jobs belong to the same tenant
	AnyTwo     // always 1
	Ties       = iota
)

// part is the weight of a server, rack, type or tenant in a candidate.
type part struct {
	id     int32
	weight float32
}

// ties finds the ties between the candidates of an observation. The zero value is ready to use.
type ties struct {
	parts [SameTenant + 1][][]part // by tie and candidate, ascending by id
}

// fill reads from an observation what the candidates' ties depend on.
func (t *ties) fill(o *Observation) {
	for k := range t.parts {
		t.parts[k] = slices.Grow(t.parts[k][:0], o.Candidates)[:o.Candidates] // it keeps the memory of its elements
		for c := range t.parts[k] {
			t.parts[k][c] = t.parts[k][c][:0]
		}
	}
	for _, s := range o.Shares {
		t.add(SameServer, s.Candidate, s.Server+1, s.Weight)
		t.add(SameRack, s.Candidate, at(o.Rack, s.Server), s.Weight)
		t.add(SameType, s.Candidate, at(o.Type, s.Server), s.Weight)
	}
	for c, job := range o.Of {
		if job >= 0 {
			t.add(SameTenant, int32(c), at(o.Tenant, job), 1)
		}
	}
}

// at returns an element, or 0 if the list is nil.
func at(list []int32, i int32) int32 {
	if list == nil {
		return 0
	}
	return list[i]
}

// add adds a weight to a candidate's part; id 0 stands for none.
func (t *ties) add(k Tie, candidate, id int32, weight float32) {
	if id == 0 {
		return
	}
	list := &t.parts[k][candidate]
	i, found := slices.BinarySearchFunc(*list, id, func(p part, id int32) int { return int(p.id - id) })
	if !found {
		*list = slices.Insert(*list, i, part{id: id})
	}
	(*list)[i].weight += weight
}

// strength returns the strengths of the ties between two candidates.
func (t *ties) strength(a, b int) (s [Ties]float32) {
	for k := range t.parts {
		s[k] = overlap(t.parts[k][a], t.parts[k][b])
	}
	s[AnyTwo] = 1
	return s
}

func overlap(a, b []part) (sum float32) {
	for len(a) > 0 && len(b) > 0 {
		switch d := a[0].id - b[0].id; {
		case d < 0:
			a = a[1:]
		case d > 0:
			b = b[1:]
		default:
			sum += min(a[0].weight, b[0].weight)
			a, b = a[1:], b[1:]
		}
	}
	return sum
}

// together contains what a Net remembers of an observation, so that it can bid again after a candidate was carried out without
// another forward pass.
type together struct {
	ties    ties
	factors []float32       // [candidates*rank]
	scales  [Ties][]float32 // [rank], the weights of the factors
	alone   []float32       // the bids before any candidate was carried out
	paid    []float32       // scratch
	linked  bool            // whether ties and Net.Graph are those of the last observation
}

// After computes Bids again for the last observation after the given candidates were carried out, without another forward pass.
// It is only for shapes with Joint.
func (n *Net) After(taken []int32) {
	if n.shape.Graph == GraphNone {
		return
	}
	copy(n.Bids, n.alone)
	n.paid = sized(n.paid, len(n.Bids))
	n.pay(n.paid, taken)
	for i, v := range n.paid {
		n.Bids[i] += v
	}
}

// pay computes the sum of each candidate's payoffs with those that were carried out.
func (n *Net) pay(dst []float32, taken []int32) {
	clear(dst)
	if len(taken) == 0 {
		return
	}
	n.link()
	for _, i := range taken {
		for _, j := range n.Graph.Neighbours(int(i)) {
			dst[j] += n.payoff(int(i), int(j))
		}
	}
}

// link selects the edges of the graph of candidates, unless that was done for the last observation.
//
// In GraphDynamic each candidate selects the Kappa others with which its payoff, positive or negative, is largest. A candidate is
// carried out or not, so the variance of its payoff over these two is proportional to its square: the selection is that of CASEC
// (Wang et al., ICLR 2022). The prior's own candidate has no edges, because after it nothing else is carried out.
func (n *Net) link() {
	s := &n.shape
	if n.linked || !s.Joint || s.Graph == GraphNone {
		return
	}
	n.linked = true
	n.ties.fill(n.obs)
	count := n.obs.Candidates
	n.active = n.active[:0]
	for i := range count {
		n.active = append(n.active, i > 0)
	}
	switch s.Graph {
	case GraphRandom:
		coordgraph.SelectRandom(&n.Graph, count, n.active, s.Kappa)
	case GraphFull:
		coordgraph.SelectAll(&n.Graph, count, n.active)
	default:
		coordgraph.SelectBy(&n.Graph, count, s.Kappa, func(i, j int) float32 {
			if i == 0 || j == 0 {
				return float32(math.NaN())
			}
			return float32(math.Abs(float64(n.payoff(i, j))))
		})
	}
}

// payoff returns what two candidates are worth together beyond what they are worth alone: the sum over ties k and factors r of
// strength_k * weight_kr * q_ir * q_jr.
func (n *Net) payoff(i, j int) (sum float32) {
	rank := n.shape.Rank
	x, y := n.factors[i*rank:(i+1)*rank], n.factors[j*rank:(j+1)*rank]
	for k, strength := range n.ties.strength(i, j) {
		if strength == 0 {
			continue
		}
		w := n.scales[k]
		for r, v := range x {
			sum += strength * w[r] * v * y[r]
		}
	}
	return sum
}

// TieStrengths fills adjacent, for each tie [candidates*candidates], with the strengths that connect each candidate to those that
// were carried out, if they have an edge, and with -1 on the diagonal. So a candidate's own factors plus the sum of entries times
// factors are those of the candidates that were carried out: see coordgraph.NeighbourSums.
func (o *Observation) TieStrengths(edges []float32, adjacent *[Ties][]float32) {
	n := o.Candidates
	for k := range adjacent {
		clear(adjacent[k])
		for c := range n {
			adjacent[k][c*n+c] = -1
		}
	}
	if len(o.Taken) == 0 {
		return
	}
	var t ties
	t.fill(o)
	for _, taken := range o.Taken {
		for c := range n {
			if edges[c*n+int(taken)] != 0 {
				for k, strength := range t.strength(c, int(taken)) {
					adjacent[k][c*n+int(taken)] = strength
				}
			}
		}
	}
}

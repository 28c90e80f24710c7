package agents_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
)

// TestEdgesAddUpToPayoffs checks that the parts of a candidate's payoff add up to the difference between its bid and that of a
// network without payoffs, and that they are about servers of its coalition or candidates that were carried out.
func TestEdgesAddUpToPayoffs(t *testing.T) {
	for _, size := range append(variants(), joint()...) {
		s, p := policy(t, size, 1, 0.3)
		alone := p.Clone()
		for i := range alone {
			if alone[i].Name == "pair.weight" || strings.HasPrefix(alone[i].Name, "tie.") {
				clear(alone[i].Data)
			}
		}
		o := random(&s, 12, 6, 8, 2)
		o.Taken = nil
		if s.Joint {
			o.Taken = []int32{3, 5}
		}
		n, without := agents.NewNet(s, p), agents.NewNet(s, alone)
		n.Forward(&o)
		without.Forward(&o)
		edges := 0
		for c := range o.Candidates {
			var sum float32
			for _, e := range n.Edges(c) {
				edges++
				sum += e.Payoff
				member := slices.ContainsFunc(o.Shares, func(m agents.Share) bool { return int(m.Candidate) == c && m.Server == e.From })
				if !s.Joint && !member {
					t.Errorf("%s: candidate %d: an edge from server %d, which takes no part", s.Graph, c, e.From)
				}
				if s.Joint && (int(e.To) != c || !slices.Contains(o.Taken, e.From)) {
					t.Errorf("%s: candidate %d: an edge from %d to %d", s.Graph, c, e.From, e.To)
				}
			}
			if want := n.Bids[c] - without.Bids[c]; math.Abs(float64(sum-want)) > 1e-5*(1+math.Abs(float64(want))) {
				t.Errorf("%s, joint %t: candidate %d: edges add %v, want %v", s.Graph, s.Joint, c, sum, want)
			}
		}
		if (edges == 0) != (s.Graph == agents.GraphNone) {
			t.Errorf("%s, joint %t: %d edges", s.Graph, s.Joint, edges)
		}
	}
}

// TestJobAttention checks that what a job attends to depends on the servers' features, and that it sums to 1.
func TestJobAttention(t *testing.T) {
	s, p := policy(t, agents.DefaultSize(), 1, 0.3)
	o := random(&s, 9, 5, 4, 7)
	n := agents.NewNet(s, p)
	n.Forward(&o)
	first := make([]float32, o.Servers)
	n.JobAttention(first, 2)
	sum := float32(0)
	for _, v := range first {
		sum += v
	}
	if math.Abs(float64(sum)-1) > 1e-5 || slices.Max(first) == slices.Min(first) {
		t.Errorf("attention %v, want different weights that sum to 1", first)
	}
	swapped := rearrange(&s, &o, []int{1, 0, 2, 3, 4, 5, 6, 7, 8}, []int{0, 1, 2, 3, 4}, []int{0, 1, 2, 3})
	n.Forward(&swapped)
	second := make([]float32, o.Servers)
	n.JobAttention(second, 2)
	if math.Abs(float64(second[0]-first[1])) > 1e-5 || math.Abs(float64(second[1]-first[0])) > 1e-5 {
		t.Errorf("attention %v after %v, want the first two servers swapped", second, first)
	}
}

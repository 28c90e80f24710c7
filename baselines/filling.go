package baselines

import (
	"cmp"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// filled returns the tickets in the order of ServerFilling. The candidates are the first jobs whose needs add up to all GPUs
// of the cluster, or more. Those of them that need most GPUs come first. If needs are powers of two, and so is the number of
// GPUs, these jobs fill all GPUs (Grosof, Harchol-Balter and Scheller-Wolf, WCFS: a new framework for analyzing multiserver
// systems, Queueing Systems 102, 2022).
//
// The source has one pool of servers and jobs that need nothing else, so that the candidates that come first fill it. Here,
// where they may not, the other jobs follow in their order. Candidates are counted without the jobs that found no servers in
// this decision. Running jobs that may not be stopped yet stay ahead of all others.
func (p *plan) filled(s *cluster.View) []ticket {
	p.prefix = append(p.prefix[:0], p.tickets...)
	need := func(t ticket) int64 { return p.needs(s, t.job, s.Phase(t.job) == cluster.Running).GPUMilli }
	free, from, to := s.Total().GPUMilli, 0, 0
	for ; to < len(p.prefix) && free > 0; to++ {
		if p.prefix[to].key == math.MinInt64 {
			from = to + 1
		}
		if !p.barred[p.prefix[to].job] {
			free -= need(p.prefix[to])
		}
	}
	slices.SortStableFunc(p.prefix[from:to], func(a, b ticket) int { return cmp.Compare(need(b), need(a)) })
	return p.prefix
}

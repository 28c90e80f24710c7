package coordgraph

import (
	"fmt"

	"github.com/clustergym/clustergym/internal/kernel"
)

// The graphs of this file do not depend on the agents' state. They exist for comparison with the dynamic graph.

// SelectRandom fills dst with a fixed pseudo-random graph among the active of n agents. Each active agent selects the kappa
// others for which the hash of the pair of numbers is highest; two agents are linked if either selects the other. To bound the
// work, only Exact active agents can be selected: those with the highest hash of their own number. active nil means all.
func SelectRandom[T kernel.Float](dst *Graph[T], n int, active []bool, kappa int) {
	if active != nil && len(active) != n || kappa < 0 {
		panic(fmt.Sprintf("coordgraph: select %d of %d agents with %d active flags", kappa, n, len(active)))
	}
	dst.Agents, dst.edges, dst.near = n, dst.edges[:0], dst.near[:0]
	dst.best.reset(Exact)
	for i := range n {
		if active == nil || active[i] {
			dst.best.add(int32(i), T(hash(i, i)))
		}
	}
	dst.near = append(dst.near, dst.best.of...)
	for i := range n {
		if active != nil && !active[i] {
			continue
		}
		dst.best.reset(kappa)
		for _, j := range dst.near {
			if int(j) != i {
				dst.best.add(j, T(hash(i, int(j))))
			}
		}
		dst.link(i)
	}
	dst.join()
}

// SelectAll fills dst with the graph that links every pair of active agents, out of n. Its cost is quadratic in n. active nil
// means all.
func SelectAll[T kernel.Float](dst *Graph[T], n int, active []bool) {
	if active != nil && len(active) != n {
		panic(fmt.Sprintf("coordgraph: select all of %d agents with %d active flags", n, len(active)))
	}
	dst.Agents, dst.near = n, dst.near[:0]
	for i := range n {
		if active == nil || active[i] {
			dst.near = append(dst.near, int32(i))
		}
	}
	dst.start, dst.to = append(dst.start[:0], 0), dst.to[:0]
	for i := range n {
		for _, j := range dst.near {
			if int(j) != i && (active == nil || active[i]) {
				dst.to = append(dst.to, j)
			}
		}
		dst.start = append(dst.start, int32(len(dst.to)))
	}
}

// hash mixes two numbers, in any order, into 24 bits, which float32 represents exactly (Steele et al., 2014).
func hash(i, j int) uint32 {
	x := uint64(min(i, j))<<32 | uint64(max(i, j))
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return uint32((x ^ x>>31) >> 40)
}

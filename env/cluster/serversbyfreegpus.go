package cluster

import "math/bits"

// index finds open servers by their number of free whole GPUs, without a scan of all servers.
type index struct {
	of    [][]uint64 // of[f]: bit i is set while open server i has f free GPUs
	count []int32    // number of servers in of[f]
	some  []uint64   // bit f is set while count[f] > 0
	free  int64      // free whole GPUs on all open servers
}

func newIndex(servers, mostGPUs int) index {
	x := index{
		of: make([][]uint64, mostGPUs+1), count: make([]int32, mostGPUs+1), some: make([]uint64, mostGPUs/64+1),
	}
	words := (servers + 63) / 64
	all := make([]uint64, words*len(x.of))
	for f := range x.of {
		x.of[f] = all[f*words : (f+1)*words : (f+1)*words]
	}
	return x
}

func (x *index) add(id ServerID, free int32) {
	x.of[free][id/64] |= 1 << (id % 64)
	x.count[free]++
	x.some[free/64] |= 1 << (free % 64)
	x.free += int64(free)
}

func (x *index) remove(id ServerID, free int32) {
	x.of[free][id/64] &^= 1 << (id % 64)
	x.count[free]--
	if x.count[free] == 0 {
		x.some[free/64] &^= 1 << (free % 64)
	}
	x.free -= int64(free)
}

// next returns the smallest f >= from such that some server has f free GPUs, or -1.
func (x *index) next(from int32) int32 {
	for w := int(from) / 64; w < len(x.some); w++ {
		word := x.some[w]
		if w == int(from)/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return int32(w*64 + bits.TrailingZeros64(word))
		}
	}
	return -1
}

// previous returns the largest f <= from such that some server has f free GPUs, or -1.
func (x *index) previous(from int32) int32 {
	for w := int(from) / 64; w >= 0; w-- {
		word := x.some[w]
		if w == int(from)/64 {
			word &= ^uint64(0) >> (63 - from%64)
		}
		if word != 0 {
			return int32(w*64 + 63 - bits.LeadingZeros64(word))
		}
	}
	return -1
}

// after returns the lowest server above id that has f free GPUs, or -1. Begin with the id -1.
func (x *index) after(f int32, id ServerID) ServerID {
	from := int(id) + 1
	for w := from / 64; w < len(x.of[f]); w++ {
		word := x.of[f][w]
		if w == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return ServerID(w*64 + bits.TrailingZeros64(word))
		}
	}
	return -1
}

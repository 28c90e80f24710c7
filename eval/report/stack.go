package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval"
)

// box is an eval.Box with the time during which a job held it.
type box struct {
	eval.Box
	from, to time.Duration
	slot     uint32
}

// split divides boxes of GPU shares into boxes of one GPU each, because every share has its own position in the row of its GPU.
// If there is nothing to divide, it returns boxes itself.
func split(boxes []eval.Box) []eval.Box {
	if !slices.ContainsFunc(boxes, func(b eval.Box) bool { return b.GPUMilli < cluster.WholeGPU && b.Count > 1 }) {
		return boxes
	}
	var single []eval.Box
	for _, b := range boxes {
		if b.GPUMilli >= cluster.WholeGPU {
			single = append(single, b)
			continue
		}
		for i := range b.Count {
			single = append(single, eval.Box{Server: b.Server, GPU: b.GPU + i, Count: 1, GPUMilli: b.GPUMilli})
		}
	}
	return single
}

// stack assigns each share of a GPU a position in the GPU's row: the first gap that is wide enough during its whole stay. If free
// capacity is scattered, it uses the widest gap, and the share overlaps a neighbour.
func stack(boxes []box) {
	var shares []*box
	for i := range boxes {
		if boxes[i].GPUMilli < cluster.WholeGPU && boxes[i].to > boxes[i].from {
			shares = append(shares, &boxes[i])
		}
	}
	slices.SortStableFunc(shares, func(a, b *box) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.from, b.from))
	})
	var beside []*box // the shares on the same GPU at the time, ordered by slot
	for i, b := range shares {
		if i == 0 || shares[i-1].Server != b.Server || shares[i-1].GPU != b.GPU {
			beside = beside[:0]
		}
		beside = slices.DeleteFunc(beside, func(o *box) bool { return o.to <= b.from })
		need, widest, at := uint32(b.GPUMilli), uint32(0), uint32(0)
		for k := 0; k <= len(beside); k++ {
			next := uint32(cluster.WholeGPU)
			if k < len(beside) {
				next = beside[k].slot
			}
			if next > at && next-at > widest {
				widest, b.slot = next-at, at
			}
			if widest >= need {
				break
			}
			if k < len(beside) {
				at = max(at, beside[k].slot+uint32(beside[k].GPUMilli))
			}
		}
		b.slot = min(b.slot, cluster.WholeGPU-need)
		k, _ := slices.BinarySearchFunc(beside, b.slot, func(o *box, slot uint32) int { return cmp.Compare(o.slot, slot) })
		beside = slices.Insert(beside, k, b)
	}
}

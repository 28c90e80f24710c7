package attention

import (
	"fmt"

	"github.com/clustergym/clustergym/internal/kernel"
)

// PoolShape is the shape of Pool. Each of Batch groups has Agents and Items, whose embeddings are Width wide, and Features of the
// group as a whole.
type PoolShape struct{ Batch, Agents, Items, Width, Features int }

// Row returns the width of a row of Pool: mean and maximum of the agents, mean and maximum of the items, and the features.
func (s PoolShape) Row() int { return 4*s.Width + s.Features }

// PoolData contains the features and masks of the groups. It has no gradient.
type PoolData[T kernel.Float] struct {
	Features  []T // [B*f]
	AgentMask []T // [B*n]
	ItemMask  []T // [B*K]
}

func checkPool[T kernel.Float](rows, h, y []T, in *PoolData[T], s PoolShape) {
	if s.Batch < 0 || s.Agents < 0 || s.Items < 0 || s.Width <= 0 || s.Features < 0 {
		panic(fmt.Sprintf("attention: pool shape %+v: want a positive width and no negative number", s))
	}
	kernel.Want("pool", rows, s.Batch*s.Row())
	kernel.Want("pool agents", h, s.Batch*s.Agents*s.Width)
	kernel.Want("pool items", y, s.Batch*s.Items*s.Width)
	kernel.Want("pool agent mask", in.AgentMask, s.Batch*s.Agents)
	kernel.Want("pool item mask", in.ItemMask, s.Batch*s.Items)
}

// Pool joins a summary of each group into a row of dst [B,Row()]: mean and maximum of the valid rows of h [B*n,d], mean and
// maximum of the valid rows of y [B*K,d], and the group's features. The order of a group's rows does not matter, apart from
// rounding.
func Pool[T kernel.Float](dst, h, y []T, in PoolData[T], s PoolShape) {
	checkPool(dst, h, y, &in, s)
	kernel.Want("pool features", in.Features, s.Batch*s.Features)
	d, n, items := s.Width, s.Agents, s.Items
	for b := range s.Batch {
		row, hb, yb := dst[b*s.Row():][:s.Row()], h[b*n*d:][:n*d], y[b*items*d:][:items*d]
		agentMask, itemMask := in.AgentMask[b*n:][:n], in.ItemMask[b*items:][:items]
		mean(row[:d], hb, agentMask)
		maximum(row[d:2*d], hb, agentMask)
		mean(row[2*d:3*d], yb, itemMask)
		maximum(row[3*d:4*d], yb, itemMask)
		copy(row[4*d:], in.Features[b*s.Features:][:s.Features])
	}
}

// PoolBack computes the gradients dh and dy of h and y from dx [B,Row()]. A maximum passes its gradient to the first row that has
// it. dh and dy must not be nil. PoolBack does not read the features.
func PoolBack[T kernel.Float](dh, dy, dx, h, y []T, in PoolData[T], s PoolShape) {
	checkPool(dx, h, y, &in, s)
	kernel.Want("pool agents' gradient", dh, len(h))
	kernel.Want("pool items' gradient", dy, len(y))
	d, n, items := s.Width, s.Agents, s.Items
	clear(dh)
	clear(dy)
	for b := range s.Batch {
		g := dx[b*s.Row():][:s.Row()]
		poolBack(dh[b*n*d:][:n*d], g[:2*d], h[b*n*d:][:n*d], in.AgentMask[b*n:][:n])
		poolBack(dy[b*items*d:][:items*d], g[2*d:4*d], y[b*items*d:][:items*d], in.ItemMask[b*items:][:items])
	}
}

// maximum computes the maximum of the valid rows of x [n,d] into dst [d]; it is zero if no row is valid.
func maximum[T kernel.Float](dst, x, mask []T) {
	d, first := len(dst), true
	clear(dst)
	for i, valid := range mask {
		switch row := x[i*d : (i+1)*d]; {
		case valid == 0:
		case first:
			copy(dst, row)
			first = false
		default:
			for j, v := range row {
				dst[j] = max(dst[j], v)
			}
		}
	}
}

// poolBack adds to dx the gradient through mean and maximum of the valid rows of x [n,d], whose gradients are g [2d].
func poolBack[T kernel.Float](dx, g, x, mask []T) {
	d, scale := len(g)/2, inverseCount(mask)
	for j := range d {
		at := -1
		for i, valid := range mask {
			if valid == 0 {
				continue
			}
			dx[i*d+j] = scale * g[j]
			if at < 0 || x[i*d+j] > x[at*d+j] {
				at = i
			}
		}
		if at >= 0 {
			dx[at*d+j] += g[d+j]
		}
	}
}

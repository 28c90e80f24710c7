package attention

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Shape is the shape of a masked multi-head attention. Each of Batch groups has Queries query rows and Keys key rows. Rows are
// Width wide and are split into Heads equal parts.
//
// A Reference of r > 0 multiplies the scores of a group with n valid keys by log(1+n)/log(1+r). A softmax over more keys spreads
// its weight further, by an amount that grows with log n. With the factor, scores learned with about r keys remain as selective
// with many more. A Reference of 0 leaves the scores unscaled.
type Shape struct{ Batch, Queries, Keys, Width, Heads, Reference int }

func (s Shape) check() {
	if s.Batch < 0 || s.Queries < 0 || s.Keys < 0 || s.Width <= 0 || s.Heads <= 0 || s.Width%s.Heads != 0 || s.Reference < 0 {
		panic(fmt.Sprintf("attention: shape %+v: want a positive width divisible by the heads, and no negative number", s))
	}
}

// scale returns the factor of the products of queries and keys in a group with the given mask.
func scale[T kernel.Float](s Shape, mask []T) T {
	c := 1 / math.Sqrt(float64(s.Width/s.Heads))
	if s.Reference > 0 {
		n := 0
		for _, m := range mask {
			if m != 0 {
				n++
			}
		}
		c *= math.Log1p(float64(n)) / math.Log1p(float64(s.Reference))
	}
	return T(c)
}

// Scratch is reusable working memory for one goroutine. Its zero value is ready to use.
type Scratch[T kernel.Float] struct{ p, dp, k, v []T }

// Attend computes, for each group and head, dst = softmax(q*kT/sqrt(Width/Heads)) * v over the valid keys, with scores scaled as
// Shape.Reference defines. q and dst are [Batch*Queries,Width], k and v [Batch*Keys,Width], mask [Batch*Keys] with 1 for a valid
// key. A group without a valid key gives zeros.
func Attend[T kernel.Float](dst, q, k, v, mask []T, s Shape, buf *Scratch[T]) {
	s.check()
	kernel.Want("attention output", dst, s.Batch*s.Queries*s.Width)
	kernel.Want("attention queries", q, s.Batch*s.Queries*s.Width)
	kernel.Want("attention keys", k, s.Batch*s.Keys*s.Width)
	kernel.Want("attention values", v, s.Batch*s.Keys*s.Width)
	kernel.Want("attention mask", mask, s.Batch*s.Keys)
	buf.p = kernel.Grow(buf.p, s.Queries*s.Keys)
	p := kernel.Mat(buf.p, s.Queries, s.Keys)
	head := s.Width / s.Heads
	for b := range s.Batch {
		qb, ob := group(q, b, s.Queries, s.Width), group(dst, b, s.Queries, s.Width)
		kb, vb := group(k, b, s.Keys, s.Width), group(v, b, s.Keys, s.Width)
		valid := mask[b*s.Keys : (b+1)*s.Keys]
		by := scale(s, valid)
		for h := range s.Heads {
			buf.k = upright(buf.k, kb.Columns(h*head, head))
			probabilities(p, by, qb.Columns(h*head, head), kernel.Mat(buf.k, head, s.Keys), valid)
			kernel.Gemm(ob.Columns(h*head, head), 1, p, vb.Columns(h*head, head), 0)
		}
	}
}

// AttendBack computes the gradients of Attend from dy [Batch*Queries,Width]: dq, dk and dv have the shapes of q, k and v. It
// computes the probabilities again instead of storing them. It skips nil destinations.
func AttendBack[T kernel.Float](dq, dk, dv, dy, q, k, v, mask []T, s Shape, buf *Scratch[T]) {
	s.check()
	kernel.Want("attention output gradient", dy, s.Batch*s.Queries*s.Width)
	kernel.Want("attention queries", q, s.Batch*s.Queries*s.Width)
	kernel.Want("attention keys", k, s.Batch*s.Keys*s.Width)
	kernel.Want("attention values", v, s.Batch*s.Keys*s.Width)
	kernel.Want("attention mask", mask, s.Batch*s.Keys)
	kernel.WantOrNil("attention query gradient", dq, len(q))
	kernel.WantOrNil("attention key gradient", dk, len(k))
	kernel.WantOrNil("attention value gradient", dv, len(v))
	buf.p = kernel.Grow(buf.p, s.Queries*s.Keys)
	buf.dp = kernel.Grow(buf.dp, s.Queries*s.Keys)
	p, dp := kernel.Mat(buf.p, s.Queries, s.Keys), kernel.Mat(buf.dp, s.Queries, s.Keys)
	head := s.Width / s.Heads
	for b := range s.Batch {
		qb, gb := group(q, b, s.Queries, s.Width), group(dy, b, s.Queries, s.Width)
		kb, vb := group(k, b, s.Keys, s.Width), group(v, b, s.Keys, s.Width)
		valid := mask[b*s.Keys : (b+1)*s.Keys]
		by := scale(s, valid)
		for h := range s.Heads {
			from := h * head
			qh, kh, gh := qb.Columns(from, head), kb.Columns(from, head), gb.Columns(from, head)
			buf.k, buf.v = upright(buf.k, kh), upright(buf.v, vb.Columns(from, head))
			probabilities(p, by, qh, kernel.Mat(buf.k, head, s.Keys), valid)
			if dv != nil {
				kernel.Gemm(group(dv, b, s.Keys, s.Width).Columns(from, head), 1, p.T(), gh, 0)
			}
			if dq == nil && dk == nil {
				continue
			}
			kernel.Gemm(dp, 1, gh, kernel.Mat(buf.v, head, s.Keys), 0)
			kernel.SoftmaxBack(buf.dp, buf.p, s.Keys)
			if dq != nil {
				kernel.Gemm(group(dq, b, s.Queries, s.Width).Columns(from, head), by, dp, kh, 0)
			}
			if dk != nil {
				kernel.Gemm(group(dk, b, s.Keys, s.Width).Columns(from, head), by, dp.T(), qh, 0)
			}
		}
	}
}

// upright copies the columns of m to buf, one after another, because products by a transposed matrix cost a copy each time.
func upright[T kernel.Float](buf []T, m kernel.Matrix[T]) []T {
	buf = kernel.Grow(buf, m.Rows*m.Cols)
	for i := range m.Rows {
		at := i
		for _, v := range m.Data[i*m.Stride:][:m.Cols] {
			buf[at] = v
			at += m.Rows
		}
	}
	return buf
}

// probabilities fills p with the softmax of the scaled scores of one head, whose keys are the columns of k. Invalid keys get
// exactly 0.
func probabilities[T kernel.Float](p kernel.Matrix[T], by T, q, k kernel.Matrix[T], mask []T) {
	kernel.Gemm(p, by, q, k, 0)
	kernel.Softmax(p.Data, mask)
}

// group returns a view of the rows of group b of x, which has n rows of the given width per group.
func group[T kernel.Float](x []T, b, n, width int) kernel.Matrix[T] {
	return kernel.Mat(x[b*n*width:(b+1)*n*width], n, width)
}

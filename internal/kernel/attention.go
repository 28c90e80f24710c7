package kernel

import (
	"fmt"
	"math"
	"unsafe"
)

// AttentionShape is the shape of one masked multi-head attention: each of Batch groups has Queries query rows and Keys key
// rows, each Width wide, split into Heads equal parts.
//
// A Reference of r > 0 multiplies the scores of a group with n valid keys by log(1+n)/log(1+r): a softmax over more keys
// spreads its weight over them, by how much grows with log n, and scores learned at about r keys stay as selective at many
// times as many. 0 leaves the scores alone.
type AttentionShape struct{ Batch, Queries, Keys, Width, Heads, Reference int }

func (s AttentionShape) check() {
	if s.Batch < 0 || s.Queries < 0 || s.Keys < 0 || s.Width <= 0 || s.Heads <= 0 || s.Width%s.Heads != 0 || s.Reference < 0 {
		panic(fmt.Sprintf("kernel: attention shape %+v: want a positive width divisible by the heads, and no negative number", s))
	}
}

// scale returns what the products of queries and keys are multiplied by in a group of that mask.
func scale[T Float](s AttentionShape, mask []T) T {
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

// AttentionScratch is reusable working memory of one goroutine; its zero value is ready.
type AttentionScratch[T Float] struct{ p, dp, k, v, d []T }

// Attention computes, for each group and head, dst = softmax(q*kT/sqrt(Width/Heads)) * v over the valid keys, the scores
// multiplied as Reference asks.
// q and dst are [Batch*Queries,Width], k and v [Batch*Keys,Width], mask [Batch*Keys] with 1 for a valid key. A group
// without a valid key gives zeros.
func Attention[T Float](dst, q, k, v, mask []T, s AttentionShape, buf *AttentionScratch[T]) {
	s.check()
	want("attention output", dst, s.Batch*s.Queries*s.Width)
	want("attention queries", q, s.Batch*s.Queries*s.Width)
	want("attention keys", k, s.Batch*s.Keys*s.Width)
	want("attention values", v, s.Batch*s.Keys*s.Width)
	want("attention mask", mask, s.Batch*s.Keys)
	buf.p = grow(buf.p, s.Queries*s.Keys)
	p := Mat(buf.p, s.Queries, s.Keys)
	head := s.Width / s.Heads
	for b := range s.Batch {
		qb, ob := group(q, b, s.Queries, s.Width), group(dst, b, s.Queries, s.Width)
		kb, vb := group(k, b, s.Keys, s.Width), group(v, b, s.Keys, s.Width)
		valid := mask[b*s.Keys : (b+1)*s.Keys]
		by := scale(s, valid)
		for h := range s.Heads {
			buf.k, buf.v = upright(buf.k, kb.Columns(h*head, head)), upright(buf.v, vb.Columns(h*head, head))
			probabilities(p, by, qb.Columns(h*head, head), Mat(buf.k, head, s.Keys), valid)
			Gemm(ob.Columns(h*head, head), 1, p, Mat(buf.v, head, s.Keys).T(), 0)
		}
	}
}

// AttentionBack computes the gradients of Attention from dy [Batch*Queries,Width]: dq, dk and dv in the shapes of q, k and
// v. The probabilities are computed again rather than kept. Nil destinations are skipped.
func AttentionBack[T Float](dq, dk, dv, dy, q, k, v, mask []T, s AttentionShape, buf *AttentionScratch[T]) {
	s.check()
	want("attention output gradient", dy, s.Batch*s.Queries*s.Width)
	want("attention queries", q, s.Batch*s.Queries*s.Width)
	want("attention keys", k, s.Batch*s.Keys*s.Width)
	want("attention values", v, s.Batch*s.Keys*s.Width)
	want("attention mask", mask, s.Batch*s.Keys)
	wantOrNil("attention query gradient", dq, len(q))
	wantOrNil("attention key gradient", dk, len(k))
	wantOrNil("attention value gradient", dv, len(v))
	buf.p = grow(buf.p, s.Queries*s.Keys)
	buf.dp, buf.d = grow(buf.dp, s.Queries*s.Keys), grow(buf.d, s.Keys*(s.Width/s.Heads))
	p, dp := Mat(buf.p, s.Queries, s.Keys), Mat(buf.dp, s.Queries, s.Keys)
	head := s.Width / s.Heads
	for b := range s.Batch {
		qb, gb := group(q, b, s.Queries, s.Width), group(dy, b, s.Queries, s.Width)
		kb, vb := group(k, b, s.Keys, s.Width), group(v, b, s.Keys, s.Width)
		valid := mask[b*s.Keys : (b+1)*s.Keys]
		by := scale(s, valid)
		for h := range s.Heads {
			from := h * head
			qh, gh := qb.Columns(from, head), gb.Columns(from, head)
			buf.k, buf.v = upright(buf.k, kb.Columns(from, head)), upright(buf.v, vb.Columns(from, head))
			kT, vT, dT := Mat(buf.k, head, s.Keys), Mat(buf.v, head, s.Keys), Mat(buf.d, head, s.Keys)
			probabilities(p, by, qh, kT, valid)
			if dv != nil {
				Gemm(dT, 1, gh.T(), p, 0)
				lay(group(dv, b, s.Keys, s.Width).Columns(from, head), buf.d)
			}
			if dq == nil && dk == nil {
				continue
			}
			Gemm(dp, 1, gh, vT, 0)
			for i := range s.Queries {
				softmaxBack(buf.dp[i*s.Keys:(i+1)*s.Keys], buf.p[i*s.Keys:(i+1)*s.Keys])
			}
			if dq != nil {
				Gemm(group(dq, b, s.Queries, s.Width).Columns(from, head), by, dp, kT.T(), 0)
			}
			if dk != nil {
				Gemm(dT, by, qh.T(), dp, 0)
				lay(group(dk, b, s.Keys, s.Width).Columns(from, head), buf.d)
			}
		}
	}
}

// upright copies the columns of m one after another to buf, and lay copies them back. A head has few columns and many rows,
// and matrix products gain from long rows.
func upright[T Float](buf []T, m Matrix[T]) []T {
	buf = grow(buf, m.Rows*m.Cols)
	for i := range m.Rows {
		at := i
		for _, v := range m.Data[i*m.Stride:][:m.Cols] {
			buf[at] = v
			at += m.Rows
		}
	}
	return buf
}

func lay[T Float](m Matrix[T], columns []T) {
	for i := range m.Rows {
		row, at := m.Data[i*m.Stride:][:m.Cols], i
		for j := range row {
			row[j] = columns[at]
			at += m.Rows
		}
	}
}

// probabilities fills p with the softmax of the scaled scores of one head, whose keys are the columns of k; invalid keys get
// exactly 0.
func probabilities[T Float](p Matrix[T], by T, q, k Matrix[T], mask []T) {
	Gemm(p, by, q, k, 0)
	if fast(mask) {
		softmaxRows(single(p.Data), p.Cols)
		return
	}
	for i := range p.Rows {
		softmax(p.Data[i*p.Cols:(i+1)*p.Cols], mask)
	}
}

// softmax replaces the scores x by their softmax over the valid entries. The largest valid score is subtracted first.
func softmax[T Float](x, mask []T) {
	mask = mask[:len(x)]
	least := T(math.Inf(-1))
	top, valid := least, false
	for j, v := range x {
		switch {
		case mask[j] == 0:
			x[j] = least
			continue
		case v > top:
			top = v
		}
		valid = true
	}
	if !valid {
		clear(x)
		return
	}
	scale := 1 / exponentials(x, top)
	for j := range x {
		x[j] *= scale
	}
}

// exponentials replaces x by e**(x-top), top being the largest of them, and returns the sum.
func exponentials[T Float](x []T, top T) (sum T) {
	if unsafe.Sizeof(top) != 4 {
		for j, v := range x {
			x[j] = Exp(v - top)
			sum += x[j]
		}
		return sum
	}
	for j, v := range single(x) {
		var e float32
		if v -= float32(top); !(v < tooSmall) {
			e = expNear(v)
		}
		x[j] = T(e)
		sum += T(e)
	}
	return sum
}

// softmaxBack replaces g, the gradient of the probabilities p, by the gradient of the scores.
func softmaxBack[T Float](g, p []T) {
	mean := dot(g, p)
	p = p[:len(g)]
	for j, v := range g {
		g[j] = p[j] * (v - mean)
	}
}

// group views the rows of group b of x, which has n rows of the given width per group.
func group[T Float](x []T, b, n, width int) Matrix[T] {
	return Mat(x[b*n*width:(b+1)*n*width], n, width)
}

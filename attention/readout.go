package attention

import (
	"fmt"

	"github.com/clustergym/clustergym/internal/kernel"
)

// ReadoutShape is the shape of a readout. Each of Batch groups has Agents and Items, whose embeddings are Width wide, and
// Candidates with Features each. A candidate refers to some of the agents, its coalition, and to at most one item.
type ReadoutShape struct{ Batch, Agents, Items, Candidates, Width, Features int }

// Row returns the width of a row of Readout: coalition, item, mean agent, mean item and the candidate's features.
func (s ReadoutShape) Row() int { return 4*s.Width + s.Features }

// ReadoutData defines the candidates' features, coalitions and items. It has no gradient.
type ReadoutData[T kernel.Float] struct {
	Features  []T // [B*C,f]
	Weights   []T // [B,C*n] share of each agent in a candidate's coalition; 0 for other agents
	Of        []T // [B*C] row of the candidate's item in its group; negative for none
	AgentMask []T // [B*n]
	ItemMask  []T // [B*K]
}

func (s ReadoutShape) check() {
	if s.Batch < 0 || s.Agents < 0 || s.Items < 0 || s.Candidates < 0 || s.Width <= 0 || s.Features < 0 {
		panic(fmt.Sprintf("attention: readout shape %+v: want a positive width and no negative number", s))
	}
}

func checkReadout[T kernel.Float](rows, h, y []T, in *ReadoutData[T], s ReadoutShape) {
	s.check()
	kernel.Want("readout", rows, s.Batch*s.Candidates*s.Row())
	kernel.Want("readout agents", h, s.Batch*s.Agents*s.Width)
	kernel.Want("readout items", y, s.Batch*s.Items*s.Width)
	kernel.Want("readout weights", in.Weights, s.Batch*s.Candidates*s.Agents)
	kernel.Want("readout candidates' items", in.Of, s.Batch*s.Candidates)
	kernel.Want("readout agent mask", in.AgentMask, s.Batch*s.Agents)
	kernel.Want("readout item mask", in.ItemMask, s.Batch*s.Items)
}

// Readout joins the inputs of each candidate into a row of dst [B*C,Row()]: the weighted sum of its coalition's rows of h
// [B*n,d], its item's row of y [B*K,d] or zeros, the means of all valid rows of h and of y, and its own features. Most weights
// are 0, and Readout skips them.
func Readout[T kernel.Float](dst, h, y []T, in ReadoutData[T], s ReadoutShape) {
	checkReadout(dst, h, y, &in, s)
	kernel.Want("readout features", in.Features, s.Batch*s.Candidates*s.Features)
	d, f, n, items := s.Width, s.Features, s.Agents, s.Items
	for b := range s.Batch {
		hb, yb := h[b*n*d:][:n*d], y[b*items*d:][:items*d]
		var first []T
		for c := range s.Candidates {
			at := b*s.Candidates + c
			row := dst[at*s.Row():][:s.Row()]
			clear(row[:2*d])
			for i, w := range in.Weights[at*n:][:n] {
				if w != 0 {
					kernel.Axpy(row[:d], w, hb[i*d:])
				}
			}
			if k := int(in.Of[at]); k >= 0 {
				copy(row[d:2*d], yb[k*d:])
			}
			if c == 0 {
				first = row
				mean(row[2*d:3*d], hb, in.AgentMask[b*n:][:n])
				mean(row[3*d:4*d], yb, in.ItemMask[b*items:][:items])
			} else {
				copy(row[2*d:4*d], first[2*d:])
			}
			copy(row[4*d:], in.Features[at*f:][:f])
		}
	}
}

// ReadoutBack computes the gradients dh and dy of h and y from dx [B*C,Row()]. dh and dy must not be nil. ReadoutBack does not
// read the features.
func ReadoutBack[T kernel.Float](dh, dy, dx []T, in ReadoutData[T], s ReadoutShape) {
	checkReadout(dx, dh, dy, &in, s)
	d, n, items := s.Width, s.Agents, s.Items
	clear(dh)
	clear(dy)
	for b := range s.Batch {
		hb, yb := dh[b*n*d:][:n*d], dy[b*items*d:][:items*d]
		for c := range s.Candidates {
			at := b*s.Candidates + c
			g := dx[at*s.Row():][:s.Row()]
			for i, w := range in.Weights[at*n:][:n] {
				if w != 0 {
					kernel.Axpy(hb[i*d:(i+1)*d], w, g[:d])
				}
			}
			if k := int(in.Of[at]); k >= 0 {
				kernel.Axpy(yb[k*d:(k+1)*d], 1, g[d:2*d])
			}
		}
		meanBack(hb, dx, in.AgentMask[b*n:][:n], b, 2*d, s)
		meanBack(yb, dx, in.ItemMask[b*items:][:items], b, 3*d, s)
	}
}

// meanBack adds to the valid rows of dst the gradient through their mean, which the candidates of group b have in the columns
// starting at from.
func meanBack[T kernel.Float](dst, dx, mask []T, b, from int, s ReadoutShape) {
	d, scale := s.Width, inverseCount(mask)
	for j := range d {
		var sum T
		for c := range s.Candidates {
			sum += dx[(b*s.Candidates+c)*s.Row()+from+j]
		}
		if sum == 0 {
			continue
		}
		sum *= scale
		for i, valid := range mask {
			if valid != 0 {
				dst[i*d+j] += sum
			}
		}
	}
}

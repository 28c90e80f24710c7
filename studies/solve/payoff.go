package solve

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// Pair gives payoffs of linked agents that are not of low rank.
type Pair[T kernel.Float] interface {
	// Payoff returns the joint value of item a of agent i and item b of agent j. It must be finite and symmetric, Payoff(i,a,j,b)
	// == Payoff(j,b,i,a). Solvers do not call it for illegal items.
	Payoff(i, a, j, b int) T
}

// PairFunc is a function as a Pair. One message costs K*K calls.
type PairFunc[T kernel.Float] func(i, a, j, b int) T

// Payoff calls f.
func (f PairFunc[T]) Payoff(i, a, j, b int) T { return f(i, a, j, b) }

// Diagonal is a Pair with payoffs only between equal items: the value, beyond the utilities, of agents i and j both choosing
// item a. If there are no other payoffs, one message costs K calls and not K*K.
type Diagonal[T kernel.Float] func(i, j, a int) T

// Payoff calls f if the items are equal.
func (f Diagonal[T]) Payoff(i, a, j, b int) T {
	if a != b {
		return 0
	}
	return f(i, j, a)
}

// link finds the opposite direction of each edge. It panics unless every edge exists in both directions, ascending within an
// agent.
func (v *view[T]) link() {
	v.same = nil
	if v.p.Payoffs == nil {
		v.same, _ = v.p.Pair.(Diagonal[T])
	}
	g := v.p.Graph
	if g == nil {
		return
	}
	v.reverse = grow(v.reverse, len(g.To))
	v.order = append(v.order[:0], g.Start[:v.n]...) // per agent: the next edge that must lead back
	for i := range v.n {
		for e := g.Start[i]; e < g.Start[i+1]; e++ {
			j := int(g.To[e])
			back := v.order[j]
			if j == i || back >= g.Start[j+1] || int(g.To[back]) != i {
				panic(fmt.Sprintf("solve: the edge from agent %d to %d does not lead back", i, j))
			}
			v.reverse[e] = back
			v.order[j]++
		}
	}
}

// edges returns the range of the edges of agent i.
func (v *view[T]) edges(i int) (from, to int32) {
	if g := v.p.Graph; g != nil && (v.p.Payoffs != nil || v.p.Pair != nil) {
		return g.Start[i], g.Start[i+1]
	}
	return 0, 0
}

// payoff returns the joint value of item a of agent i and item b at the other end of edge e.
func (v *view[T]) payoff(i int, e int32, a, b int) float64 {
	j, sum := int(v.p.Graph.To[e]), 0.0
	if f := v.p.Payoffs; f != nil {
		rank := len(f.D)
		x, y := f.Q[(i*f.Items+a)*rank:][:rank], f.Q[(j*f.Items+b)*rank:][:rank]
		for r, d := range f.D {
			sum += float64(d) * float64(x[r]) * float64(y[r])
		}
		sum *= float64(v.p.Graph.Gate[e])
	}
	if v.p.Pair != nil {
		sum += float64(v.p.Pair.Payoff(i, a, j, b))
	}
	return sum
}

// payoffRow returns the payoffs of item a of agent i with every item at the other end of edge e, 0 for illegal ones. The next
// call overwrites the slice.
func (v *view[T]) payoffRow(i int, e int32, a int) []float64 {
	dst, j := v.payoffs, int(v.p.Graph.To[e])
	clear(dst)
	if f := v.p.Payoffs; f != nil {
		rank := len(f.D)
		for r, d := range f.D {
			c := float64(v.p.Graph.Gate[e]) * float64(d) * float64(f.Q[(i*f.Items+a)*rank+r])
			if c == 0 {
				continue
			}
			for b := range dst {
				dst[b] += c * float64(f.Q[(j*f.Items+b)*rank+r])
			}
		}
	}
	for b, u := range v.row(v.w, j)[1:] {
		switch {
		case math.IsInf(u, -1):
			dst[b] = 0
		case v.p.Pair != nil && (v.same == nil || a == b):
			dst[b] += float64(v.p.Pair.Payoff(i, a, j, b))
		}
	}
	return dst
}

// addPayoffs adds the payoffs of a committed slot of agent i along edge e to bids [n*slots].
func (v *view[T]) addPayoffs(bids []float64, i int, e, slot int32) {
	if slot == 0 {
		return
	}
	to := v.row(bids, int(v.p.Graph.To[e]))[1:]
	for b, f := range v.payoffRow(i, e, int(slot)-1) {
		to[b] += f
	}
}

// message fills dst [slots] with the most that agent i can gain for each slot at the other end of edge e, if its own slots have
// the values x: dst[s'] = max_s x[s] + f(s,s'). x[0] must be finite. For illegal slots dst is finite and has no meaning.
func (v *view[T]) message(dst, x []float64, i int, e int32) {
	if v.same != nil {
		v.messageSame(dst, x, i, int(v.p.Graph.To[e]))
		return
	}
	idle, item := x[0], math.Inf(-1)
	for s := range dst {
		dst[s] = idle
	}
	for s := 1; s < len(x); s++ {
		if math.IsInf(x[s], -1) {
			continue
		}
		item = max(item, x[s])
		for b, f := range v.payoffRow(i, e, s-1) {
			if y := x[s] + f; y > dst[b+1] { // faster than max, which checks for NaN
				dst[b+1] = y
			}
		}
	}
	dst[0] = max(idle, item)
}

// messageSame is message for payoffs between equal items only: the best slot determines all elements except its own.
func (v *view[T]) messageSame(dst, x []float64, i, j int) {
	at, second := 0, math.Inf(-1)
	for s := 1; s < len(x); s++ {
		if x[s] > x[at] {
			at, second = s, x[at]
		} else {
			second = max(second, x[s])
		}
	}
	for s := range dst {
		dst[s] = x[at]
	}
	if at > 0 {
		dst[at] = second
	}
	w := v.row(v.w, j)
	for s := 1; s < len(x); s++ {
		if !math.IsInf(x[s], -1) && !math.IsInf(w[s], -1) {
			dst[s] = max(dst[s], x[s]+float64(v.same(i, j, s-1)))
		}
	}
}

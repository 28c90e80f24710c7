package export

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/coordgraph"
	"github.com/clustergym/clustergym/internal/onnx"
)

// Payoffs returns the payoffs, [candidates, 1]. Only the members of coalitions matter: act contains their row numbers, q
// [members, Rank] their projections and w [candidates, members] their shares.
func (a *actor) Payoffs(servers string, projection *agents.Linear, weight string) string {
	act := a.where(a.Node("ReduceL1", []string{a.weights, a.whole(0)}, onnx.IntAttr("keepdims", 0)))
	q := a.dense(a.op("Gather", servers, act), projection, 1)
	w := a.Node("Gather", []string{a.weights, act}, axis(1))
	first := a.op("MatMul", w, q)
	second := first
	switch {
	case a.shape.Graph == agents.GraphFull:
		all := a.op("ReduceSum", q, a.whole(0))
		second = a.op("Mul", a.op("ReduceSum", w, a.whole(1)), all)
	case a.shape.Kappa == 0:
	case a.shape.Graph == agents.GraphRandom:
		near := a.top(a.hash(act, act), coordgraph.Exact, act)
		column, rivals := a.op("Unsqueeze", act, a.whole(1)), a.op("Gather", act, near)
		second = a.sums(q, w, near, a.hash(column, rivals))
	default:
		near := a.candidates(q, act)
		second = a.sums(q, w, near, a.op("MatMul", q, a.turned(a.op("Gather", q, near))))
	}
	return a.op("MatMul", a.op("Mul", first, second), a.op("Unsqueeze", a.param(weight), a.whole(1)))
}

// sums returns, for each candidate, the weighted sum over its members of their projections and their neighbours', [candidates,
// Rank]. Each member selects the Kappa possible partners with the highest score, the earlier on a tie, and two are linked if
// either selects the other. near contains the partners' indices among the members; scores is [members, partners].
func (a *actor) sums(q, w, near, scores string) string {
	places := a.op("Range", a.scalar(0), a.op("Squeeze", a.size(q)), a.scalar(1))
	self := a.op("Equal", a.op("Unsqueeze", places, a.whole(1)), near)
	scores = a.op("Where", self, a.number(math.Inf(-1)), scores)
	best := a.top(scores, a.shape.Kappa, near)
	nothing := a.Node("ConstantOfShape", []string{a.op("Shape", scores)}, onnx.ScalarAttr("value", 0))
	selected := a.Node("ScatterElements", []string{nothing, best, a.ones(best)}, axis(1))
	// With few partners a member may have selected itself, for lack of others.
	selected = a.op("Where", self, a.number(0), selected)

	// to: the partners that a member selects. from: the members that select a partner. both: pairs that select each other, which
	// must count once.
	candidates := a.op("Gather", q, near)
	to := a.op("MatMul", selected, candidates)
	from := a.op("MatMul", a.turned(selected), q)
	among := a.op("Gather", selected, near)
	both := a.op("MatMul", a.op("Mul", among, a.turned(among)), candidates)
	return a.op("Add", a.op("MatMul", w, a.op("Add", q, to)),
		a.op("MatMul", a.Node("Gather", []string{w, near}, axis(1)), a.op("Sub", from, both)))
}

// candidates returns, in ascending order, the indices of the members that others may select: see coordgraph.SelectNear.
func (a *actor) candidates(q, act string) string {
	axes := a.turned(q)
	high, low := a.top(axes, a.shape.Kappa+1, act), a.bottom(axes, a.shape.Kappa+1, act)
	ends := a.op("Reshape", a.concat(0, high, low), a.whole(-1))
	count := a.size(act)
	few := a.float(a.op("LessOrEqual", count, a.whole(coordgraph.Exact)))
	marks := a.op("Expand", few, count)
	return a.where(a.Node("ScatterElements", []string{marks, ends, a.ones(ends)}, axis(0)))
}

// top returns the indices of the highest values along the last axis: as many as the parameter most, or all if there are fewer.
// The last axis has one value for each of the given rows. bottom returns the indices of the lowest values. On a tie, ONNX prefers
// the lower index.
func (a *actor) top(x string, most int, rows string) string { return a.extreme(x, most, rows, 1) }

func (a *actor) bottom(x string, most int, rows string) string { return a.extreme(x, most, rows, 0) }

func (a *actor) extreme(x string, most int, rows string, largest int) string {
	k := a.op("Min", a.size(rows), a.whole(most))
	return a.NodeOf("TopK", 2, []string{x, k}, axis(-1), onnx.IntAttr("largest", largest))[1]
}

// where returns the indices of the values other than 0, in ascending order.
func (a *actor) where(x string) string {
	return a.op("Squeeze", a.op("NonZero", x), a.whole(0))
}

func (a *actor) turned(x string) string { return a.op("Transpose", x) }

func (a *actor) ones(like string) string {
	return a.Node("ConstantOfShape", []string{a.op("Shape", like)}, onnx.ScalarAttr("value", 1))
}

// hash returns the score that coordgraph.SelectRandom gives to two servers, from their numbers. Products of int64 overflow to
// their lowest bits.
func (a *actor) hash(i, j string) string {
	shift := func(x string, by int) string {
		bits := a.cast(a.whole(by), onnx.Uint64)
		return a.cast(a.Node("BitShift", []string{a.cast(x, onnx.Uint64), bits}, onnx.TextAttr("direction", "RIGHT")), onnx.Int64)
	}
	mix := func(x string, by int, times uint64) string {
		x = a.op("BitwiseXor", x, shift(x, by))
		return a.op("Mul", x, a.bits(times))
	}
	low, high := a.op("Min", i, j), a.op("Max", i, j)
	x := a.op("Add", a.op("Mul", low, a.bits(1<<32)), high)
	x = a.op("Add", x, a.bits(0x9e3779b97f4a7c15))
	x = mix(mix(x, 30, 0xbf58476d1ce4e5b9), 27, 0x94d049bb133111eb)
	return a.float(shift(a.op("BitwiseXor", x, shift(x, 31)), 40))
}

// bits returns a constant of 64 bits, int64 [1]; scalar returns one without dimensions.
func (a *actor) bits(x uint64) string {
	return a.constant(fmt.Sprintf("bits %x", x), []int64{int64(x)}, 1)
}

func (a *actor) scalar(x int64) string { return a.constant(fmt.Sprintf("int %d", x), []int64{x}) }

package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/must"
)

// costly are inputs of operators that cost more than their elements suggest. All others are tried with costlyUsual.
func costly() map[string][]*Tensor {
	n := 1 << 14
	long := some(128, 128)
	whole, truth := &Tensor{Type: Int64, Shape: []int{128, 128}, Ints: make([]int64, n)}, &Tensor{Type: Bool, Shape: []int{128, 128}, Ints: make([]int64, n)}
	for i := range n {
		whole.Ints[i], truth.Ints[i] = int64(i*7919%128), int64(i*7919%2)
	}
	column := long.view([]int{n, 1})
	return map[string][]*Tensor{
		"And": {truth, truth}, "Or": {truth, truth}, "Not": {truth}, "Where": {truth, long, long},
		"Where column": {truth.view(column.Shape), column, column},
		"Gather":       {long, whole}, "Gather column": {column, whole.view([]int{n})}, "GatherElements": {long, whole},
		"LayerNormalization": {long, some(128)}, "LayerNormalization column": {column, some(1)},
		"Expand": {some(128, 1), ints64(128, 128)}, "Expand column": {some(1, 1), ints64(n, 1)}, "Tile": {some(128, 1), ints64(1, 128)},
		"Slice": {long, ints64(0), ints64(128)}, "Clip": {long, some(), some()}, "Einsum": {some(64, 64), some(64, 64)},
		"MatMul": {long, long}, "MatMul vector": {long, some(128)}, "MatMul column": {column, some(1, 1)},
		"MatMul batch": {long.view([]int{n, 1, 1}), long.view([]int{n, 1, 1})}, "Gemm": {long, long},
		"Concat": {column, column}, "Softmax column": {column}, "Transpose column": {column}, "ReduceSum column": {column}, "Add column": {column, column},
		"ConstantOfShape": {ints64(128, 128)}, "Reshape": {long, ints64(-1)}, "Range": {some(), some(), some()}, "Mod": {whole, ints64(7)},
		"BatchNormalization": {long, some(128), some(128), some(128), some(128)},
	}
}

// some returns a tensor of a shape, with numbers from 0.1 to 3.4.
func some(shape ...int) *Tensor {
	n, _ := count(shape)
	t := &Tensor{Type: Float, Shape: shape, Floats: make([]float32, n)}
	for i := range t.Floats {
		t.Floats[i] = float32(i%1000)/300 + 0.1
	}
	return t
}

// TestWorkIsCharged measures operators: none takes many times the CPU time that it is charged for. On the machines that the costs come
// from none takes as long as that; the factor leaves room for slower ones.
func TestWorkIsCharged(t *testing.T) {
	const slower = 6
	inputs := costly()
	for name, op := range operators {
		in := []*Tensor{some(128, 128), some(128, 128), some(128, 128)}
		needed, _, _ := strings.Cut(strings.TrimSuffix(op.in, "*"), "|")
		if _, ok := inputs[name]; !ok {
			inputs[name] = in[:min(len(needed), len(in))]
		}
	}
	for name, in := range inputs {
		operator, _, _ := strings.Cut(name, " ")
		n := node{operator: operator, attributes: map[string]attribute{"equation": {s: "ij,jk->ik"}, "to": {i: int64(Bool)}, "value_float": {f: 1}}}
		best, charged := time.Hour, 0
		for range 3 {
			m := machine{ctx: t.Context(), limits: limits{bytes: 1 << 40, work: 1 << 60}}
			c := call{machine: &m, node: &n, price: operators[operator].work, in: in}
			began := cmdline.CPUTime()
			if err := errors.Join(c.read(), operators[operator].compute(&c)); err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			best, charged = min(best, cmdline.CPUTime()-began), m.work
		}
		if allowed := time.Duration(slower*charged) + time.Millisecond; best > allowed {
			t.Errorf("%s takes %v and is charged %v", name, best, time.Duration(charged))
		}
	}
}

// TestSmallModelsOfMuchWorkAreRefused checks that a chain of nodes over large tensors ends at a limit, whatever the operator is.
func TestSmallModelsOfMuchWorkAreRefused(t *testing.T) {
	for _, operator := range []string{"Relu", "Mish", "ReduceSum"} {
		graph := []any{5, stored("n", 7, integers(1<<10, 1<<10), 2), 1, message(1, "n", 2, "v0", 4, "ConstantOfShape")}
		for i := range 240 {
			from := fmt.Sprintf("v%d", i)
			if operator == "ReduceSum" { // of the large tensor again and again
				from = "v0"
			}
			graph = append(graph, 1, message(1, from, 2, fmt.Sprintf("v%d", i+1), 4, operator))
		}
		m := must.Get(Parse(modelOf(append(graph, 12, value("v240"))...)))(t)
		if _, err := m.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "computes too much") {
			t.Errorf("240 times %s: error %v", operator, err)
		}
	}
	for size, want := range map[int64]string{1 << 26: "more than 128 MiB", 1 << 23: "computes too much"} {
		m, err := Parse(modelOf(5, stored("n", 7, integers(size), 1), 12, value("y"), 1, message(1, "n", 2, "a", 4, "ConstantOfShape"),
			1, message(1, "a", 2, "b", 4, "Mish"), 1, message(1, "a", 1, "b", 2, "y", 4, "Add")))
		must.Do(t, err)
		if _, err := m.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Mish of %d elements: error %v, want %q", size, err, want)
		}
	}
}

// TestRunsEndWithTheirContext checks that a run stops before the next node once its context has ended.
func TestRunsEndWithTheirContext(t *testing.T) {
	m := must.Get(Parse(modelOf(11, value("x", 2), 12, value("y", 2), 1, message(1, "x", 2, "y", 4, "Relu"))))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Run(ctx, map[string]*Tensor{"x": some(2)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

package onnx_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/onnx"
	"github.com/clustergym/clustergym/internal/onnx/onnxtest"
)

// scaled returns a model that computes x [n,2] times a matrix, plus 1.
func scaled() []byte {
	var g onnx.Graph
	n := onnx.Dim{Name: "n"}
	x := g.Input("x", onnx.Float, n, onnx.Dim{Size: 2})
	y := g.Node("MatMul", []string{x, g.Floats("w", []float32{1, 2, 3, 4, 5, 6}, 2, 3)})
	y = g.Node("Add", []string{y, g.Floats("one", []float32{1})})
	g.Output(g.Rename(y, "y"), onnx.Float, n, onnx.Dim{Size: 3})
	return g.Model("scaled", "a test", "clustergym", []onnx.Meta{{"b", "2"}, {"a", ""}})
}

func TestModelRuns(t *testing.T) {
	model := scaled()
	if !bytes.Equal(model, scaled()) {
		t.Error("the same graph gives other bytes")
	}
	if got := fmt.Sprint(onnxtest.Metadata(t, model)); got != "map[a: b:2]" {
		t.Errorf("metadata is %s", got)
	}
	session := onnxtest.Load(t, model)
	for _, c := range []struct {
		x, want []float32
	}{
		{[]float32{1, 0}, []float32{2, 3, 4}}, {[]float32{0, 1, 1, -1}, []float32{5, 6, 7, -2, -2, -2}},
	} {
		got, dims := session.Run(map[string]onnxtest.Tensor{"x": onnxtest.Floats(c.x, len(c.x)/2, 2)}, "y")
		if !slices.Equal(dims, []int{len(c.x) / 2, 3}) || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v gives %v %v, want %v", c.x, dims, got, c.want)
		}
	}
}

// TestMistakesPanic checks that building a graph panics on errors that would make the model invalid.
func TestMistakesPanic(t *testing.T) {
	for want, mistake := range map[string]func(*onnx.Graph){
		"no value named y":   func(g *onnx.Graph) { g.Node("Relu", []string{"y"}) },
		"no value named z":   func(g *onnx.Graph) { g.Output("z", onnx.Float) },
		"two values named x": func(g *onnx.Graph) { g.Floats("x", []float32{1}, 1) },
		"w has 3 numbers":    func(g *onnx.Graph) { g.Floats("w", []float32{1, 2, 3}, 2, 2) },
		"k has 2 numbers":    func(g *onnx.Graph) { g.Ints("k", []int64{1, 2}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) || !strings.HasPrefix(got, "onnx: ") {
					t.Errorf("panics with %q, want %q", got, want)
				}
			}()
			var g onnx.Graph
			g.Input("x", onnx.Float)
			mistake(&g)
		}()
	}
}

package runtimes

import (
	"fmt"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/onnx"
	"github.com/clustergym/clustergym/train/ensemble"
)

// model returns a network as an ONNX model. Its input "inputs" [bins,belief.Inputs] has a row of inputs for each bin, as
// belief.Learner computes them, NaN for what is not known. Its output "corrections" [bins,members] is what each member adds to
// the logarithm of the odds that a job which reaches the bin ends in it.
func model(n *belief.Network) []byte {
	var g ensemble.Model
	bins := onnx.Dim{Name: "bins"}
	x := g.Scaled("inputs", g.Input("inputs", onnx.Float, bins, onnx.Dim{Size: belief.Inputs}), n.Inputs)
	var all []string
	for i := range n.Members {
		m, y := &n.Members[i], x
		for layer := range m.W {
			y = g.Dense(fmt.Sprintf("%d.%d", i, layer), y, m.W[layer], m.B[layer], layer < len(m.W)-1)
		}
		all = append(all, y)
	}
	g.Output(g.Rename(g.Join(1, all), "corrections"), onnx.Float, bins, onnx.Dim{Size: len(n.Members)})
	return g.Model("runtimes", "What each member adds to the logarithm of the odds of each bin.", "clustergym", nil)
}

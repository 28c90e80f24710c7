package speeds

import (
	"fmt"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/onnx"
	"github.com/clustergym/clustergym/train/ensemble"
)

// model returns a network as an ONNX model. Its inputs "context" [1,belief.SpeedContext] and "points" [points,belief.SpeedPoint]
// are those of belief.SpeedInputs, NaN for what is not known; there may be no points. Its output "answers"
// [members,belief.SpeedAnswer] is the answer of each member.
func model(n *belief.SpeedNetwork) []byte {
	var g ensemble.Model
	context := g.Input("context", onnx.Float, onnx.Dim{Size: 1}, onnx.Dim{Size: belief.SpeedContext})
	points := g.Input("points", onnx.Float, onnx.Dim{Name: "points"}, onnx.Dim{Size: belief.SpeedPoint})
	context = g.Scaled("context", context, n.Context)
	points = g.Scaled("points", points, n.Point)
	var all []string
	for i := range n.Members {
		m := &n.Members[i]
		dense := func(x string, layer int) string {
			return g.Dense(fmt.Sprintf("%d.%d", i, layer), x, m.W[layer], m.B[layer], layer < belief.SpeedLayers-1)
		}
		sum := g.Sum(fmt.Sprintf("%d.sum", i), dense(dense(points, 0), 1), m.Hidden())
		all = append(all, dense(dense(dense(g.Join(1, []string{context, sum}), 2), 3), 4))
	}
	g.Output(g.Rename(g.Join(0, all), "answers"), onnx.Float, onnx.Dim{Size: len(n.Members)}, onnx.Dim{Size: belief.SpeedAnswer})
	return g.Model("speeds", "By how many standard deviations each coefficient is off, then the logarithms of the factors of these.",
		"clustergym", nil)
}

package speeds

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/onnx/onnxtest"
)

// TestONNXEqualsForward checks that ONNX Runtime computes the answers of the forward pass, also without points and where inputs are
// not known.
func TestONNXEqualsForward(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	scaling := func(n int) belief.Scaling {
		s := belief.Scaling{Mean: numbers(n), Scale: numbers(n)}
		for i, v := range s.Scale {
			s.Scale[i] = v*v + 0.1
		}
		return s
	}
	net := belief.SpeedNetwork{Context: scaling(belief.SpeedContext), Point: scaling(belief.SpeedPoint)}
	for range 2 {
		m := belief.NewSpeedMember(8)
		for _, part := range m.Parts() {
			copy(part, numbers(len(part)))
		}
		net.Members = append(net.Members, m)
	}
	session := onnxtest.Load(t, model(&net))
	for _, n := range []int{0, 1, belief.SpeedPoints} {
		context, points := numbers(belief.SpeedContext), numbers(n*belief.SpeedPoint)
		context[2] = float32(math.NaN())
		got, dims := session.Run(map[string]onnxtest.Tensor{
			"context": onnxtest.Floats(context, 1, belief.SpeedContext), "points": onnxtest.Floats(points, n, belief.SpeedPoint),
		}, "answers")
		if len(dims) != 2 || dims[0] != len(net.Members) || dims[1] != belief.SpeedAnswer {
			t.Fatalf("answers are %v, want [%d %d]", dims, len(net.Members), belief.SpeedAnswer)
		}
		net.Context.Apply(context)
		net.Point.Apply(points)
		var s belief.Scratch
		z := make([]float32, belief.SpeedAnswer)
		for k := range net.Members {
			net.Members[k].Forward(&s, z, context, points)
			for i, want := range z {
				if v := got[k*belief.SpeedAnswer+i]; math.Abs(v-float64(want)) > 1e-4*(1+math.Abs(float64(want))) {
					t.Errorf("member %d, answer %d with %d points: %v, want %v", k, i, n, v, want)
				}
			}
		}
	}
}

package runtimes

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/internal/onnx/onnxtest"
)

// TestONNXEqualsForward checks that ONNX Runtime computes the corrections of the forward pass, also where inputs are not known.
func TestONNXEqualsForward(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	net := belief.Network{Inputs: belief.Scaling{Mean: numbers(belief.Inputs), Scale: numbers(belief.Inputs)}}
	for i, v := range net.Inputs.Scale {
		net.Inputs.Scale[i] = v*v + 0.1
	}
	for range 2 {
		m := belief.NewMember(8)
		for _, part := range m.Parts() {
			copy(part, numbers(len(part)))
		}
		net.Members = append(net.Members, m)
	}
	session := onnxtest.Load(t, model(&net))
	for _, bins := range []int{1, belief.Hazards} {
		x := numbers(bins * belief.Inputs)
		for i := range x {
			if i%7 == 3 {
				x[i] = float32(math.NaN())
			}
		}
		got, dims := session.Run(map[string]onnxtest.Tensor{"inputs": onnxtest.Floats(x, bins, belief.Inputs)}, "corrections")
		if len(dims) != 2 || dims[0] != bins || dims[1] != len(net.Members) {
			t.Fatalf("corrections are %v, want [%d %d]", dims, bins, len(net.Members))
		}
		net.Inputs.Apply(x)
		var s belief.Scratch
		z := make([]float32, bins)
		for k := range net.Members {
			net.Members[k].Forward(&s, z, x)
			for i, want := range z {
				if v := got[i*len(net.Members)+k]; math.Abs(v-float64(want)) > 1e-4*(1+math.Abs(float64(want))) {
					t.Errorf("member %d, bin %d of %d: %v, want %v", k, i, bins, v, want)
				}
			}
		}
	}
}

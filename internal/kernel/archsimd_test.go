//go:build goexperiment.simd && amd64

package kernel_test

import (
	"math"
	"math/rand/v2"
	"simd/archsimd"
	"testing"

	"github.com/clustergym/clustergym/internal/plain"
)

func init() { products["archsimd"] = multiplyArchsimd }

// multiplyArchsimd is the inner loop of Gemm in package archsimd, with fused products and sums, for m a multiple of 4 and n a
// multiple of 16. It shows what docs/adr/0012-kernels-in-assembly.md decides upon.
func multiplyArchsimd(c, a, b []float32, m, n, k int) {
	for j := 0; j < n; j += 16 {
		for i := 0; i < m; i += 4 {
			var p0, p1, q0, q1, r0, r1, t0, t1 archsimd.Float32x8
			x0, x1, x2, x3 := a[i*k:][:k], a[(i+1)*k:][:k], a[(i+2)*k:][:k], a[(i+3)*k:][:k]
			for l := range k {
				y := b[l*n+j:]
				y0, y1 := archsimd.LoadFloat32x8Slice(y), archsimd.LoadFloat32x8Slice(y[8:])
				x := archsimd.BroadcastFloat32x8(x0[l])
				p0, p1 = x.MulAdd(y0, p0), x.MulAdd(y1, p1)
				x = archsimd.BroadcastFloat32x8(x1[l])
				q0, q1 = x.MulAdd(y0, q0), x.MulAdd(y1, q1)
				x = archsimd.BroadcastFloat32x8(x2[l])
				r0, r1 = x.MulAdd(y0, r0), x.MulAdd(y1, r1)
				x = archsimd.BroadcastFloat32x8(x3[l])
				t0, t1 = x.MulAdd(y0, t0), x.MulAdd(y1, t1)
			}
			for row, v := range [4][2]archsimd.Float32x8{{p0, p1}, {q0, q1}, {r0, r1}, {t0, t1}} {
				v[0].StoreSlice(c[(i+row)*n+j:])
				v[1].StoreSlice(c[(i+row)*n+j+8:])
			}
		}
	}
}

func TestArchsimdMultiplies(t *testing.T) {
	const m, n, k = 8, 32, 40
	rng := rand.New(rand.NewPCG(1, 2))
	x := plain.Singles([][]float64{plain.Normal(rng, m*k), plain.Normal(rng, k*n)})
	got, want := make([]float32, m*n), make([]float32, m*n)
	products["archsimd"](got, x[0], x[1], m, n, k)
	products["gemm"](want, x[0], x[1], m, n, k)
	for i, w := range want {
		if math.Abs(float64(got[i]-w)) > 1e-4 {
			t.Fatalf("element %d is %g, want %g", i, got[i], w)
		}
	}
}

package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/plain"
)

// products are the ways to multiply that BenchmarkProducts compares: c [m,n] = a [m,k] * b [k,n]. With GOEXPERIMENT=simd,
// archsimd_test.go adds one.
var products = map[string]func(c, a, b []float32, m, n, k int){
	"gemm": func(c, a, b []float32, m, n, k int) {
		kernel.Gemm(kernel.Mat(c, m, n), 1, kernel.Mat(a, m, k), kernel.Mat(b, k, n), 0)
	},
}

func BenchmarkProducts(b *testing.B) {
	for _, s := range [][3]int{{96, 64, 64}, {960, 64, 64}, {96, 256, 256}, {960, 256, 256}} {
		m, n, k := s[0], s[1], s[2]
		rng := rand.New(rand.NewPCG(1, 2))
		x := plain.Singles([][]float64{plain.Normal(rng, m*k), plain.Normal(rng, k*n), plain.Normal(rng, m*n)})
		for name, multiply := range products {
			b.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, name), func(b *testing.B) {
				for b.Loop() {
					multiply(x[2], x[0], x[1], m, n, k)
				}
				b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

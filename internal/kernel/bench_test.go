package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/kernel"
	"github.com/clustergym/clustergym/internal/plain"
)

// BenchmarkProducts multiplies c [m,n] = a [m,k] * b [k,n].
func BenchmarkProducts(b *testing.B) {
	for _, s := range [][3]int{{96, 64, 64}, {960, 64, 64}, {96, 256, 256}, {960, 256, 256}} {
		m, n, k := s[0], s[1], s[2]
		rng := rand.New(rand.NewPCG(1, 2))
		x := plain.Singles([][]float64{plain.Normal(rng, m*k), plain.Normal(rng, k*n), plain.Normal(rng, m*n)})
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				kernel.Gemm(kernel.Mat(x[2], m, n), 1, kernel.Mat(x[0], m, k), kernel.Mat(x[1], k, n), 0)
			}
			b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

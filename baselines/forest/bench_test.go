package forest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// friedman draws rows of 8 features of Friedman's first function (1991), which does not depend on 3 of them, with noise of
// deviation 1.
func friedman(r *rand.Rand, n int) (rows []float32, targets []float64) {
	for range n {
		var x [8]float64
		for j := range x {
			x[j] = float64(r.Float32())
			rows = append(rows, float32(x[j]))
		}
		y := 10*math.Sin(math.Pi*x[0]*x[1]) + 20*(x[2]-.5)*(x[2]-.5) + 10*x[3] + 5*x[4]
		targets = append(targets, y+r.NormFloat64())
	}
	return rows, targets
}

// BenchmarkTrain trains on 100,000 rows of 8 features. It should take a few seconds per core. core-s is wall time times workers,
// which is meaningful only on an idle machine.
func BenchmarkTrain(b *testing.B) {
	rows, targets := friedman(rng.Stream(1, "rows"), 100_000)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.ReportAllocs()
			c := Default()
			c.Workers = workers
			for b.Loop() {
				if _, err := Train(rows, targets, c); err != nil {
					b.Fatal(err)
				}
			}
			seconds := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(seconds*float64(workers), "core-s/op")
			b.ReportMetric(float64(c.Trees*len(targets))/seconds/float64(workers)/1e6, "Mrow-trees/core-s")
		})
	}
}

func BenchmarkPredict(b *testing.B) {
	rows, targets := friedman(rng.Stream(1, "rows"), 20_000)
	f := must.Get(Train(rows, targets, Default()))(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := i % len(targets) * 8
		f.Predict(rows[k : k+8])
	}
}

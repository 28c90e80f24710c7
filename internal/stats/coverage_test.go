package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/internal/stats"
	"gonum.org/v1/gonum/stat/distuv"
)

// truth is a distribution of differences with mean zero, and the required coverage of PairedCI for it.
type truth struct {
	name  string
	draw  func(r *rand.Rand) float64
	least map[int]float64 // required share of 95 % intervals that contain the mean, by number of differences; none if absent
}

// broadly is the documented coverage of the interval. With few differences, skewed distributions have less, as the documentation
// of PairedCI says.
var broadly = map[int]float64{10: 0.945, 30: 0.945, 100: 0.945}

func truths() []truth {
	return []truth{
		{"normal", (*rand.Rand).NormFloat64, broadly},
		{"two lognormals apart", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(r.NormFloat64()) },
			broadly},
		{"Student's t, 3 degrees", func(r *rand.Rand) float64 {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
		}, broadly},
		{"one in ten 10x as wide", func(r *rand.Rand) float64 {
			if r.IntN(10) == 0 {
				return 10 * r.NormFloat64()
			}
			return r.NormFloat64()
		}, broadly},
		{"exponential", func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 },
			map[int]float64{10: 0.935, 30: 0.945, 100: 0.945}},
		{"lognormal", func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) - math.Exp(0.5) },
			map[int]float64{10: 0.90, 30: 0.93, 100: 0.945}},
		{"3 in a quarter, else -1", func(r *rand.Rand) float64 {
			if r.IntN(4) == 0 {
				return 3
			}
			return -1
		}, map[int]float64{10: 0.93, 30: 0.945, 100: 0.945}},
	}
}

// tally counts intervals by their position relative to the true mean, which is zero.
type tally struct {
	n, missed int
	widths    []float64
}

func (t *tally) add(lo, hi float64) {
	t.n++
	if !(lo <= 1e-12 && hi >= -1e-12) { // rounding may move a bound slightly across zero
		t.missed++
	}
	t.widths = append(t.widths, hi-lo)
}

func (t *tally) coverage() float64 { return 1 - float64(t.missed)/float64(t.n) }

// TestPairedCICovers checks that with 10, 30 and 100 differences the 95 % intervals contain the mean as often as documented, and
// are not much wider than needed.
func TestPairedCICovers(t *testing.T) {
	const trials = 1000
	for _, n := range []int{10, 30, 100} {
		t95 := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
		for _, truth := range truths() {
			least, asked := truth.least[n]
			if !asked {
				continue
			}
			r := rng.Stream(9, "coverage", truth.name, fmt.Sprint(n))
			var got, student tally
			xs := make([]float64, n)
			for range trials {
				for i := range xs {
					xs[i] = truth.draw(r)
				}
				got.add(stats.PairedCI(xs, 0.95, 200, r))
				mean, half := stats.Mean(xs), t95*stats.StdDev(xs)/math.Sqrt(float64(n))
				student.add(mean-half, mean+half)
			}
			if low := least - 3*math.Sqrt(least*(1-least)/trials); got.coverage() < low {
				t.Errorf("%d differences, %s: %.1f %% of the intervals hold the mean, want %.1f or more",
					n, truth.name, 100*got.coverage(), 100*low)
			}
			if ratio := stats.Mean(got.widths) / stats.Mean(student.widths); ratio > 2 {
				t.Errorf("%d differences, %s: %.2f times as wide as Student's t", n, truth.name, ratio)
			}
		}
	}
}

// TestNoiseAloneIsNotADifference checks that two policies with equal means, whose job completion times in a window differ only by
// noise, are found to differ for at most about 5 % of seeds. The windows vary as in a trace, and the noise grows with the
// window's mean.
func TestNoiseAloneIsNotADifference(t *testing.T) {
	const seeds = 1000
	for _, n := range []int{10, 30, 100} {
		told := 0
		for seed := range uint64(seeds) {
			r := rng.Stream(seed, "noise")
			diffs := make([]float64, n)
			for w := range diffs {
				window := 3600 * math.Exp(r.NormFloat64())
				a, b := window*math.Exp(0.1*r.NormFloat64()), window*math.Exp(0.1*r.NormFloat64())
				diffs[w] = a - b
			}
			if lo, hi := stats.PairedCI(diffs, 0.95, 300, r); lo > 0 || hi < 0 {
				told++
			}
		}
		t.Logf("%d windows: %.1f %% of seeds tell equal policies apart", n, 100*float64(told)/seeds)
		if most := 0.05 + 3*math.Sqrt(0.05*0.95/seeds); float64(told)/seeds > most {
			t.Errorf("want at most %.1f %%", 100*most)
		}
	}
}

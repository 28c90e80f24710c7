package eval

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestShareWithin checks that shareWithin interpolates linearly between percentiles, and that percentiles equal to x count in
// full.
func TestShareWithin(t *testing.T) {
	tens := make([]float64, 101) // 0, 10, ... 1000
	for i := range tens {
		tens[i] = 10 * float64(i)
	}
	same := make([]float64, 101)
	for i := range same {
		same[i] = 7
	}
	for _, c := range []struct {
		name        string
		percentiles []float64
		x, want     float64
	}{
		{"before the first", tens, -1, 0}, {"at the first", tens, 0, 0}, {"half-way", tens, 5, .005}, {"at a percentile", tens, 500, .5},
		{"at the last", tens, 1000, 1}, {"beyond", tens, 1e9, 1}, {"all equal, below", same, 6.9, 0}, {"all equal, at", same, 7, 1},
		{"none finished", nil, 5, 0},
	} {
		if got := shareWithin(c.percentiles, c.x); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCDF checks that a distribution never falls, ends at the fraction of finished jobs, and combines the jobs of all results.
func TestCDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var results []Result
		jobs, finished := 0, 0
		for range rapid.IntRange(1, 4).Draw(t, "cases") {
			r := Result{Case: Case{Policy: "p"}}
			r.Jobs = rapid.IntRange(1, 50).Draw(t, "jobs")
			r.Finished = rapid.IntRange(0, r.Jobs).Draw(t, "finished")
			if r.Finished > 0 {
				at := 0.0
				for range 101 {
					at += rapid.SampledFrom([]float64{0, 0, .5, 3}).Draw(t, "step")
					r.JCTPercentiles = append(r.JCTPercentiles, at)
				}
			}
			jobs, finished = jobs+r.Jobs, finished+r.Finished
			results = append(results, r, Result{Case: Case{Policy: "other"}, Metrics: Metrics{Jobs: 5}})
		}
		xs := CDFTimes(results, 50)
		share := CDF(results, "p", xs)
		for i := 1; i < len(xs); i++ {
			if xs[i] <= xs[i-1] || share[i] < share[i-1] {
				t.Fatalf("at %v: %v after %v", xs[i], share[i], share[i-1])
			}
		}
		if want := float64(finished) / float64(jobs); math.Abs(share[len(share)-1]-want) > 1e-9 {
			t.Fatalf("ends at %v, want %v", share[len(share)-1], want)
		}
	})
}

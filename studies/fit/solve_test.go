package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/physics/profile"
)

// TestMinimiseFollowsAValley checks that on Rosenbrock's function, a sum of two squares, the search ends at (1, 1) from any
// starting point nearby.
func TestMinimiseFollowsAValley(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		theta := []float64{rapid.Float64Range(-3, 3).Draw(t, "x"), rapid.Float64Range(-3, 3).Draw(t, "y")}
		c := newCurve(2, 2, func(theta, into []float64) {
			into[0], into[1] = 10*(theta[1]-theta[0]*theta[0]), 1-theta[0]
		})
		loss := minimise(c, box{}, theta, fine)
		if math.Abs(theta[0]-1) > 1e-6 || math.Abs(theta[1]-1) > 1e-6 || loss > 1e-12 {
			t.Fatalf("ends at %v with loss %g, want (1, 1) with 0", theta, loss)
		}
	})
}

// TestMinimiseAgreesWithRegression checks that a straight line through noisy points agrees with the formula of linear
// regression.
func TestMinimiseAgreesWithRegression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var x, y []float64
	var sx, sy, sxx, sxy float64
	for i := range 50 {
		x, y = append(x, float64(i)), append(y, 3+0.5*float64(i)+random.NormFloat64())
		sx, sy, sxx, sxy = sx+x[i], sy+y[i], sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	slope := (50*sxy - sx*sy) / (50*sxx - sx*sx)
	base := (sy - slope*sx) / 50
	theta := []float64{0, 0}
	minimise(newCurve(2, 50, func(theta, into []float64) {
		for i := range into {
			into[i] = theta[0] + theta[1]*x[i] - y[i]
		}
	}), box{}, theta, fine)
	if math.Abs(theta[0]-base) > 1e-7 || math.Abs(theta[1]-slope) > 1e-7 {
		t.Errorf("line %v, want [%g %g]", theta, base, slope)
	}
}

// TestMinimiseStaysInTheBox checks that in a box the search ends where no parameter can go down the slope: the slope is 0
// inside, or points outward at a bound.
func TestMinimiseStaysInTheBox(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const n, points = 3, 6
		number := rapid.Float64Range(-2, 2)
		rows := rapid.SliceOfN(rapid.SliceOfN(number, n, n), points, points).Draw(t, "rows")
		want := rapid.SliceOfN(number, points, points).Draw(t, "wanted")
		for i := range n {
			rows[i][i] += 3 // gives every direction a curvature
		}
		c := newCurve(n, points, func(theta, into []float64) {
			for i, row := range rows {
				into[i] = dot(row, theta) - want[i]
			}
		})
		theta := []float64{0.5, 0.5, 0.5}
		minimise(c, box{low: []float64{0, 0, 0}, high: []float64{1, 1, 1}}, theta, fine)
		slope := make([]float64, n)
		c.normal(theta, make([]float64, n*n), slope)
		for i, x := range theta {
			if x < 0 || x > 1 || (x > 0 && slope[i] > 1e-5) || (x < 1 && slope[i] < -1e-5) {
				t.Fatalf("ends at %v with slopes %v", theta, slope)
			}
		}
	})
}

// TestInterferenceSlopes checks that the normal equations of interference agree with central differences of its loss.
func TestInterferenceSlopes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const jobs, rank, step = 3, 2, 1e-5
		f := &interference{jobs: jobs, rank: rank, after: []int{1}}
		for range rapid.IntRange(1, 9).Draw(t, "pairs") {
			f.pairs = append(f.pairs, pair{
				rapid.IntRange(0, jobs-1).Draw(t, "own"), rapid.IntRange(0, jobs-1).Draw(t, "partner"),
				rapid.Float64Range(0.1, 1).Draw(t, "speed"),
			})
		}
		n := f.size()
		theta := rapid.SliceOfN(rapid.Float64Range(0.1, 1.5), n, n).Draw(t, "theta")
		h, g := make([]float64, n*n), make([]float64, n)
		if got, want := f.normal(theta, h, g), f.loss(theta); got != want {
			t.Fatalf("normal gives loss %g, loss gives %g", got, want)
		}
		for i := range theta {
			was := theta[i]
			theta[i] = was + step
			high := f.loss(theta)
			theta[i] = was - step
			low := f.loss(theta)
			theta[i] = was
			if want := (high - low) / (2 * step); math.Abs(g[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("slope %d is %g, by differences %g", i, g[i], want)
			}
			for j := range i {
				if h[i*n+j]*h[i*n+j] > h[i*n+i]*h[j*n+j]*(1+1e-9) {
					t.Fatalf("curvature (%d, %d) %g exceeds that of its diagonal", i, j, h[i*n+j])
				}
			}
		}
	})
}

// TestFitStepsFindsThePlantedModel checks that step times that follow Pollux's model exactly are predicted exactly, whatever its
// coefficients.
func TestFitStepsFindsThePlantedModel(t *testing.T) {
	planted := profile.Scaling{
		ComputeBase: 0.05, ComputePerSample: 0.004, LocalBase: 0.09, LocalPerReplica: 0.01, RemoteBase: 0.3,
		RemotePerReplica: 0.007, Gamma: 2.5,
	}
	var steps []stepTime
	for _, nodes := range []int32{1, 2, 4} {
		for replicas := nodes; replicas <= 4*nodes; replicas++ {
			for _, batch := range []float64{16, 32, 64, 128} {
				steps = append(steps, stepTime{nodes, replicas, batch, planted.StepSeconds(nodes, replicas, batch)})
			}
		}
	}
	found := fitSteps(steps)
	for _, s := range steps {
		if got := found.StepSeconds(s.Nodes, s.Replicas, s.Batch); math.Abs(got/s.Seconds-1) > 1e-4 {
			t.Fatalf("%+v predicted as %g by %+v", s, got, found)
		}
	}
	if found.MinBatch != 16 || found.MaxBatch != 128 {
		t.Errorf("batches from %g to %g, want 16 to 128", found.MinBatch, found.MaxBatch)
	}
}

func TestQuantileInterpolates(t *testing.T) {
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.5, 2.5}, {0.9, 3.7}, {1, 4}} {
		if got := quantile([]float64{1, 2, 3, 4}, c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("quantile %g of 1..4 is %g, want %g", c.q, got, c.want)
		}
	}
}

// TestFoldsAreFair checks that both directions of two jobs are in one fold, and that folds differ in size by at most one.
func TestFoldsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := rapid.IntRange(1, 30).Draw(t, "jobs")
		fold := drawFolds(jobs, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		var size [folds]int
		for i := range jobs {
			for j := range i + 1 {
				if fold[i][j] != fold[j][i] {
					t.Fatalf("(%d, %d) in folds %d and %d", i, j, fold[i][j], fold[j][i])
				}
				size[fold[i][j]]++
			}
		}
		least, most := jobs*jobs, 0
		for _, n := range size {
			least, most = min(least, n), max(most, n)
		}
		if most-least > 1 {
			t.Fatalf("folds of %v pairs", size)
		}
	})
}

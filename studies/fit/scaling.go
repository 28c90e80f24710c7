package fit

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/rng"
)

// StepError is the relative error of step times: its median and 90th percentile.
type StepError struct {
	Steps    int
	P50, P90 float64
}

// StepErrors are the errors of steps on one server and on several.
type StepErrors struct{ One, Several StepError }

// ScalingFit is the fit of one application of Pollux.
type ScalingFit struct {
	Application string
	Scaling     profile.Scaling // fitted to all steps
	Fitted      StepErrors      // error of Scaling on the same steps
	HeldOut     StepErrors      // errors of fits to four fifths of the placements, on the remaining fifth
}

func fitApplication(application string, steps []stepTime) ScalingFit {
	all := fitSteps(steps)
	f := ScalingFit{Application: application, Scaling: all}
	predicted := make([]float64, len(steps))
	for i, s := range steps {
		predicted[i] = all.StepSeconds(s.Nodes, s.Replicas, s.Batch)
	}
	f.Fitted = judgeSteps(steps, predicted)
	fold := stepFolds(steps, rng.Stream(seed, "physics", "scaling", application))
	for k := range folds {
		var train []stepTime
		for i, s := range steps {
			if fold[i] != k {
				train = append(train, s)
			}
		}
		scaling := fitSteps(train)
		for i, s := range steps {
			if fold[i] == k {
				predicted[i] = scaling.StepSeconds(s.Nodes, s.Replicas, s.Batch)
			}
		}
	}
	f.HeldOut = judgeSteps(steps, predicted)
	return f
}

// stepFolds holds out whole shapes of gangs (servers and replicas), so that a fit never predicts a shape that it has seen with
// another batch size. A single replica is the only shape without a network, so its steps are distributed over all folds.
func stepFolds(steps []stepTime, random *rand.Rand) []int {
	type shape struct{ nodes, replicas int32 }
	var shapes []shape
	for _, s := range steps {
		if at := (shape{s.Nodes, s.Replicas}); !slices.Contains(shapes, at) {
			shapes = append(shapes, at)
		}
	}
	order := random.Perm(len(shapes))
	fold := make([]int, len(steps))
	for i, s := range steps {
		fold[i] = order[slices.Index(shapes, shape{s.Nodes, s.Replicas})] % folds
		if s.Replicas == 1 {
			fold[i] = i % folds
		}
	}
	return fold
}

// scalingBox bounds the parameters of scalingAt. A further replica adds at most half of the network's time of the first two, so
// more replicas on the same number of servers never process less, even where the model is extrapolated. The network of two
// replicas on one server takes no longer than that on two.
var scalingBox = box{
	low:  []float64{-12, -12, 1e-3, 0, -12, 0, 1},
	high: []float64{12, 12, 1, 0.5, 12, 0.5, 10},
}

// scalingAt maps parameters to a model. Its times are multiples of unit, its compute time per sample a multiple of unit/most.
func scalingAt(theta []float64, unit, most float64) profile.Scaling {
	local, remote := unit*theta[2]*math.Exp(theta[4]), unit*math.Exp(theta[4])
	return profile.Scaling{
		ComputeBase: unit * math.Exp(theta[0]), ComputePerSample: unit / most * math.Exp(theta[1]),
		LocalBase: local, LocalPerReplica: local * theta[3], RemoteBase: remote, RemotePerReplica: remote * theta[5],
		Gamma: theta[6], MaxBatch: most,
	}
}

// fitSteps fits the logarithm of the step time, so that short steps count as much as long ones. Because the loss may have
// several minima, it starts from several points: a fast or a slow network within a server, and less or more overlap.
func fitSteps(steps []stepTime) profile.Scaling {
	least, most, unit := math.Inf(1), 0.0, math.Inf(1)
	for _, s := range steps {
		least, most, unit = min(least, s.Batch), max(most, s.Batch), min(unit, s.Seconds)
	}
	c := newCurve(len(scalingBox.low), len(steps), func(theta, into []float64) {
		scaling := scalingAt(theta, unit, most)
		for i, s := range steps {
			into[i] = math.Log(scaling.StepSeconds(s.Nodes, s.Replicas, s.Batch) / s.Seconds)
		}
	})
	best := math.Inf(1)
	var found profile.Scaling
	for _, local := range []float64{0.05, 0.6} {
		for _, gamma := range []float64{1.5, 3} {
			theta := []float64{0, 1, local, 0.2, 0, 0.02, gamma}
			if loss := minimise(c, scalingBox, theta, fine); loss < best {
				best, found = loss, scalingAt(theta, unit, most)
			}
		}
	}
	found.MinBatch = least
	return found
}

func judgeSteps(steps []stepTime, predicted []float64) StepErrors {
	var one, several []float64
	for i, s := range steps {
		off := math.Abs(predicted[i]/s.Seconds - 1)
		if s.Nodes == 1 {
			one = append(one, off)
		} else {
			several = append(several, off)
		}
	}
	return StepErrors{stepError(one), stepError(several)}
}

func stepError(off []float64) StepError {
	if len(off) == 0 {
		return StepError{}
	}
	slices.Sort(off)
	return StepError{Steps: len(off), P50: quantile(off, 0.5), P90: quantile(off, 0.9)}
}

// quantile returns a quantile of sorted values, with interpolation.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

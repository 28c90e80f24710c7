package fit

import (
	"math"

	"github.com/clustergym/clustergym/env/physics/profile"
)

// SurfaceFit is the fit of one of Synergy's models.
type SurfaceFit struct {
	Model     string
	Surface   profile.Surface
	Max, Mean float64 // relative errors over the cells of the matrix
}

// fitSurface fits the logarithm of the speed over all cells. Weak priors determine a rate that limits no cell; without them its
// value would diverge.
func fitSurface(m *matrix) SurfaceFit {
	cells := len(synergyCores) * len(synergyMem)
	c := newCurve(8, cells+8, func(theta, into []float64) {
		s := surfaceAt(theta)
		for i := range cells {
			row, column := i/len(synergyMem), i%len(synergyMem)
			into[i] = math.Log(s.At(synergyCores[row], synergyMem[column]) / m.at(row, column))
		}
		for i := range theta {
			into[cells+i] = 0.002 * (theta[i] - surfacePrior[i])
		}
	})
	best := math.Inf(1)
	fit := SurfaceFit{Model: m.model}
	for _, sharpness := range []float64{-2, 0, 2} {
		theta := append([]float64(nil), surfacePrior...)
		theta[7] = sharpness
		if loss := minimise(c, box{}, theta, fine); loss < best {
			best, fit.Surface = loss, surfaceAt(theta)
		}
	}
	for i := range cells {
		row, column := i/len(synergyMem), i%len(synergyMem)
		off := math.Abs(fit.Surface.At(synergyCores[row], synergyMem[column])/m.at(row, column) - 1)
		fit.Max = max(fit.Max, off)
		fit.Mean += off / float64(cells)
	}
	return fit
}

// surfacePrior is the prior of the parameters of surfaceAt, and the starting point of every search.
var surfacePrior = []float64{0, 0, 1, -1, 3, 1, 0.5, 1}

// surfaceAt maps unbounded parameters to a surface that is 1 at the fair share.
func surfaceAt(theta []float64) profile.Surface {
	e := func(i int) float64 { return math.Exp(max(-8, min(8, theta[i]))) }
	return profile.Surface{
		CPU: e(0), CPUPower: e(1), Fetch: e(2), FetchPower: e(3), Hold: e(4), HoldPower: e(5), GPU: e(6),
		Sharpness: 1 + 31/(1+math.Exp(-theta[7])),
	}.Normalised()
}

package inference

import (
	"fmt"
	"math"
	"slices"
)

// AROrder is the number of past samples that the autoregressive predictor reads: one hour of five-minute steps.
const AROrder = 12

// AR is an autoregressive model: û(t+1) = Bias + Σ Weights[k]·u(t-k).
type AR struct {
	Bias    float64
	Weights []float64 // newest sample first
}

// ridge keeps the least-squares problem solvable if all samples are equal. It is far below the variance of any real usage.
const ridge = 1e-9

// FitAR fits a model of the given order to usage by least squares, over all runs of order+1 consecutive samples none of which is
// filled. It returns an error if there are too few such runs.
func FitAR(usage Series, order int) (AR, error) {
	if err := usage.Check(); err != nil {
		return AR{}, err
	}
	if order < 1 || order > 1000 {
		return AR{}, fmt.Errorf("fit AR: order %d, want 1 to 1000", order)
	}
	n := order + 1 // a row is 1, u(t), u(t-1), ...
	gram, right := make([]float64, n*n), make([]float64, n)
	x := make([]float64, n)
	runs, clean := 0, 0
	for t, u := range usage.Values {
		if clean >= order && !usage.IsFilled(t) {
			x[0] = 1
			for k := range order {
				x[1+k] = usage.Values[t-1-k]
			}
			for i := range n {
				for j := range n {
					gram[i*n+j] += x[i] * x[j]
				}
				right[i] += x[i] * u
			}
			runs++
		}
		if clean++; usage.IsFilled(t) {
			clean = 0
		}
	}
	if runs < 2*n {
		return AR{}, fmt.Errorf("fit AR: %d runs of %d measured samples, want at least %d", runs, n, 2*n)
	}
	for i := range n {
		gram[i*n+i] += ridge * float64(runs)
	}
	w, ok := solve(gram, right)
	if !ok {
		return AR{}, fmt.Errorf("fit AR: normal equations of order %d are singular", order)
	}
	return AR{Bias: w[0], Weights: w[1:]}, nil
}

// solve returns the solution x of a·x = b for a symmetric positive definite n×n matrix a, by Cholesky decomposition. It
// overwrites a. ok is false if a is not positive definite.
func solve(a, b []float64) (x []float64, ok bool) {
	n := len(b)
	for j := range n {
		for i := j; i < n; i++ {
			sum := a[i*n+j]
			for k := range j {
				sum -= a[i*n+k] * a[j*n+k]
			}
			if i > j {
				a[i*n+j] = sum / a[j*n+j]
				continue
			}
			if !(sum > 0) {
				return nil, false
			}
			a[j*n+j] = math.Sqrt(sum)
		}
	}
	x = slices.Clone(b)
	for i := range n {
		for k := range i {
			x[i] -= a[i*n+k] * x[k]
		}
		x[i] /= a[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[k*n+i] * x[k]
		}
		x[i] /= a[i*n+i]
	}
	return x, true
}

// autoregressive applies an AR model.
type autoregressive struct {
	model AR
	history
}

// NewAutoregressive returns the predictor that applies the model. Until it has observed as many samples as the model reads, the
// first sample replaces the missing ones. NewAutoregressive panics if the model has no weights.
func NewAutoregressive(model AR) Predictor {
	if len(model.Weights) == 0 {
		panic("inference: autoregressive predictor without weights")
	}
	return &autoregressive{model, history{keep: len(model.Weights)}}
}

func (p *autoregressive) Name() string      { return "ar" }
func (p *autoregressive) Reset()            { p.reset() }
func (p *autoregressive) Observe(u float64) { p.add(u) }

func (p *autoregressive) Predict() float64 {
	if len(p.u) == 0 {
		return 0
	}
	v := p.model.Bias
	for k, w := range p.model.Weights {
		v += w * p.last(k)
	}
	return v
}

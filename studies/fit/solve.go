package fit

import "math"

// problem is a sum of squared residuals to minimise over parameters.
type problem interface {
	// normal adds JᵀJ to h (row-major, lower triangle) and Jᵀr to g, which the caller has zeroed, and returns Σr²/2.
	normal(theta, h, g []float64) float64
	// loss returns Σr²/2.
	loss(theta []float64) float64
}

// mostSteps is the largest number of steps of a search.
const mostSteps = 400

// A search ends when the loss has fallen by less than this fraction three times in a row.
const (
	fine   = 1e-14 // for committed fits
	coarse = 1e-6  // for fits that are only used to evaluate predictions
)

// box contains bounds of the parameters; the zero box has none.
type box struct{ low, high []float64 }

// pinned reports whether parameter i is at a bound and would leave the box down the slope.
func (b box) pinned(theta, slope []float64, i int) bool {
	return b.low != nil && (theta[i] <= b.low[i] && slope[i] > 0 || theta[i] >= b.high[i] && slope[i] < 0)
}

func (b box) clamp(x float64, i int) float64 {
	if b.low == nil {
		return x
	}
	return max(b.low[i], min(b.high[i], x))
}

// minimise moves theta, which must be in the box, to a local minimum in it by damped Gauss-Newton steps (Levenberg and
// Marquardt) and returns the loss. Parameters that push against a bound do not move in that step. It is deterministic.
func minimise(p problem, bounds box, theta []float64, tolerance float64) float64 {
	n := len(theta)
	h, g, l := make([]float64, n*n), make([]float64, n), make([]float64, n*n)
	step, next := make([]float64, n), make([]float64, n)
	damping, idle := 1e-3, 0
	loss := math.Inf(1)
	for range mostSteps {
		clear(h)
		clear(g)
		loss = p.normal(theta, h, g)
		for i := range n {
			if bounds.pinned(theta, g, i) {
				pin(h, g, n, i)
			}
		}
		better := math.Inf(1)
		for ; damping < 1e12; damping *= 4 {
			if !damped(h, l, n, damping) {
				continue
			}
			solve(l, g, step, n)
			for i := range next {
				next[i] = bounds.clamp(theta[i]-step[i], i)
			}
			if better = p.loss(next); better < loss {
				break
			}
		}
		if !(better < loss) {
			return loss
		}
		copy(theta, next)
		damping = max(damping/9, 1e-12)
		if loss-better > tolerance*loss {
			idle = 0
		} else if idle++; idle == 3 {
			return better
		}
		loss = better
	}
	return loss
}

// pin removes parameter i from the equations, so that its step is 0.
func pin(h, g []float64, n, i int) {
	for k := range n {
		h[max(i, k)*n+min(i, k)] = 0
	}
	h[i*n+i], g[i] = 1, 0
}

// damped computes into l the Cholesky factor of h with an increased diagonal. It returns false if the matrix is not positive
// definite.
func damped(h, l []float64, n int, damping float64) bool {
	for i := range n {
		for j := range i + 1 {
			sum := h[i*n+j]
			if i == j {
				sum += damping * (sum + 1e-9)
			}
			row, col := l[i*n:i*n+j], l[j*n:j*n+j]
			for k := range row {
				sum -= row[k] * col[k]
			}
			switch {
			case i != j:
				l[i*n+j] = sum / l[j*n+j]
			case sum > 0 && !math.IsInf(sum, 1):
				l[i*n+i] = math.Sqrt(sum)
			default:
				return false
			}
		}
	}
	return true
}

// solve computes into x the solution of l·lᵀ·x = b.
func solve(l, b, x []float64, n int) {
	for i := range n {
		sum := b[i]
		for k := range i {
			sum -= l[i*n+k] * x[k]
		}
		x[i] = sum / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		sum := x[i]
		for k := i + 1; k < n; k++ {
			sum -= l[k*n+i] * x[k]
		}
		x[i] = sum / l[i*n+i]
	}
}

// curve is a problem with few parameters and a residual function; its derivatives are central differences.
type curve struct {
	residuals func(theta, into []float64)
	at        []float64   // [residual]
	low, high []float64   // [residual], scratch
	slope     [][]float64 // [parameter][residual]
}

func newCurve(parameters, residuals int, f func(theta, into []float64)) *curve {
	c := &curve{residuals: f, at: make([]float64, residuals), low: make([]float64, residuals), high: make([]float64, residuals)}
	for range parameters {
		c.slope = append(c.slope, make([]float64, residuals))
	}
	return c
}

func (c *curve) loss(theta []float64) float64 {
	c.residuals(theta, c.at)
	sum := 0.0
	for _, r := range c.at {
		sum += r * r
	}
	return sum / 2
}

func (c *curve) normal(theta, h, g []float64) float64 {
	const step = 1e-5
	n := len(theta)
	for i, was := range theta {
		theta[i] = was + step
		c.residuals(theta, c.high)
		theta[i] = was - step // may be outside the box by one step, so residuals must be defined there
		c.residuals(theta, c.low)
		theta[i] = was
		for k := range c.slope[i] {
			c.slope[i][k] = (c.high[k] - c.low[k]) / (2 * step)
		}
	}
	loss := c.loss(theta)
	for i := range n {
		for j := range i + 1 {
			h[i*n+j] += dot(c.slope[i], c.slope[j])
		}
		g[i] += dot(c.slope[i], c.at)
	}
	return loss
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

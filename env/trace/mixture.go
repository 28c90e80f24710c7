package trace

import "math"

// phi is the distribution function of the standard normal distribution.
func phi(x float64) float64 { return .5 * math.Erfc(-x/math.Sqrt2) }

// mean returns the expected duration of a class in seconds, with draws limited to Max.
func (d *DurationClass) mean() float64 {
	var sum, weights float64
	top := math.Log(d.Max)
	for _, m := range d.Mixture {
		below := math.Exp(m.Mu+m.Sigma*m.Sigma/2) * phi((top-m.Mu)/m.Sigma-m.Sigma)
		sum += m.Weight * (below + d.Max*phi((m.Mu-top)/m.Sigma))
		weights += m.Weight
	}
	return sum / weights
}

// CDF returns the fraction of the class below exp(x) seconds, without the limit Max.
func (d *DurationClass) CDF(x float64) float64 {
	var sum, weights float64
	for _, m := range d.Mixture {
		sum += m.Weight * phi((x-m.Mu)/m.Sigma)
		weights += m.Weight
	}
	return sum / weights
}

// Quantile returns the natural logarithm of the duration in seconds below which a fraction u of the class lies, 0 < u < 1,
// limited to Max.
func (d *DurationClass) Quantile(u float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, m := range d.Mixture {
		lo = min(lo, m.Mu-9*m.Sigma)
		hi = max(hi, m.Mu+9*m.Sigma)
	}
	hi = min(hi, math.Log(d.Max))
	lo = min(lo, hi)
	for range 48 {
		mid := (lo + hi) / 2
		if d.CDF(mid) < u {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

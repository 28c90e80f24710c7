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

// cdf returns the fraction of the class below exp(x) seconds, without the limit Max.
func (d *DurationClass) cdf(x float64) float64 {
	var sum, weights float64
	for _, m := range d.Mixture {
		sum += m.Weight * phi((x-m.Mu)/m.Sigma)
		weights += m.Weight
	}
	return sum / weights
}

// quantile returns the natural logarithm of the duration in seconds below which a fraction u of the class lies, 0 < u < 1,
// limited to Max.
func (d *DurationClass) quantile(u float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, m := range d.Mixture {
		lo = min(lo, m.Mu-9*m.Sigma)
		hi = max(hi, m.Mu+9*m.Sigma)
	}
	hi = min(hi, math.Log(d.Max))
	lo = min(lo, hi)
	for range 48 {
		mid := (lo + hi) / 2
		if d.cdf(mid) < u {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

// fitMixture fits k lognormals to the sorted logarithms of seconds, by expectation maximisation that starts from k equal slices.
// It is deterministic. No part gets a standard deviation below 0.1, so that repeated values cannot shrink a part to a point.
func fitMixture(logs []float64, k int) []Lognormal {
	const narrowest, rounds = .1, 150
	parts := make([]Lognormal, k)
	for i := range parts {
		slice := logs[i*len(logs)/k : (i+1)*len(logs)/k]
		parts[i] = Lognormal{Weight: 1 / float64(k)}
		parts[i].Mu, parts[i].Sigma = meanSD(slice)
		parts[i].Sigma = max(narrowest, parts[i].Sigma)
	}
	share := make([]float64, k) // by part: its share of one value
	n, sum, squares := make([]float64, k), make([]float64, k), make([]float64, k)
	for range rounds {
		clear(n)
		clear(sum)
		clear(squares)
		for _, x := range logs {
			var total float64
			for i, p := range parts {
				z := (x - p.Mu) / p.Sigma
				share[i] = p.Weight/p.Sigma*math.Exp(-z*z/2) + 1e-300
				total += share[i]
			}
			for i := range parts {
				w := share[i] / total
				n[i] += w
				sum[i] += w * x
				squares[i] += w * x * x
			}
		}
		for i := range parts {
			if n[i] < 1 {
				continue // an empty part keeps its parameters
			}
			mu := sum[i] / n[i]
			parts[i] = Lognormal{
				Weight: n[i] / float64(len(logs)),
				Mu:     mu,
				Sigma:  max(narrowest, math.Sqrt(max(0, squares[i]/n[i]-mu*mu))),
			}
		}
	}
	return parts
}

func meanSD(x []float64) (mean, sd float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)))
}

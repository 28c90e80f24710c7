package generator

import (
	"math"

	"github.com/clustergym/clustergym/env/trace"
)

// fitMixture fits k lognormals to the sorted logarithms of seconds, by expectation maximisation that starts from k equal slices.
// It is deterministic. No part gets a standard deviation below 0.1, so that repeated values cannot shrink a part to a point.
func fitMixture(logs []float64, k int) []trace.Lognormal {
	const narrowest, rounds = .1, 150
	parts := make([]trace.Lognormal, k)
	for i := range parts {
		slice := logs[i*len(logs)/k : (i+1)*len(logs)/k]
		parts[i] = trace.Lognormal{Weight: 1 / float64(k)}
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
			parts[i] = trace.Lognormal{
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

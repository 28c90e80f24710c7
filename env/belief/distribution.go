package belief

import (
	"math"
	"time"
)

// Distribution is a distribution of the run time of a job. Within a bin all run times are equally likely. In the open bin they
// have a Pareto distribution of shape 2: a job that has lasted that long is expected to go on for as long again.
//
// Every answer is conditional on the job having run for age without ending, exact for this distribution up to rounding, and
// finite; remaining times are at least 1 ns. A negative age counts as 0. No answer allocates. Build a Distribution with Set; the
// zero value gives no answers. Several goroutines may ask at the same time.
type Distribution struct {
	p    [Bins]float64 // probability of each bin
	from [Bins]float64 // probability of each bin or a later one
	mean [Bins]float64 // sum over each bin and the later ones of probability times mean run time in the bin, ns
}

// least is the least probability of the open bin. With it, every age has a positive probability.
const least = 1e-12

// Set makes the probabilities proportional to weights, which must be finite, 0 or more, and not all 0. The open bin gets a
// probability of at least 1e-12.
func (d *Distribution) Set(weights *[Bins]float64) {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	sum += max(0, least*sum-weights[open])
	scale, from, mean := 1/sum, 0.0, 0.0
	for i := open; i >= 0; i-- {
		p, middle := weights[i]*scale, 2*starts[open]
		if i == open {
			p = max(p, least)
		} else {
			middle = starts[i] + widths[i]/2
		}
		from += p
		mean += p * middle
		d.p[i], d.from[i], d.mean[i] = p, from, mean
	}
}

// bin returns the bin of an age in ns, and the probability that the job reaches the age.
func (d *Distribution) bin(at float64) (i int, reached float64) {
	i = min(step(time.Duration(at)), open)
	if i == open {
		r := starts[open] / at
		return i, d.p[open] * r * r
	}
	return i, d.p[i]*(starts[i]+widths[i]-at)/widths[i] + d.from[i+1]
}

// clamped returns an age in ns, from 0 to longest.
func clamped(age time.Duration) float64 { return float64(min(max(age, 0), longest)) }

// Mean returns the expected remaining time.
func (d *Distribution) Mean(age time.Duration) time.Duration {
	a := clamped(age)
	i, reached := d.bin(a)
	if i == open {
		return duration(a)
	}
	end := starts[i] + widths[i]
	here := d.p[i] * (end - a) / widths[i]
	return duration((here*(a+end)/2+d.mean[i+1])/reached - a)
}

// Quantile returns the remaining time that the job exceeds with probability 1-q. The q must be at least 0 and less than 1.
func (d *Distribution) Quantile(age time.Duration, q float64) time.Duration {
	a := clamped(age)
	i, reached := d.bin(a)
	beyond := reached * (1 - q)
	if beyond <= d.p[open] {
		return duration(starts[open]*math.Sqrt(d.p[open]/beyond) - a)
	}
	hi := open // the bin lies in [i, hi): the probability beyond its end is less than beyond
	for hi-i > 1 {
		if mid := int(uint(i+hi) / 2); d.from[mid] >= beyond {
			i = mid
		} else {
			hi = mid
		}
	}
	return duration(starts[i+1] - (beyond-d.from[i+1])/d.p[i]*widths[i] - a)
}

// Spread returns how uncertain the remaining time is: the standard deviation of the normal distribution that has an interval of
// 80 % as wide as that of the logarithm of the remaining time.
func (d *Distribution) Spread(age time.Duration) float64 {
	low, high := d.Quantile(age, (1-inside)/2), d.Quantile(age, (1+inside)/2)
	return math.Log(float64(high)/float64(low)) / (2 * halfWidth)
}

// EndsWithin returns the probability that the job ends within the given further time.
func (d *Distribution) EndsWithin(age, further time.Duration) float64 {
	if further <= 0 {
		return 0
	}
	a := clamped(age)
	_, reached := d.bin(a)
	_, later := d.bin(min(a+float64(further), float64(longest)))
	return max(0, (reached-later)/reached)
}

package belief

import (
	"math"
	"time"
)

// Gittins returns the least expected service per completion over all ways to go on with the job:
//
//	min over Δ of E[min(T - age, Δ) | T > age] / P(T - age ≤ Δ | T > age)
//
// where T is the run time. It is the inverse of the Gittins index. Jobs of which one knows only the distribution and the age have
// the least mean completion time on one server if the one with the smallest such time always runs (Gittins, Glazebrook and Weber,
// Multi-armed Bandit Allocation Indices, 2011, §3; Scully and Harchol-Balter, The Gittins policy in the M/G/1 queue, 2021).
//
// Within a bin the chance to end soon grows with age, so that the best Δ never leads into the inside of a bin: Gittins tries the
// ends of the bins, and solves for the best Δ in the open bin. For the same reason the result falls to nearly 0 towards the end
// of every bin, which says more about the bins than about the job. Learner.Left therefore asks at the edges of bins only.
func (d *Distribution) Gittins(age time.Duration) time.Duration {
	a := clamped(age)
	i, reached := d.bin(a)
	if i == open {
		return duration(a / 2) // the chance to end soon falls with age: Δ → 0
	}
	best := math.Inf(1)
	end := starts[i] + widths[i]
	p := d.p[i] * (end - a) / widths[i] // probability to end in the bin
	middle := (a + end) / 2             // mean run time of jobs that do
	ended, spent, served := 0.0, 0.0, 0.0
	for {
		ended += p
		spent += p * (middle - a)
		served = spent + d.from[i+1]*(end-a)
		if served < best*ended {
			best = served / ended
		}
		if i++; i == open {
			break
		}
		p, middle, end = d.p[i], starts[i]+widths[i]/2, starts[i]+widths[i]
	}
	// In the open bin, up to t, the service is whole - p e²/t and the completions are reached - p e²/t². Their ratio is least
	// where it equals t/2, the inverse of the chance to end soon.
	p, e := d.p[open], starts[open]
	whole := served + p*e
	if root := whole*whole - reached*p*e*e; root >= 0 {
		if t := (whole + math.Sqrt(root)) / reached; t > e {
			best = min(best, t/2)
		}
	}
	return duration(best)
}

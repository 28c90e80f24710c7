package headroom

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"time"
)

// climb is a stochastic hill climb over the false information that a scheduler gets: estimates, which change its order of jobs,
// and holds. It keeps a change if the cost does not rise. It changes jobs that cost much most often.
func (f *finder) climb(ctx context.Context, best base, budget int, draw *rand.Rand) (base, error) {
	weights := f.weigh(best.course)
	for end := f.played + budget; f.played < end; {
		next := *best.candidate
		next.influence = best.influence.clone()
		for again := true; again; again = draw.IntN(3) == 0 {
			f.mutate(&next, best.course, weights, draw)
		}
		got, err := f.play(ctx, &next)
		switch {
		case err != nil && ctx.Err() != nil:
			return base{}, ctx.Err()
		case errors.Is(err, errUnfinished):
			f.spend(1)
			continue
		case err != nil:
			return base{}, err
		}
		f.step()
		if got.cost < best.cost {
			weights = f.weigh(got)
		}
		if got.cost <= best.cost {
			best.candidate, best.course = &next, got
		}
	}
	return best, nil
}

// weigh returns cumulative weights for drawing a job: each job's weight is its loss plus a constant.
func (f *finder) weigh(c *course) []float64 {
	sums := make([]float64, len(c.rows))
	total := 0.0
	for i := range c.rows {
		total += f.loss(c, i) + 0.1
		sums[i] = total
	}
	return sums
}

// loss grows with the time that the i-th job took beyond its lower bound or, by an objective, with its part of the cost.
func (f *finder) loss(c *course, i int) float64 {
	r := &c.rows[i]
	if f.opts.Objective == nil {
		return math.Sqrt(max(r.JCT().Seconds()-f.least[r.Job], 0))
	}
	return math.Sqrt(max(c.paid[r.Job], 0) / max(c.cost, 1e-9) * float64(len(c.rows)))
}

// pick draws a job by cumulative weights.
func pick(sums []float64, draw *rand.Rand) int {
	x := draw.Float64() * sums[len(sums)-1]
	lo, hi := 0, len(sums)-1
	for lo < hi {
		if mid := (lo + hi) / 2; sums[mid] > x {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// mutate makes one random change.
func (f *finder) mutate(next *candidate, c *course, weights []float64, draw *rand.Rand) {
	w := next.influence
	i := pick(weights, draw)
	job := &c.rows[i]
	id := int(job.Job)
	switch draw.IntN(6) {
	case 0, 1: // a longer or shorter estimate
		w.told[id] = scaled(w.told[id], math.Exp(1.5*draw.NormFloat64()))
	case 2: // a job that ran while this one waited comes after it, and is held until this one was submitted or started
		if k := f.rival(c, job.Submit, job.Start, draw); k >= 0 && k != i {
			other := &c.rows[k]
			w.told[other.Job] = max(w.told[other.Job], scaled(w.told[id], 1.1))
			if at := []time.Duration{0, job.Submit, job.Start}[draw.IntN(3)]; at > 0 {
				w.until[other.Job] = at + time.Millisecond
			}
		}
	case 3: // a slightly shorter estimate than another job's
		if k := f.rival(c, job.Submit, job.Start, draw); k >= 0 {
			w.told[id] = scaled(w.told[c.rows[k].Job], 0.9)
		}
	case 4: // held until another job has finished
		if k := draw.IntN(len(c.rows)); c.rows[k].End > job.Submit && c.rows[k].End < job.End {
			w.until[id] = c.rows[k].End + time.Millisecond
		}
	case 5: // as at the beginning of the search
		w.told[id], w.until[id] = next.from.told[id], 0
	}
}

// rival draws a job that ran in the interval [from, to]. It returns -1 if 64 draws find none.
func (f *finder) rival(c *course, from, to time.Duration, draw *rand.Rand) int {
	for range 64 {
		k := draw.IntN(len(c.rows))
		if r := &c.rows[k]; r.End > from && r.Start < to {
			return k
		}
	}
	return -1
}

// scaled returns d · by, but at least one nanosecond, because an estimate of 0 means none.
func scaled(d time.Duration, by float64) time.Duration {
	return time.Duration(min(max(float64(d)*by, 1), float64(math.MaxInt64/4)))
}

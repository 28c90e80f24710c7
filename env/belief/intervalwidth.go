package belief

import "math"

// Intervals of believed speeds should contain 80 % of what is measured. Two things that do not change the mean serve this.
//
// Jobs of a user differ more than infer believes: readings of other jobs, however many they are, hardly tell how a job reacts to
// what was not measured of it. The variance of such effects is therefore at least leastApart times that in variation.
//
// Before Speeds learns from a reading, it compares it with what it believed. It widens all intervals by a step if the reading was
// outside its interval, and narrows them by a quarter of a step if it was inside, so that 80 % are inside in the long run (after
// Gibbs and Candès, Adaptive conformal inference under distribution shift, NeurIPS 2021; steps of the logarithm of the width are
// an own choice). Forget forgets the width: readings under another policy say little about it.
const (
	leastApart = 3    // by validation windows, as widthStep
	inside     = 0.8  // part of the readings
	halfWidth  = 1.28 // of an interval, in standard deviations
	widthStep  = 0.03
	mostWidth  = 3 // bound of Speeds.width
)

// apart returns the least multiple of variation that is the variance between the job and what is believed of it: 0 if the job
// itself was measured in several configurations, or if others of its model or group were, which are more alike.
func (j *measured) apart() float64 {
	deepest := j.deepest()
	if deepest == len(j.circles) || j.circles[deepest].Scope == ofModel || j.circles[deepest].Scope == ofGroup {
		return 0
	}
	return leastApart
}

// bounded is the standard deviation of the effect of CPU relative to that of the normal distribution, which also contains
// effects that are impossible (see sensible).
const bounded = 0.68

// narrow returns effects as the normal distribution has to be asked about them, see bounded.
func narrow(x *vector) vector {
	y := *x
	for i := range cpuParts {
		y[cpuAt+i] *= bounded
	}
	return y
}

// variance returns that of the sum of the effects x.
func (b *believed) variance(x *vector) float64 {
	wide := narrow(x)
	all, least := 0.0, 0.0
	for i, v := range wide {
		if v != 0 {
			all += v * b.covariance[i].times(&wide)
			least += v * variation[i].times(&wide)
		}
	}
	return max(all, b.apart*least)
}

// judge compares a difference between the readings of a job with what is believed of the job and changes the width of all
// intervals.
func (l *Speeds) judge(d *difference, b *believed) {
	sd := math.Exp(l.width) * math.Sqrt(max(b.variance(&d.X)+d.Variance, 0))
	if math.Abs(d.Y-d.X.times(&b.mean)) > halfWidth*sd {
		l.width += widthStep * inside
	} else {
		l.width -= widthStep * (1 - inside)
	}
	l.width = min(max(l.width, -mostWidth), mostWidth)
}

package speeds

import (
	"math"

	"github.com/clustergym/clustergym/env/belief"
)

// Score is how well speeds are predicted, and readings.
type Score struct {
	Examples int     `json:"examples"`
	Error    float64 `json:"rms_error"` // root of the mean square error of the logarithm
	Inside   float64 `json:"inside_80"` // fraction within the intervals that should contain 80 %
}

// Scores are those of the regression alone and as the network corrects it, of true speeds and of readings.
type Scores struct {
	Fit             Score `json:"fit"`
	Learned         Score `json:"learned"`
	FitReadings     Score `json:"fit_readings"`
	LearnedReadings Score `json:"learned_readings"`
}

// quantile80 is the quantile 0.9 of the normal distribution: intervals of 80 % reach so many standard deviations up and down.
const quantile80 = 1.2816

// judge returns how well a network predicts examples with normalised inputs.
func judge(net *belief.SpeedNetwork, all []Example) Scores {
	var s Scores
	var scratch belief.Scratch
	for i := range all {
		e, shift, widen := &all[i], 0.0, 0.0
		for k := range net.Members {
			z, w := e.answer(&net.Members[k], &scratch)
			shift += z / float64(len(net.Members))
			widen += w / float64(len(net.Members))
		}
		fit, learned := &s.Fit, &s.Learned
		if e.Reading {
			fit, learned = &s.FitReadings, &s.LearnedReadings
		}
		fit.add(e.Miss, 1, e.SD)
		learned.add(e.Miss-shift, math.Exp(widen), e.SD)
	}
	for _, one := range []*Score{&s.Fit, &s.Learned, &s.FitReadings, &s.LearnedReadings} {
		if n := float64(one.Examples); n > 0 {
			one.Error, one.Inside = math.Sqrt(one.Error/n), one.Inside/n
		}
	}
	return s
}

// add counts an example that misses its mean by so many standard deviations of the regression.
func (s *Score) add(miss, widen, sd float64) {
	s.Examples++
	s.Error += miss * miss * sd * sd
	if math.Abs(miss) <= quantile80*widen {
		s.Inside++
	}
}

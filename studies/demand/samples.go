package demand

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/stats"
)

// sample is a window of a series and the value after it.
type sample struct {
	window []float64 // [LSTMWindow], oldest first; a part of the series
	next   float64
}

// cut returns the samples of a series whose next value has an index in [lo,hi). It leaves out samples with a filled value,
// because filled values were not measured.
func cut(u inference.Series, lo, hi int) []sample {
	var samples []sample
	clean := 0 // number of measured values directly before i
	for i, v := range u.Values[:hi] {
		if i >= lo && clean >= LSTMWindow && !u.IsFilled(i) {
			samples = append(samples, sample{u.Values[i-LSTMWindow : i], v})
		}
		if clean++; u.IsFilled(i) {
			clean = 0
		}
	}
	return samples
}

// split cuts every series into samples to learn from and, at its end, validation samples that choose the epoch.
func split(series []inference.Series, share float64) (learn, judge []sample, err error) {
	for i, u := range series {
		if err := u.Check(); err != nil {
			return nil, nil, fmt.Errorf("series %d: %w", i, err)
		}
		if u.Step != series[0].Step {
			return nil, nil, fmt.Errorf("series %d: steps of %v, want %v as in the first", i, u.Step, series[0].Step)
		}
		from := len(u.Values) - int(math.Ceil(share*float64(len(u.Values))))
		learn = append(learn, cut(u, 0, from)...)
		judge = append(judge, cut(u, from, len(u.Values))...)
	}
	if len(learn) == 0 || len(judge) == 0 {
		return nil, nil, fmt.Errorf("%d samples to learn from and %d to judge by, want some of both: "+
			"a sample is %d measured values in a row", len(learn), len(judge), LSTMWindow+1)
	}
	return learn, judge, nil
}

// scaleOf computes the network's units: mean and deviation of usage, and the deviation of its changes.
func scaleOf(samples []sample) ([]float64, error) {
	var usage, change stats.Welford
	for _, s := range samples {
		usage.Add(s.next)
		change.Add(s.next - s.window[LSTMWindow-1])
	}
	scale := []float64{usage.M, usage.StdDev(), change.StdDev()}
	if !(scale[1] > 0) || !(scale[2] > 0) {
		return nil, fmt.Errorf("%d samples of deviation %g whose changes have deviation %g, want both above 0",
			len(samples), scale[1], scale[2])
	}
	return scale, nil
}

// meanSquare returns the mean squared error of n, in squared fractions of the pool.
func meanSquare(n *LSTM, samples []sample) float64 {
	sum := 0.0
	for _, s := range samples {
		d := n.Predict(s.window) - s.next
		sum += d * d
	}
	return sum / float64(len(samples))
}

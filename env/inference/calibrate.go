package inference

import "fmt"

// CalibrationTarget is the fraction of demand that may go unserved on the days on which Calibrate measures a margin. It is a
// tenth of the 0.1 % that we accept on later days, because those may have more bursts. docs/inference.md compares the loans and
// risks of other targets.
const CalibrationTarget = 0.0001

// Calibrate returns the margin that the predictor needs: the smallest Pool.Margin with which at most the fraction target of the
// demand in usage goes unserved, under the given headroom. It does not count on the spare capacity that comes from rounding to
// whole servers. The steps before the index from only warm up the predictor, and steps that involve a filled sample do not count.
// Calibrate resets the predictor.
func Calibrate(usage Series, p Predictor, headroom, target float64, from int) (float64, error) {
	if err := usage.Check(); err != nil {
		return 0, err
	}
	if !(headroom >= 0 && headroom <= 1) || !(target >= 0) {
		return 0, fmt.Errorf("calibrate %s: headroom %g and target %g, want 0 to 1 and 0 or more", p.Name(), headroom, target)
	}
	said := Forecast(p, usage.Values)
	unserved := func(margin float64) float64 {
		var short, demand float64
		for i := max(from, 1); i < len(said); i++ {
			if usage.IsFilled(i) || usage.IsFilled(i-1) {
				continue
			}
			u := usage.Values[i]
			demand += u
			short += max(0, u-headroom-max(usage.Values[i-1], said[i])*(1+margin))
		}
		return short / max(demand, 1e-300)
	}
	hi := 0.0
	for unserved(hi) > target {
		if hi = 2*hi + 0.25; hi > maxMargin {
			return 0, fmt.Errorf("calibrate %s: more than %g of demand unserved even with a margin of %d",
				p.Name(), target, maxMargin)
		}
	}
	lo := 0.0
	for range 50 {
		if m := (lo + hi) / 2; unserved(m) <= target {
			hi = m
		} else {
			lo = m
		}
	}
	return hi, nil
}

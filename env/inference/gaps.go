package inference

import "slices"

// gapSides is the number of bins on either side of a gap by which fillFrom scales the values of another day.
const gapSides = 3

// FillGaps returns a copy of s in which every value below share times the mean counts as a gap in the measurements and is filled
// and flagged. Each gap gets the values of the same time on the day before, or on the day after if those before were not
// measured, scaled so that the three bins on either side of the gap agree on average. If neither is possible, the gap gets the
// straight line between its measured neighbours. FillGaps fills values that s already flags again. It returns a series without
// measured values unchanged.
func (s Series) FillGaps(share float64) Series {
	mean := 0.0
	for _, v := range s.Values {
		mean += v / float64(len(s.Values))
	}
	out := Series{Step: s.Step, Values: slices.Clone(s.Values), Filled: make([]bool, len(s.Values))}
	for i, v := range s.Values {
		out.Filled[i] = s.IsFilled(i) || v < share*mean
	}
	if !slices.Contains(out.Filled, false) || !slices.Contains(out.Filled, true) {
		return Series{Step: s.Step, Values: out.Values, Filled: slices.Clone(s.Filled)}
	}
	perDay := 0
	if day%s.Step == 0 {
		perDay = int(day / s.Step)
	}
	for lo := 0; lo < len(out.Values); lo++ {
		if !out.Filled[lo] {
			continue
		}
		hi := lo
		for hi < len(out.Values) && out.Filled[hi] {
			hi++
		}
		if perDay == 0 || !out.fillFrom(lo, hi, -perDay) && !out.fillFrom(lo, hi, perDay) {
			out.fillLine(lo, hi)
		}
		lo = hi
	}
	return out
}

// fillFrom fills [lo,hi) with the measured values that are shift bins away, scaled, and reports whether that was possible.
func (s Series) fillFrom(lo, hi, shift int) bool {
	measured := func(i int) bool { return i >= 0 && i < len(s.Values) && !s.Filled[i] }
	for i := lo; i < hi; i++ {
		if !measured(i + shift) {
			return false
		}
	}
	var here, there float64
	for k := range gapSides {
		for _, i := range [...]int{lo - 1 - k, hi + k} {
			if measured(i) && measured(i+shift) {
				here, there = here+s.Values[i], there+s.Values[i+shift]
			}
		}
	}
	if there <= 0 {
		return false
	}
	for i := lo; i < hi; i++ {
		s.Values[i] = s.Values[i+shift] * here / there
	}
	return true
}

// fillLine fills [lo,hi) with the straight line between its neighbours, or with its only neighbour at an end of the series.
func (s Series) fillLine(lo, hi int) {
	var a, b float64
	switch {
	case lo == 0:
		a, b = s.Values[hi], s.Values[hi]
	case hi == len(s.Values):
		a, b = s.Values[lo-1], s.Values[lo-1]
	default:
		a, b = s.Values[lo-1], s.Values[hi]
	}
	for i := lo; i < hi; i++ {
		t := float64(i-lo+1) / float64(hi-lo+1)
		s.Values[i] = a + t*(b-a)
	}
}

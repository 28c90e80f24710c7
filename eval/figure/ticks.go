package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

const (
	minute = 60.0
	hour   = 60 * minute
	day    = 24 * hour
)

// timeStep returns the shortest round time, in seconds, of which n are at least as long as the given length.
func timeStep(length float64, n int) float64 {
	steps := []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30,
		minute, 2 * minute, 5 * minute, 10 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour,
		day, 2 * day, 5 * day, 10 * day, 30 * day, 100 * day, 365 * day}
	for _, s := range steps {
		if length <= s*float64(n) {
			return s
		}
	}
	step := 1000 * day
	for length > step*float64(n) {
		step *= 10
	}
	return step
}

// timeTicks returns at most n+1 ticks at round times in [lo, hi], in seconds. Times below 0 have a minus sign; if signed is true,
// times above 0 have a plus sign. All times have the unit of the step between them, except those shorter than one unit: 12 h, 1
// d, 1.5 d.
func timeTicks(lo, hi float64, n int, signed bool) []plot.Tick {
	step := timeStep(hi-lo, n)
	unit := 0.0
	for _, u := range []float64{1, minute, hour, day} {
		if math.Mod(step, u/2) == 0 {
			unit = u
		}
	}
	write := func(at float64) string {
		if at < unit || unit == 0 {
			return shortTime(at)
		}
		name := map[float64]string{1: " s", minute: " min", hour: " h", day: " d"}[unit]
		return strconv.FormatFloat(at/unit, 'g', 6, 64) + name
	}
	return ticks(lo, hi, step, func(at float64) string {
		switch {
		case at < 0:
			return "−" + write(-at)
		case at > 0 && signed:
			return "+" + write(at)
		}
		return write(at)
	})
}

// numberTicks returns at most n+1 ticks at round numbers in [lo, hi].
func numberTicks(lo, hi float64, n int, unit string) []plot.Tick {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(n))))
	for _, f := range []float64{1, 2, 5, 10} {
		if hi-lo <= f*step*float64(n) {
			step *= f
			break
		}
	}
	return ticks(lo, hi, step, func(at float64) string {
		s := strconv.FormatFloat(at, 'g', 6, 64)
		return strings.Replace(s, "-", "−", 1) + unit
	})
}

func ticks(lo, hi, step float64, label func(float64) string) []plot.Tick {
	var marks []plot.Tick
	if !(step > 0) || math.IsInf(step, 0) {
		return nil
	}
	const tiny = 1e-9 // tolerance, as a fraction of a step, for ends that are meant to be round
	for i := math.Ceil(lo/step - tiny); i <= hi/step+tiny && len(marks) < 100; i++ {
		at := i * step
		if i == 0 {
			at = 0 // avoids -0
		}
		marks = append(marks, plot.Tick{Value: at, Label: label(at)})
	}
	return marks
}

// logTicks returns ticks at round times from lo to hi, in seconds, at their logarithms. It uses fine steps only if the axis is
// short.
func logTicks(lo, hi float64) []plot.Tick {
	coarse := []float64{.001, .01, .1, 1, 10, minute, 10 * minute, hour, 6 * hour, day, 10 * day, 100 * day, 1000 * day}
	fine := []float64{1, 2, 5, 10, 20, 30, minute, 2 * minute, 5 * minute, 10 * minute, 20 * minute, 30 * minute,
		hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 3 * day, 5 * day, 10 * day, 20 * day, 50 * day}
	within := func(times []float64) (marks []plot.Tick) {
		for _, at := range times {
			if lo <= at && at <= hi {
				marks = append(marks, plot.Tick{Value: math.Log10(at), Label: shortTime(at)})
			}
		}
		return marks
	}
	if marks := within(fine); hi <= 30*lo && len(marks) > 2 {
		return marks
	}
	return within(coarse)
}

// shortTime formats seconds in the largest suitable unit: 90 s, 10 min, 6 h, 2 d.
func shortTime(s float64) string {
	number := func(unit float64) string { return strconv.FormatFloat(s/unit, 'g', 3, 64) }
	switch {
	case s == 0:
		return "0"
	case s < 1:
		return number(.001) + " ms"
	case s < minute:
		return number(1) + " s"
	case s < hour:
		return number(minute) + " min"
	case s < day:
		return number(hour) + " h"
	case s < 100*day:
		return number(day) + " d"
	case s < 1e6*day:
		return strconv.FormatFloat(s/day, 'f', 0, 64) + " d"
	}
	return number(day) + " d"
}

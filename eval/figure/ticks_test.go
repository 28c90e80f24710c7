package figure

import (
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

func labels(marks []plot.Tick) string {
	var all []string
	for _, m := range marks {
		all = append(all, m.Label)
	}
	return strings.Join(all, ", ")
}

func TestTimesAreMarkedAtRoundOnes(t *testing.T) {
	cases := []struct {
		lo, hi float64
		n      int
		signed bool
		want   string
	}{
		{0, .004, 4, false, "0, 1 ms, 2 ms, 3 ms, 4 ms"},
		{0, 1, 5, false, "0, 200 ms, 400 ms, 600 ms, 800 ms, 1 s"},
		{0, 90, 5, false, "0, 30 s, 1 min, 1.5 min"},
		{0, 50 * minute, 5, false, "0, 10 min, 20 min, 30 min, 40 min, 50 min"},
		{0, 2.2 * hour, 5, false, "0, 30 min, 1 h, 1.5 h, 2 h"},
		{0, 30 * hour, 5, false, "0, 6 h, 12 h, 18 h, 24 h, 30 h"},
		{0, 2.5 * day, 5, false, "0, 12 h, 1 d, 1.5 d, 2 d, 2.5 d"},
		{0, 9 * day, 5, false, "0, 2 d, 4 d, 6 d, 8 d"},
		{0, 1000 * day, 5, false, "0, 365 d, 730 d"},
		{0, 12000 * day, 5, false, "0, 10000 d"},
		{-5 * hour, 2.5 * hour, 4, true, "−4 h, −2 h, 0, +2 h"},
		{-90, -10, 4, true, "−1.5 min, −1 min, −30 s"},
	}
	for _, c := range cases {
		if got := labels(timeTicks(c.lo, c.hi, c.n, c.signed)); got != c.want {
			t.Errorf("from %v to %v s: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestLogarithmicTimesAreMarkedAtRoundOnes(t *testing.T) {
	cases := []struct {
		lo, hi float64
		want   string
	}{
		{1, 100 * day, "1 s, 10 s, 1 min, 10 min, 1 h, 6 h, 1 d, 10 d, 100 d"},
		{1, 10, "1 s, 2 s, 5 s, 10 s"},
		{1.1 * day, 11 * day, "2 d, 3 d, 5 d, 10 d"},
		{.05, 1, "100 ms, 1 s"},
		{1, 1e100, "1 s, 10 s, 1 min, 10 min, 1 h, 6 h, 1 d, 10 d, 100 d, 1000 d"},
	}
	for _, c := range cases {
		if got := labels(logTicks(c.lo, c.hi)); got != c.want {
			t.Errorf("from %v to %v s: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestNumbersAreMarkedAtRoundOnes(t *testing.T) {
	cases := []struct {
		lo, hi float64
		want   string
	}{
		{0, 1, "0, 0.2, 0.4, 0.6, 0.8, 1"},
		{.74, 1.53, "0.8, 1, 1.2, 1.4"},
		{-30, 12, "−30, −20, −10, 0, 10"},
		{0, 268, "0, 100, 200"},
		{0, 3e7, "0, 1e+07, 2e+07, 3e+07"},
	}
	for _, c := range cases {
		if got := labels(numberTicks(c.lo, c.hi, 5, "")); got != c.want {
			t.Errorf("from %v to %v: %s, want %s", c.lo, c.hi, got, c.want)
		}
	}
}

func TestTimesAreWrittenInTheirLargestUnit(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0", .25: "250 ms", 1: "1 s", 90: "1.5 min", hour: "1 h", 6 * hour: "6 h", 49680: "13.8 h", 2 * day: "2 d",
		1234 * day: "1234 d", 1e12 * day: "1e+12 d",
	} {
		if got := shortTime(s); got != want {
			t.Errorf("%v s is %s, want %s", s, got, want)
		}
	}
}

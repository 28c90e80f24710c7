package inference_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
	"pgregory.net/rapid"
)

// drawSeries draws a series of ten-minute bins, sometimes with random flags of filled values.
func drawSeries(t *rapid.T) inference.Series {
	values := rapid.SliceOfN(rapid.Float64Range(0, 1000), 1, 60).Draw(t, "values")
	s := inference.Series{Step: 10 * time.Minute, Values: values}
	if rapid.Bool().Draw(t, "with flags") {
		s.Filled = rapid.SliceOfN(rapid.Bool(), len(values), len(values)).Draw(t, "filled")
	}
	return s
}

// TestResampleKeepsMeans checks that splitting bins keeps their means and flags, and that joining the parts restores the series.
func TestResampleKeepsMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSeries(t)
		times := 1 << rapid.IntRange(0, 3).Draw(t, "halvings")
		fine := must.Get(s.Resample(s.Step/time.Duration(times), rng.Stream(rapid.Uint64().Draw(t, "seed"))))(t)
		must.Do(t, fine.Check())
		for i := range fine.Values {
			if fine.IsFilled(i) != s.IsFilled(i/times) {
				t.Fatalf("part %d of %d is filled: %t, the whole %t", i%times, times, fine.IsFilled(i), s.IsFilled(i/times))
			}
		}
		back := must.Get(fine.Resample(s.Step, nil))(t)
		if len(back.Values) != len(s.Values) {
			t.Fatalf("%d values become %d", len(s.Values), len(back.Values))
		}
		for i, v := range s.Values {
			if math.Abs(back.Values[i]-v) > 1e-9*(1+v) || back.IsFilled(i) != s.IsFilled(i) {
				t.Fatalf("value %d: %g (filled %t) comes back as %g (%t)", i, v, s.IsFilled(i), back.Values[i], back.IsFilled(i))
			}
		}
	})
}

func TestBadResample(t *testing.T) {
	s := inference.Series{Step: 10 * time.Minute, Values: []float64{1, 2, 3}}
	for _, step := range []time.Duration{0, -1, 7 * time.Minute, 4 * time.Minute, 15 * time.Minute, time.Hour, 1} {
		if _, err := s.Resample(step, rng.Stream(1)); err == nil {
			t.Errorf("10m is resampled to %v", step)
		}
	}
}

// TestFillGapsTouchesGapsOnly checks that FillGaps fills and flags gaps and changes no measured value.
func TestFillGapsTouchesGapsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "bins")
		s := inference.Series{Step: 10 * time.Minute, Values: make([]float64, n)}
		for i := range s.Values {
			s.Values[i] = rapid.SampledFrom([]float64{0, 0, 90, 100, 130}).Draw(t, "value")
		}
		before := slices.Clone(s.Values)
		mean := 0.0
		for _, v := range before {
			mean += v / float64(n)
		}
		out := s.FillGaps(0.1)
		must.Do(t, out.Check())
		if !slices.Equal(before, s.Values) {
			t.Fatal("the argument changed")
		}
		for i, v := range before {
			gap := v < 0.1*mean
			switch {
			case out.IsFilled(i) != gap:
				t.Fatalf("value %g at %d of mean %g: filled %t", v, i, mean, out.IsFilled(i))
			case !gap && out.Values[i] != v:
				t.Fatalf("measured %g at %d became %g", v, i, out.Values[i])
			case gap && out.Values[i] <= 0:
				t.Fatalf("gap at %d filled with %g", i, out.Values[i])
			}
		}
	})
}

func TestFillGaps(t *testing.T) {
	days := func(n int) inference.Series { // a daily cycle from 100 to 200, each day a tenth above the previous one
		s := inference.Series{Step: time.Hour}
		for i := range n * 24 {
			s.Values = append(s.Values, (150-50*math.Cos(float64(i)/24*2*math.Pi))*(1+0.1*float64(i/24)))
		}
		return s
	}
	for _, c := range []struct {
		name   string
		days   int
		gap    []int
		approx func(whole []float64, i int) float64
	}{
		{"the day before, raised to today's level", 3, []int{36, 37}, func(w []float64, i int) float64 { return w[i] }},
		{"on the first day the day after, lowered", 3, []int{10, 11, 12}, func(w []float64, i int) float64 { return w[i] }},
		{"the day after where the day before has a gap, too", 4, []int{36, 60}, func(w []float64, i int) float64 { return w[i] }},
		{"a line where there is no other day", 1, []int{4, 5}, func(w []float64, i int) float64 {
			return w[3] + float64(i-3)/3*(w[6]-w[3])
		}},
		{"the neighbour at the very end", 1, []int{22, 23}, func(w []float64, _ int) float64 { return w[21] }},
		{"the neighbour at the very start", 1, []int{0}, func(w []float64, _ int) float64 { return w[1] }},
	} {
		s := days(c.days)
		whole := slices.Clone(s.Values)
		for _, i := range c.gap {
			s.Values[i] = 0
		}
		out := s.FillGaps(0.1)
		if filled(out) != len(c.gap) {
			t.Errorf("%s: %d filled, want %d", c.name, filled(out), len(c.gap))
		}
		for _, i := range c.gap {
			if want := c.approx(whole, i); math.Abs(out.Values[i]-want) > 1e-6*want {
				t.Errorf("%s: bin %d filled with %g, want %g", c.name, i, out.Values[i], want)
			}
		}
	}
}

func TestUsage(t *testing.T) {
	s := inference.Series{Step: time.Hour, Values: []float64{0, 1, 2, 3, 4, 40}, Filled: []bool{5: true}}
	u, err := s.Usage(1, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0, 0.125, 0.25, 0.375, 0.5, 1}; !slices.Equal(u.Values, want) {
		t.Errorf("usage %v, want %v: the measured peak takes half, the filled one is cut off", u.Values, want)
	}
	u, err = s.Usage(0.5, 0.5)
	if err != nil || u.Values[2] != 0.5 || u.Values[4] != 1 {
		t.Errorf("usage %v, %v: want the median at half, the peak at 1", u.Values, err)
	}
	for _, bad := range []struct {
		s           inference.Series
		q, fraction float64
		want        string
	}{
		{s, 0, 0.5, "quantile 0"}, {s, 2, 0.5, "quantile 2"}, {s, 1, 0, "takes 0"}, {s, math.NaN(), 1, "quantile NaN"},
		{inference.Series{Step: 1, Values: []float64{0}}, 1, 1, "want more than 0"},
		{inference.Series{Step: 1, Values: []float64{1}, Filled: []bool{true}}, 1, 1, "0 measured values"},
		{inference.Series{Step: 1, Values: []float64{-1}}, 1, 1, "value -1 at 0"},
		{inference.Series{Values: []float64{1}}, 1, 1, "step 0s"},
		{inference.Series{Step: 1}, 1, 1, "0 values"},
		{inference.Series{Step: 1 << 62, Values: []float64{1, 1, 1}}, 1, 1, "overflow"},
		{inference.Series{Step: 1, Values: []float64{1}, Filled: []bool{true, true}}, 1, 1, "2 flags"},
	} {
		if _, err := bad.s.Usage(bad.q, bad.fraction); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("error %v, want %q in it", err, bad.want)
		}
	}
}

// TestBurstiness checks the assumption of Resample that the relative differences of neighbouring bins hardly shrink from one
// level to the next.
func TestBurstiness(t *testing.T) {
	for _, name := range []string{"language_m-large", "language_m-small"} {
		s := serveGen(t, name)
		rms := func(s inference.Series) float64 {
			sum, n := 0.0, 0.0
			for i := range len(s.Values) - 1 {
				if a, b := s.Values[i], s.Values[i+1]; !s.IsFilled(i) && !s.IsFilled(i+1) {
					d := (b - a) / (a + b)
					sum, n = sum+d*d, n+1
				}
			}
			return math.Sqrt(sum / n)
		}
		coarse := must.Get(s.Resample(20*time.Minute, nil))(t)
		coarser := must.Get(s.Resample(40*time.Minute, nil))(t)
		fine := must.Get(s.Resample(five, rng.Stream(1, "resample")))(t)
		t.Logf("%s: root mean square of (b-a)/(a+b): 40 min %.4f, 20 min %.4f, 10 min %.4f, 5 min as resampled %.4f",
			name, rms(coarser), rms(coarse), rms(s), rms(fine))
		if ratio := rms(s) / rms(coarse); ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%s: differences change by %.2f from 20 to 10 minutes", name, ratio)
		}
		if ratio := rms(fine) / rms(s); ratio < 0.75 || ratio > 1.25 {
			t.Errorf("%s: differences change by %.2f from 10 to 5 minutes", name, ratio)
		}
	}
}

package inference_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/must"
)

// near reports whether a and b differ by at most tol of the larger.
func near(a, b, tol float64) bool { return math.Abs(a-b) <= tol*max(math.Abs(a), math.Abs(b)) }

// TestFitCycle checks that FitCycle gives DefaultCycle for the trace that DefaultCycle names.
func TestFitCycle(t *testing.T) {
	got := must.Get(inference.FitCycle(serveGen(t, "language_m-small")))(t)
	t.Logf("mean %.1f hourly %.3f weekday %.3f", got.Mean, got.Hourly, got.Weekday)
	t.Logf("spread %.3g memory %v jitter %.3g bursts %.3g a day, height %.3g, length %v",
		got.Spread, got.Memory.Round(time.Second), got.Jitter, got.Bursts, got.BurstHeight, got.BurstLength.Round(time.Second))
	want := inference.DefaultCycle()
	for i, v := range numbers(got) {
		if w := numbers(want)[i]; !near(v, w, 0.01) {
			t.Errorf("number %d is %g, DefaultCycle says %g", i, v, w)
		}
	}
}

func numbers(c inference.Cycle) []float64 {
	return slices.Concat([]float64{
		c.Mean, c.Spread, c.Memory.Seconds(), c.Jitter, c.Bursts, c.BurstHeight, c.BurstLength.Seconds(),
	}, c.Hourly[:], c.Weekday[:])
}

// TestFitFindsTheCycle checks that FitCycle recovers the cycle from thirty weeks that the cycle generated, within tolerances.
func TestFitFindsTheCycle(t *testing.T) {
	want := inference.DefaultCycle()
	s := must.Get(want.Generate(210*144, 10*time.Minute, 4))(t)
	got := must.Get(inference.FitCycle(s))(t)
	for i, tol := range []float64{0.05, 0.15, 0.4, 0.15, 0.3, 0.4, 0.3} {
		if v, w := numbers(got)[i], numbers(want)[i]; !near(v, w, tol) {
			t.Errorf("number %d is %g, want %g within %g", i, v, w, tol)
		}
	}
	for h, w := range want.Hourly {
		if !near(got.Hourly[h], w, 0.08) {
			t.Errorf("hour %d: factor %g, want %g", h, got.Hourly[h], w)
		}
	}
}

// TestGenerateRepeats checks that without randomness the series repeats every week and has a daily swing.
func TestGenerateRepeats(t *testing.T) {
	c := inference.DefaultCycle()
	c.Spread, c.Jitter, c.Bursts = 0, 0, 0
	s := must.Get(c.Generate(14*perDay, five, 1))(t)
	same := func(a, b float64) bool { return near(a, b, 1e-9) }
	if !slices.EqualFunc(s.Values[:7*perDay], s.Values[7*perDay:], same) {
		t.Error("the second week is not the first")
	}
	one := s.Values[3*perDay : 4*perDay]
	if ratio := slices.Max(one) / slices.Min(one); ratio < 1.7 {
		t.Errorf("the day's peak is %g times its trough, want at least 1.7", ratio)
	}
}

// TestGenerateIsDeterministic checks that equal arguments give equal series, that another seed gives another series, and that a
// longer series begins with a shorter one.
func TestGenerateIsDeterministic(t *testing.T) {
	c := inference.DefaultCycle()
	generate := func(n int, seed uint64) []float64 {
		s := must.Get(c.Generate(n, five, seed))(t)
		return s.Values
	}
	a := generate(500, 1)
	if !slices.Equal(a, generate(500, 1)) || slices.Equal(a, generate(500, 2)) || !slices.Equal(a, generate(900, 1)[:500]) {
		t.Error("series differ where they should not, or do not where they should")
	}
}

func TestBadCycle(t *testing.T) {
	for _, c := range []struct {
		change func(*inference.Cycle)
		want   string
	}{
		{func(c *inference.Cycle) { c.Mean = -1 }, "mean is -1, want 0 to"},
		{func(c *inference.Cycle) { c.Jitter = math.NaN() }, "jitter is NaN"},
		{func(c *inference.Cycle) { c.Hourly[3] = -1 }, "factor 3 of"},
		{func(c *inference.Cycle) { c.Memory = -1 }, "memory or burst length is -1ns"},
	} {
		cycle := inference.DefaultCycle()
		c.change(&cycle)
		if _, err := cycle.Generate(10, five, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q in it", err, c.want)
		}
	}
	for _, c := range []struct {
		n    int
		step time.Duration
	}{{0, five}, {inference.MaxBins + 1, five}, {10, 0}, {10, 25 * time.Hour}} {
		if _, err := inference.DefaultCycle().Generate(c.n, c.step, 1); err == nil {
			t.Errorf("%d steps of %v are generated", c.n, c.step)
		}
	}
	for _, s := range []inference.Series{{}, {Step: five, Values: []float64{1}}, {Step: five, Values: make([]float64, 3000)}} {
		if _, err := inference.FitCycle(s); err == nil {
			t.Errorf("a cycle is fitted to %d values", len(s.Values))
		}
	}
}

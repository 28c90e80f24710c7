package inference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/internal/rng"
)

// Cycle describes demand that repeats daily and weekly, with slow deviations, jitter and bursts:
//
//	rate(t) = Mean · Hourly(t) · Weekday(t) · exp(slow(t) + jitter(t)) · burst(t)
//
// The factors Hourly and Weekday apply at the middle of their hour and day, with linear interpolation between. slow is a
// first-order autoregressive process, jitter is independent from step to step, and neither changes the mean rate. Bursts begin at
// random, do not overlap, last a geometrically distributed number of steps, and multiply the rate by 1.5 plus an exponentially
// distributed number.
type Cycle struct {
	Mean        float64       // requests per second outside bursts
	Hourly      [24]float64   // mean 1
	Weekday     [7]float64    // mean 1; the first is the day on which the series begins
	Spread      float64       // standard deviation of slow
	Memory      time.Duration // time after which slow's autocorrelation has fallen to 1/e
	Jitter      float64       // standard deviation of jitter
	Bursts      float64       // per day
	BurstHeight float64       // mean of the exponentially distributed part of a burst's factor
	BurstLength time.Duration // mean
}

// burstFloor is the smallest factor of a burst. FitCycle uses it to distinguish bursts from jitter.
const burstFloor = 1.5

// DefaultCycle returns the result of FitCycle for ServeGen's m-small (14 days of 10-minute bins, alibaba/ServeGen, Apache-2.0),
// rounded; TestFitCycle computes it again. The trace does not give a time zone, so hour 0 is the time at which it begins. Two
// weeks are too short to estimate the weekdays well.
func DefaultCycle() Cycle {
	return Cycle{
		Mean: 1180,
		Hourly: [24]float64{
			0.837, 0.712, 0.738, 0.708, 0.709, 0.737, 0.775, 0.884, 1.013, 1.148, 1.122, 1.091,
			1.046, 1.071, 1.047, 1.038, 1.061, 1.011, 1.005, 1.168, 1.375, 1.376, 1.267, 1.060,
		},
		Weekday:     [7]float64{0.903, 0.899, 1.070, 1.101, 1.034, 0.991, 1.002},
		Spread:      0.189,
		Memory:      328 * time.Minute,
		Jitter:      0.0634,
		Bursts:      1.24,
		BurstHeight: 0.364,
		BurstLength: 14 * time.Minute,
	}
}

// check returns an error about the first number out of range.
func (c Cycle) check() error {
	bad := func(name string, v any, want string) error {
		return fmt.Errorf("check demand cycle: %s is %v, want %s", name, v, want)
	}
	for _, f := range [...]struct {
		name    string
		v, most float64
	}{
		{"mean", c.Mean, 1e9}, {"spread", c.Spread, 5}, {"jitter", c.Jitter, 5},
		{"bursts", c.Bursts, 1e4}, {"burst height", c.BurstHeight, 1e3},
	} {
		if !(f.v >= 0 && f.v <= f.most) {
			return bad(f.name, f.v, fmt.Sprintf("0 to %g", f.most))
		}
	}
	for i, v := range slices.Concat(c.Hourly[:], c.Weekday[:]) {
		if !(v >= 0 && v <= 1e3) {
			return bad(fmt.Sprintf("factor %d of the hours and weekdays", i), v, "0 to 1000")
		}
	}
	if c.Memory < 0 || c.BurstLength < 0 {
		return bad("memory or burst length", min(c.Memory, c.BurstLength), "0 or more")
	}
	return nil
}

// at returns the rate at time t without the random factors.
func (c Cycle) at(t time.Duration) float64 {
	return c.Mean * between(c.Hourly[:], t, time.Hour) * between(c.Weekday[:], t, day)
}

// between interpolates factors that apply at the middle of their spans and repeat periodically.
func between(factors []float64, t, span time.Duration) float64 {
	x := float64(t)/float64(span) - 0.5
	whole := math.Floor(x)
	n := len(factors)
	i := (int(whole)%n + n) % n
	return factors[i] + (x-whole)*(factors[(i+1)%n]-factors[i])
}

// Generate draws a series of n steps. Equal arguments give equal series. slow, jitter and bursts draw from separate random
// streams.
func (c Cycle) Generate(n int, step time.Duration, seed uint64) (Series, error) {
	if err := c.check(); err != nil {
		return Series{}, err
	}
	if n < 1 || n > maxBins || step < time.Second || step > day {
		return Series{}, fmt.Errorf("generate demand: %d steps of %v, want 1 to %d of 1s to 24h", n, step, maxBins)
	}
	slow, jitter := rng.Stream(seed, "demand", "slow"), rng.Stream(seed, "demand", "jitter")
	burst := &bursts{cycle: c, r: rng.Stream(seed, "demand", "bursts"), step: step}
	keep := 0.0
	if c.Memory > 0 {
		keep = math.Exp(-float64(step) / float64(c.Memory))
	}
	s := Series{Step: step, Values: make([]float64, n)}
	x := slow.NormFloat64()
	level := -(c.Spread*c.Spread + c.Jitter*c.Jitter) / 2 // corrects the mean: exp of a centred normal has a mean above 1
	for i := range s.Values {
		mid := s.at(i) + step/2
		s.Values[i] = c.at(mid) * math.Exp(level+c.Spread*x+c.Jitter*jitter.NormFloat64()) * burst.next()
		x = keep*x + math.Sqrt(1-keep*keep)*slow.NormFloat64()
	}
	return s, s.Check()
}

// bursts draws the alternation of calm and burst.
type bursts struct {
	cycle  Cycle
	r      *rand.Rand
	step   time.Duration
	factor float64 // of the current burst, 0 in calm
}

func (b *bursts) next() float64 {
	steps := float64(day) / float64(b.step) // steps per day
	if b.factor > 0 && b.r.Float64()*float64(b.cycle.BurstLength) < float64(b.step) {
		b.factor = 0
	} else if b.factor == 0 && b.r.Float64()*steps < b.cycle.Bursts {
		b.factor = burstFloor + b.cycle.BurstHeight*b.r.ExpFloat64()
	}
	return max(b.factor, 1)
}

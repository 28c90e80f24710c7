package belief

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// of returns the distribution with the given chances to last longer than t nanoseconds.
func of(longer func(t float64) float64) (d Distribution) {
	var w [Bins]float64
	for i := range w {
		w[i] = longer(starts[i])
		if i < open {
			w[i] -= longer(starts[i+1])
		}
	}
	d.Set(&w)
	return d
}

// closeTo reports an error unless got is within a relative error of want.
func closeTo(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within*want {
		t.Errorf("%s is %v, want %v with a relative error of at most %v", what, got, want, within)
	}
}

func TestEdges(t *testing.T) {
	e := edges[:Bins]
	if len(e) != Bins || e[0] != 0 || e[1] != 10*time.Second || e[open] < 30*24*time.Hour || e[open] > 32*24*time.Hour {
		t.Errorf("%d bins %v", len(e), e)
	}
	for i, lo := range edges {
		if step(lo) != i || i > 0 && step(lo-1) != i-1 {
			t.Errorf("edge %d (%v) is in step %d, 1 ns before it in %d", i, lo, step(lo), step(lo-1))
		}
	}
	if step(-1) != 0 || step(math.MaxInt64) != len(edges)-1 {
		t.Errorf("steps %d and %d at the ends", step(-1), step(math.MaxInt64))
	}
}

// TestMemoryless checks an exponential distribution of mean 1 h. However long the job has run, it is expected to run as long
// again, up to what bins change.
func TestMemoryless(t *testing.T) {
	const mean = float64(time.Hour)
	d := of(func(t float64) float64 { return math.Exp(-t / mean) })
	for age := time.Duration(0); age < 3*time.Hour; age += 7 * time.Minute {
		closeTo(t, "mean at "+age.String(), float64(d.Mean(age)), mean, 0.07)
		closeTo(t, "median at "+age.String(), float64(d.Quantile(age, 0.5)), math.Ln2*mean, 0.1)
		edge := edges[step(age)]
		closeTo(t, "Gittins at "+edge.String(), float64(d.Gittins(edge)), mean, 0.07)
	}
}

// TestHeavyTail checks a Pareto distribution of shape 2 shifted to begin at 0 (Lomax): the remaining time grows linearly with age,
// and the Gittins index is the chance to end soon.
func TestHeavyTail(t *testing.T) {
	const m = float64(10 * time.Minute)
	d := of(func(t float64) float64 { return m * m / (m + t) / (m + t) })
	for age := time.Minute; age < 25*24*time.Hour; age = age * 4 / 3 {
		a := float64(age)
		closeTo(t, "mean at "+age.String(), float64(d.Mean(age)), m+a, 0.04)
		closeTo(t, "third quartile at "+age.String(), float64(d.Quantile(age, 0.75)), m+a, 0.05)
		closeTo(t, "chance to end within as long at "+age.String(), d.EndsWithin(age, age), 1-math.Pow((m+a)/(m+2*a), 2), 0.03)
		edge := edges[step(age)] // by the inverse of the chance to end soon, in the middle of the bin that begins there
		closeTo(t, "Gittins at "+edge.String(), float64(d.Gittins(edge)), (m+1.125*float64(edge))/2, 0.08)
	}
}

// TestOpenBin checks the closed forms beyond the last edge, which hold for every distribution.
func TestOpenBin(t *testing.T) {
	d := of(func(t float64) float64 { return math.Exp(-t / 1e9) })
	for _, age := range []time.Duration{edges[open], 40 * 24 * time.Hour, 5 * 365 * 24 * time.Hour} {
		a := float64(age)
		closeTo(t, "mean", float64(d.Mean(age)), a, 1e-12)
		closeTo(t, "Gittins", float64(d.Gittins(age)), a/2, 1e-12)
		closeTo(t, "third quartile", float64(d.Quantile(age, 0.75)), a, 1e-9)
		closeTo(t, "chance to end", d.EndsWithin(age, age), 0.75, 1e-9)
	}
	for _, age := range []time.Duration{-1, 0, math.MaxInt64} {
		for _, left := range []time.Duration{d.Mean(age), d.Gittins(age), d.Quantile(age, 0), d.Quantile(age, 1-1e-16)} {
			if left < 1 || left > longest {
				t.Errorf("remaining time %d at %d", left, age)
			}
		}
	}
}

// drawn is a distribution with its weights, by which plain loops compute the answers.
type drawn struct {
	w [Bins]float64
	d Distribution
}

func draw(t *rapid.T) (x drawn) {
	for i := range x.w {
		if rapid.IntRange(0, 2).Draw(t, "bin") > 0 {
			x.w[i] = math.Exp(rapid.Float64Range(-12, 3).Draw(t, "log weight"))
		}
	}
	x.w[rapid.IntRange(0, open).Draw(t, "not empty")] += 1
	x.d.Set(&x.w)
	return x
}

// drawAge draws an age at an edge, within a bin or beyond all edges.
func drawAge(t *rapid.T) time.Duration {
	i := rapid.IntRange(0, Bins+8).Draw(t, "step")
	return edges[i] + time.Duration(rapid.Int64Range(0, 9).Draw(t, "tenths"))*(edges[i+1]-edges[i])/10
}

// longer returns the weight of run times above t, with that of the open bin at least 1e-12 of the sum.
func (x *drawn) longer(t float64) (sum float64) {
	all := 0.0
	for _, w := range x.w {
		all += w
	}
	for i, w := range x.w[:open] {
		lo, hi := starts[i], starts[i]+widths[i]
		sum += w * (hi - min(max(t, lo), hi)) / (hi - lo)
	}
	e := max(t, starts[open])
	return sum + max(x.w[open], 1e-12*all)*starts[open]*starts[open]/e/e
}

// service returns the integral of longer from a to b. In a bin, longer is linear; in the open bin it is c/t².
func (x *drawn) service(a, b float64) (sum float64) {
	for i := range open {
		lo, hi := max(a, starts[i]), min(b, starts[i]+widths[i])
		if lo < hi {
			sum += (hi - lo) * (x.longer(lo) + x.longer(hi)) / 2
		}
	}
	if lo := max(a, starts[open]); lo < b {
		sum += x.longer(lo) * lo * (1 - lo/b)
	}
	return sum
}

func TestAnswersMatchPlainLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, age := draw(t), drawAge(t)
		a := float64(age)
		reached := x.longer(a)
		sum := 0.0
		for i := range Bins {
			sum += x.d.p[i]
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("probabilities add up to %v", sum)
		}
		if got, want := float64(x.d.Mean(age)), x.service(a, math.Inf(1))/reached; math.Abs(got-want) > 1e-9*want+1e-12*a+2 {
			t.Fatalf("mean %v at %v, want %v", got, age, want)
		}
		further := time.Duration(float64(age+time.Second) * rapid.Float64Range(0, 3).Draw(t, "further"))
		want := (reached - x.longer(float64(age+further))) / reached
		if got := x.d.EndsWithin(age, further); math.Abs(got-want) > 1e-6 || got < 0 || got > 1 {
			t.Fatalf("chance %v to end within %v at %v, want %v", got, further, age, want)
		}
		last := time.Duration(0)
		for _, q := range []float64{0, .1, rapid.Float64Range(.1, .9).Draw(t, "q"), .9, .999} {
			left := x.d.Quantile(age, q)
			at := float64(age + left)
			slack := 2 + 1e-12*at
			if left < max(last, 1) || x.longer(at+slack) > reached*(1-q)*(1+1e-6) ||
				left > 2 && x.longer(at-slack) < reached*(1-q)*(1-1e-6) {
				t.Fatalf("quantile %v at %v is %v: %v to %v of %v last longer",
					q, age, left, x.longer(at-slack), x.longer(at+slack), reached)
			}
			last = left
		}
	})
}

// TestGittinsMatchesSearch checks that no way to go on takes less service per completion than Gittins returns, and that one of
// many tried takes hardly more: up to the ends of bins, up to points within bins, and far into the open bin.
func TestGittinsMatchesSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, age := draw(t), drawAge(t)
		a := float64(age)
		reached, best := x.longer(a), math.Inf(1)
		try := func(to float64) {
			if done := reached - x.longer(to); to > a && done > 1e-9*reached {
				best = min(best, x.service(a, to)/done)
			}
		}
		for i := range open {
			for part := range 4 {
				try(starts[i] + widths[i]*float64(part+1)/4)
			}
		}
		for to := max(a, starts[open]) * 1.0001; to < 1e3*(a+starts[open]); to *= 1.05 {
			try(to)
		}
		got := float64(x.d.Gittins(age))
		if got > best*(1+1e-6)+2 || got < best*(1-1e-3)-2 {
			t.Fatalf("Gittins %v at %v, want %v of\n%v", got, age, best, x.w)
		}
	})
}

func TestAnswersDoNotAllocate(t *testing.T) {
	d := of(func(t float64) float64 { return 6e11 / (6e11 + t) })
	if n := testing.AllocsPerRun(100, func() {
		d.Mean(time.Hour)
		d.Gittins(time.Hour)
		d.Quantile(time.Hour, 0.5)
		d.EndsWithin(time.Hour, time.Hour)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

package gittins

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// learned returns an index without queues over services of the given seconds; growth determines its points.
func learned(growth float64, seconds ...float64) *index {
	c := Config{Unit: time.Second, Growth: growth, Least: 1, Window: len(seconds)}
	for _, s := range seconds {
		c.History = append(c.History, time.Duration(s*float64(time.Second)))
	}
	return newIndex(c)
}

// last is the rank of service that no observed job has exceeded.
const last = (span/time.Millisecond - 1) * time.Millisecond

func TestRanksByHand(t *testing.T) {
	for _, c := range []struct {
		name     string
		seconds  []float64
		attained time.Duration
		want     time.Duration
	}{
		{"all take 10 s: what is left", []float64{10, 10}, 0, 10 * time.Second},
		{"all take 10 s, 4 s done", []float64{10, 10}, 4 * time.Second, 6 * time.Second},
		// Δ = 1: 1 s gives a completion in half of the cases, 2 s per completion. Δ = 9: 5 s give one for certain.
		{"half end after 1 s: try that first", []float64{1, 9}, 0, 2 * time.Second},
		{"half end after 1 s, this one did not", []float64{1, 9}, time.Second, 8 * time.Second},
		// Δ = 8: 8 s, a completion in half of the cases, 16 s. Δ = 9: 8.5 s.
		{"half end after 8 s: go on to the end", []float64{8, 9}, 0, 8500 * time.Millisecond},
		{"longer than any that was seen", []float64{1, 9}, 16 * time.Second, last},
	} {
		if got := learned(2, c.seconds...).Rank(c.attained); got != c.want {
			t.Errorf("%s: rank %v, want %v", c.name, got, c.want)
		}
	}
}

func TestLevelsBeforeHistory(t *testing.T) {
	c := Default()
	x := newIndex(c)
	for range c.Least - 1 {
		x.Observe(time.Second)
	}
	for _, v := range []struct{ attained, rank time.Duration }{{0, 0}, {c.Bound - 1, 0}, {c.Bound, 1}, {2 * c.Bound, 1}} {
		if got := x.Rank(v.attained); got != v.rank {
			t.Errorf("rank %d at %v, want the level %d", got, v.attained, v.rank)
		}
	}
	if at, ok := x.Next(0); !ok || at != c.Bound {
		t.Errorf("the rank changes at %v (%v), want at the bound", at, ok)
	}
	if at, ok := x.Next(c.Bound); ok {
		t.Errorf("the rank changes at %v, want never", at)
	}
	x.Observe(time.Second)
	if got := x.Rank(0); got != time.Second {
		t.Errorf("rank %v after %d jobs of 1 s, want 1 s", got, c.Least)
	}
}

// reference computes a rank directly from the definition, with every Δ up to a later point or infinite.
func reference(points, services []time.Duration, from int) time.Duration {
	best, a := last, points[from]
	for _, b := range append(points[from+1:len(points):len(points)], math.MaxInt64) {
		spent, done := time.Duration(0), 0
		for _, s := range services {
			if s > a {
				spent += min(s, b) - a
				if s <= b {
					done++
				}
			}
		}
		if done > 0 {
			best = min(best, (spent / time.Duration(done)).Truncate(time.Millisecond))
		}
	}
	return best
}

// TestRanksMatchReference checks that the rank is that of reference at the last point reached, that queues come first if they
// count, and that a rank does not change until Next says so.
func TestRanksMatchReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := func(name string, low, high int) time.Duration {
			return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Millisecond
		}
		c := Config{
			Unit: ms("unit", 1, 20), Growth: rapid.Float64Range(1.05, 2).Draw(t, "growth"),
			Least: 1, Window: rapid.IntRange(1, 12).Draw(t, "window"), Queues: rapid.Bool().Draw(t, "queues"),
		}
		if rapid.Bool().Draw(t, "bound") {
			c.Bound = ms("at", 1, 100)
		}
		var all []time.Duration
		x := newIndex(c)
		for range rapid.IntRange(1, 20).Draw(t, "jobs") {
			all = append(all, ms("service", 1, 150))
			x.Observe(all[len(all)-1])
		}
		all = all[max(0, len(all)-c.Window):]
		rank := func(at time.Duration) time.Duration {
			want := reference(x.points, all, x.at(at))
			if c.Queues && c.Bound > 0 && at >= c.Bound {
				want += span
			}
			return want
		}
		at := ms("attained", 0, 200)
		if got, want := x.Rank(at), rank(at); got != want {
			t.Fatalf("rank %v at %v, want %v after %v", got, at, want, all)
		}
		next, ok := x.Next(at)
		if ok && (next <= at || x.Rank(next) == x.Rank(at)) {
			t.Fatalf("rank %v at %v, %v at %v: want a change", x.Rank(at), at, x.Rank(next), next)
		}
		for a := at; a < 400*time.Millisecond && (!ok || a < next); a += time.Millisecond {
			if x.Rank(a) != x.Rank(at) {
				t.Fatalf("rank %v at %v but %v at %v, want no change before %v", x.Rank(at), at, x.Rank(a), a, next)
			}
		}
		x.Reset()
		if got := x.Rank(at); got != x.queue(at) {
			t.Fatalf("rank %v after Reset, want the level", got)
		}
	})
}

package physics

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestOverlapByHand(t *testing.T) {
	for _, c := range []struct {
		name string
		r, q rhythm
		want float64
	}{
		{"equal iterations, room for both", rhythm{1, 0.5}, rhythm{1, 0.5}, 0},
		{"equal iterations, too long together", rhythm{1, 0.5}, rhythm{1, 0.7}, 0.4},
		{"nearly equal iterations", rhythm{1, 0.5}, rhythm{1.04, 0.5}, 0},
		{"no common period", rhythm{1, 0.5}, rhythm{1.1, 0.3}, 0.3},
		{"no common period either", rhythm{1, 0.5}, rhythm{7, 0.3}, 0.3},
		{"who never computes", rhythm{1, 1}, rhythm{1, 0.3}, 0.3},
		{"beside one who never computes", rhythm{1, 0.3}, rhythm{1, 1}, 1},
		{"beside one who never communicates", rhythm{1, 0.3}, rhythm{1, 0}, 0},
		{"who never communicates", rhythm{1, 0}, rhythm{1, 0.3}, 0},
		// q communicates 0.4 of 2 = 0.8; r pauses for only 0.5 at a time, so 0.3 of q's 0.8 meet r in one of two of its turns.
		{"beside iterations that take twice as long", rhythm{1, 0.5}, rhythm{2, 0.4}, 0.3},
		{"twice as long as the other's", rhythm{2, 0.4}, rhythm{1, 0.5}, 0.3 / 0.8},
		{"short beside iterations that take twice as long", rhythm{1, 0.5}, rhythm{2, 0.25}, 0},
	} {
		if got := c.r.overlap(c.q); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestOverlapIsThatOfTheBestShift compares the formula with all shifts of two patterns of small time steps.
func TestOverlapIsThatOfTheBestShift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.IntRange(1, mostTurns).Draw(t, "a"), rapid.IntRange(1, mostTurns).Draw(t, "b")
		const fine = 12 // time steps of what both iterations are multiples of
		r, q := fine*a, fine*b
		rOn, qOn := rapid.IntRange(1, r).Draw(t, "r communicates"), rapid.IntRange(0, q).Draw(t, "q communicates")
		least := math.MaxInt
		for shift := range q {
			both := 0
			for at := range r * q {
				if at%r < rOn && (at+shift)%q < qOn {
					both++
				}
			}
			least = min(least, both)
		}
		want := float64(least) / float64(rOn*q)
		one := rhythm{float64(r), float64(rOn) / float64(r)}
		two := rhythm{float64(q), float64(qOn) / float64(q)}
		if got := one.overlap(two); math.Abs(got-want) > 1e-9 {
			t.Fatalf("%v beside %v: %v, want %v", one, two, got, want)
		}
		if x, y := one.busy*one.overlap(two), two.busy*two.overlap(one); math.Abs(x-y) > 1e-9 {
			t.Fatalf("%v and %v communicate at once in %v and in %v of their time", one, two, x, y)
		}
	})
}

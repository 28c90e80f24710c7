package rivals

import (
	"testing"

	"pgregory.net/rapid"
)

// TestContest checks that a job that beats all others wins. If the relation is an order, the contest finds the best job at all
// times.
func TestContest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "contestants")
		wins := make([][]bool, n) // wins[a][b], a < b: a beats b
		for i := range wins {
			wins[i] = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "wins")
		}
		beats := func(a, b int32) bool { return wins[a][b] }
		out := make([]bool, n)
		c := newContest(n, func(a, b int32) bool {
			if a >= b {
				t.Fatalf("asked whether %d beats %d", a, b)
			}
			return beats(a, b)
		})
		for {
			first, alive := c.first(), 0
			for i := range int32(n) {
				champion := !out[i]
				for k := range int32(n) {
					if k != i && !out[k] && (i < k && !beats(i, k) || i > k && beats(k, i)) {
						champion = false
					}
				}
				if champion && first != i {
					t.Fatalf("%d wins, but %d beats all others", first, i)
				}
				if !out[i] {
					alive++
				}
			}
			if alive == 0 {
				if first >= 0 {
					t.Fatalf("%d wins, but all are out", first)
				}
				return
			}
			if first < 0 || out[first] {
				t.Fatalf("%d wins, of %v out", first, out)
			}
			k := rapid.Int32Range(0, int32(n)-1).Draw(t, "who changes")
			switch {
			case out[k] || rapid.Bool().Draw(t, "the winner goes"):
				out[first] = true
				c.out(first)
			default:
				for i := range wins {
					wins[i][k], wins[k][i] = rapid.Bool().Draw(t, "wins"), rapid.Bool().Draw(t, "wins")
				}
				c.changed(k)
			}
		}
	})
}

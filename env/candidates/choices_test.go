package candidates_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
)

// TestChoicesAreBounded checks that the judge is asked at most Choices times in a decision, that the base continues without it,
// and that every job still finishes.
func TestChoicesAreBounded(t *testing.T) {
	simtest.Many(t, 600, func(t *rapid.T) {
		e := simtest.Draw(t)
		most, asked := rapid.IntRange(0, 2).Draw(t, "choices"), 0
		pick := rapid.SliceOfN(rapid.IntRange(0, 4), 64, 64).Draw(t, "picks")
		j := &judge{
			begin: func(*cluster.Txn) { asked = 0 },
			choose: func(_ *cluster.Txn, list []candidates.Candidate) (int, error) {
				if asked++; asked > most {
					t.Fatalf("asked %d times at a decision, want at most %d", asked, most)
				}
				i := pick[0] % len(list)
				pick = append(pick[1:], pick[0])
				return i, nil
			},
		}
		c := usual(t, rapid.SampledFrom(bases()).Draw(t, "base"), func(c *candidates.Config) { c.Choices = most })
		simtest.End(t, simtest.Begin(t, e), candidates.New("bounded", c, j))
	})
}

package review_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/baselines/review"
	"github.com/clustergym/clustergym/env/cluster"
)

// The judge is asked no more often at a decision than it may be, and without it the base goes on: every job still finishes.
func TestChoicesAreBounded(t *testing.T) {
	many(t, 1, func(t *rapid.T) {
		e := drawEpisode(t)
		most, asked := rapid.IntRange(0, 2).Draw(t, "choices"), 0
		pick := rapid.SliceOfN(rapid.IntRange(0, 4), 64, 64).Draw(t, "picks")
		j := &judge{
			begin: func(*cluster.Txn) { asked = 0 },
			choose: func(_ *cluster.Txn, offers []review.Offer) (int, error) {
				if asked++; asked > most {
					t.Fatalf("asked %d times at a decision, want at most %d", asked, most)
				}
				i := pick[0] % len(offers)
				pick = append(pick[1:], pick[0])
				return i, nil
			},
		}
		c := usual(t, rapid.SampledFrom(bases()).Draw(t, "base"), func(c *review.Config) { c.Choices = most })
		end(t, begin(t, e), review.New("bounded", c, j))
	})
}

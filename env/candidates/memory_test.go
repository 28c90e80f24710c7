package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// TestACommitmentOutlivesItsList checks that a guard keeps a candidate's commitment even after the source has shown many other
// lists.
func TestACommitmentOutlivesItsList(t *testing.T) {
	kept, seen := 0, map[string]int{}
	simtest.Many(t, 400, func(t *rapid.T) {
		e, base := simtest.Draw(t), rapid.SampledFrom([]string{"fifo", "sjfskip", "srtf", "sjfskip+menu"}).Draw(t, "base")
		c := drawReview(t, base)
		if rapid.Bool().Draw(t, "wide") {
			c = drawBoard(t, base)
		}
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1))
		var guards []*candidates.Guard
		var want []string
		bound := func(block map[cluster.JobID][]bool, rest []cluster.Proposal) string { return fmt.Sprint(block, rest) }
		simtest.End(t, simtest.Begin(t, e), candidates.New("reviewed", c, &judge{choose: func(_ *cluster.Txn, list []candidates.Candidate) (int, error) {
			for i, g := range guards {
				if got := bound(candidates.Committed(g)); got != want[i] {
					t.Fatalf("%s: a guard is bound to %s, want %s", base, got, want[i])
				}
			}
			for i := range list {
				block, rest := candidates.Binds(&list[i])
				if len(block) == 0 && len(rest) == 0 || len(guards) == 20 {
					continue
				}
				g := candidates.NewGuard(c.Base(), c.Start(), nil)
				g.Commit(&list[i])
				guards, want = append(guards, g), append(want, bound(block, rest))
				seen[list[i].Kind.String()]++
				kept++
			}
			return draw.IntN(len(list)), nil
		}}))
	})
	if t.Logf("%d commitments: %v", kept, seen); kept < 100 {
		t.Errorf("%d commitments, want 100 or more", kept)
	}
}

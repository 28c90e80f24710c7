package candidates_test

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// endless is more choices than a decision about a few jobs can have.
const endless = 200

// TestHoldBoundsHowLongAJobIsKept checks that a judge that only waits, reserves and vetoes keeps a job from a start that the base
// proposes for at most Hold.
func TestHoldBoundsHowLongAJobIsKept(t *testing.T) {
	const retry = 5 * time.Minute // the retry interval after which a job that was kept is reviewed again
	var seen [candidates.Kinds]int
	kept := 0
	simtest.Many(t, 1500, func(t *rapid.T) {
		e := simtest.Draw(t)
		var starts []cluster.JobID
		base := rapid.SampledFrom([]string{"sjfskip", "fifo", "sjfhold", "srtf", "srsf", "las", "srtf+menu"}).Draw(t, "base")
		c := usual(t, base, func(c *candidates.Config) {
			c.Items, c.Hold = 20, time.Duration(rapid.SampledFrom([]int{60, 900, 7200}).Draw(t, "hold"))*time.Second
			inner := c.Base
			c.Base = func() cluster.Scheduler { return simtest.Witness{Scheduler: inner(), Starts: &starts} }
		})
		rank := rapid.Permutation([]candidates.Kind{candidates.Wait, candidates.Stop, candidates.Reserve, candidates.Gather, candidates.Veto}).Draw(t, "taste")
		choices := 0
		p := &watched{Scheduler: candidates.New("reviewed", c, &judge{choose: func(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
			if choices++; choices > endless {
				t.Fatalf("%s: %d choices in one decision", base, choices)
			}
			for _, kind := range rank {
				if i := slices.IndexFunc(list, func(o candidates.Candidate) bool { return o.Kind == kind }); i >= 0 {
					seen[kind]++
					return i, nil
				}
			}
			return 0, nil
		}})}
		since := map[cluster.JobID]time.Duration{}
		var told []cluster.Event
		p.before = func(tx *cluster.Txn) { choices, told = 0, tx.Events() }
		p.after = func(tx *cluster.Txn) {
			if !slices.Equal(tx.Events(), told) {
				t.Fatalf("%s: told %v afterwards, want %v as before", base, tx.Events(), told)
			}
			for _, id := range starts {
				at, before := since[id]
				switch {
				case tx.View().Phase(id) == cluster.Running:
				case !before:
					since[id] = tx.Now()
					kept++
				case tx.Now()-at >= c.Hold+retry:
					t.Fatalf("%s: job %d, which was kept from its start at %v, is still at %v, want it held for %v at most",
						base, id, at, tx.Now(), c.Hold)
				}
			}
		}
		simtest.End(t, simtest.Begin(t, e), p)
	})
	if kept < 100 {
		t.Errorf("kept %d jobs, want 100 or more", kept)
	}
	t.Logf("kept %d jobs with %v", kept, seen)
}

// watched is a scheduler with functions that are called before and after every decision.
type watched struct {
	cluster.Scheduler
	before, after func(*cluster.Txn)
}

func (w *watched) Schedule(tx *cluster.Txn) error {
	w.before(tx)
	err := w.Scheduler.Schedule(tx)
	w.after(tx)
	return err
}

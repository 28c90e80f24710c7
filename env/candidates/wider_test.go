package candidates_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// idle is a base that proposes nothing.
type idle struct{}

func (idle) Name() string                { return "idle" }
func (idle) Reset(uint64) error          { return nil }
func (idle) Schedule(*cluster.Txn) error { return nil }

// TestMoreIsFoundWithTimes checks that a board with Times 10 finds all candidates that it usually finds, and many more starts and
// stops.
func TestMoreIsFoundWithTimes(t *testing.T) {
	var more [candidates.Kinds]int
	found := func(c *candidates.Candidate) bool { // only what the board itself finds: the second base proposes nothing
		return len(c.Ops) > 0 && c.Kind != candidates.Own && c.Kind != candidates.Part && c.Kind != candidates.Rival
	}
	simtest.Many(t, 300, func(t *rapid.T) {
		e := simtest.Draw(t)
		for i := range e.Jobs { // so that there are amounts to choose from
			e.Jobs[i].Request.CPUMilli, e.Jobs[i].Request.MemMiB = 2000, 1000
		}
		c := usual(t, "fifo+menu")
		c.Wide, c.Items, c.Deltas = true, 1000, true
		beside := c.Wider(10)
		beside.Base = func() cluster.Scheduler { return idle{} }
		wider := candidates.NewBoard(beside)
		must.Do(t, wider.Reset(1))
		j := &judge{choose: func(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
			events := slices.Clone(tx.Events())
			if err := wider.Begin(tx); err != nil {
				return 0, err
			}
			tx.Tell(events)
			all := wider.List()
			for i := range list {
				a := &list[i]
				same := func(b candidates.Candidate) bool { return reflect.DeepEqual(a.Ops, b.Ops) }
				if found(a) && !a.Gone && !slices.ContainsFunc(all, same) {
					t.Fatalf("%v %+v is not among %d candidates", a.Kind, a.Ops, len(all))
				}
				more[a.Kind]--
			}
			for i := range all {
				more[all[i].Kind]++
			}
			return 0, nil
		}}
		simtest.End(t, simtest.Begin(t, e), candidates.New("board", c, j))
	})
	t.Logf("more by kind: %v", more)
	for _, kind := range []candidates.Kind{candidates.Begin, candidates.Packed, candidates.Sized, candidates.Amounts, candidates.Preempt} {
		if more[kind] < 50 {
			t.Errorf("%d more of %v, want 50 or more", more[kind], kind)
		}
	}
}

package candidates_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// roomFor finds, by plain loops, the fewest servers that a gang needs: wholly free ones, then one for the remaining workers; each
// time the servers that are free soonest, the lowest id first.
func roomFor(s *cluster.View, id cluster.JobID) (block []bool, free time.Duration, ok bool) {
	block = make([]bool, s.Servers())
	take := func(gpus int32) bool {
		best, at := -1, time.Duration(0)
		for i := range s.Servers() {
			v := cluster.ServerID(i)
			if block[i] || !s.Open(v) || !s.MayUse(id, v) || s.Server(v).GPUs < gpus {
				continue
			}
			var ends []time.Duration
			for g := range s.Server(v).GPUs {
				end, known := s.Now(), !s.Failed(v, g)
				for _, job := range s.Residents(v) {
					if slices.Contains(s.GPUsOn(job, v), g) {
						end, known = max(end, s.ExpectedFinish(job)), known && s.Spec(job).Estimate > 0
					}
				}
				if known {
					ends = append(ends, end)
				}
			}
			slices.SortFunc(ends, cmp.Compare[time.Duration])
			if len(ends) >= int(gpus) && (best < 0 || ends[gpus-1] < at) {
				best, at = i, ends[gpus-1]
			}
		}
		if best < 0 {
			return false
		}
		block[best], free = true, max(free, at)
		return true
	}
	left := s.Spec(id).Workers
	for ; left >= s.MostGPUs(); left -= s.MostGPUs() {
		if !take(s.MostGPUs()) {
			return nil, 0, false
		}
	}
	if left > 0 && !take(left) {
		return nil, 0, false
	}
	return block, free, free > s.Now()
}

// TestABlockIsWhereAGangFindsRoomFirst checks that a reservation's block is the one that plain loops find, for every waiting gang
// in every state.
func TestABlockIsWhereAGangFindsRoomFirst(t *testing.T) {
	found := 0
	simtest.Many(t, 300, func(t *rapid.T) {
		e := simtest.Draw(t)
		var room candidates.Room // it caches predictions from earlier states
		draw := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "draws"), 1))
		c := drawReview(t, rapid.SampledFrom(bases()).Draw(t, "base"))
		simtest.End(t, simtest.Begin(t, e), candidates.New("reviewed", c, &judge{choose: func(tx *cluster.Txn, list []candidates.Candidate) (int, error) {
			s := tx.View()
			room.Renew()
			for _, id := range s.Pending() {
				want, at, fits := roomFor(s, id)
				got, free, ok := room.Reserve(s, id)
				if ok != fits || ok && (free != at || !slices.Equal(got, want)) {
					t.Fatalf("job %d: servers %v at %v, %v; want %v at %v, %v", id, got, free, ok, want, at, fits)
				}
				if ok {
					found++
				}
			}
			return draw.IntN(len(list)), nil
		}}))
	})
	if t.Logf("%d blocks", found); found < 100 {
		t.Errorf("%d blocks, want 100 or more", found)
	}
}

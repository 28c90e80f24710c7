package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// TestArrivalsAreOrderedByTimeThenIndex compares arrivals with a sort by comparison, for times from a few values up to the largest.
func TestArrivalsAreOrderedByTimeThenIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		jobs := make([]trace.Job, r.IntN(400))
		want := make([]entry, len(jobs))
		most := int64(1) << r.IntN(63)
		for i := range jobs {
			jobs[i].Submit = time.Duration(r.Int64N(most))
			if r.IntN(200) == 0 {
				jobs[i].Submit = math.MaxInt64
			}
			want[i] = entry{jobs[i].Submit, cluster.JobID(i)}
		}
		byTime := func(a, b entry) int { return cmp.Compare(a.at, b.at) }
		if sorted := slices.IsSortedFunc(want, byTime); sorted {
			want = nil
		}
		slices.SortStableFunc(want, byTime)
		if got := arrivals(jobs); !slices.Equal(got, want) {
			t.Fatalf("%d jobs up to %d: %v, want %v", len(jobs), most, got, want)
		}
	}
}

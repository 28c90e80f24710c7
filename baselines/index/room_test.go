package index

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// TestRoomCountsWorkers checks when workers find room against a count at every end, also after a start that is taken back.
func TestRoomCountsWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(t, "servers")
		var r room
		for range servers {
			r.free = append(r.free, float64(rapid.IntRange(0, 8).Draw(t, "free")))
		}
		drawEnd := func() end {
			return end{
				time.Duration(rapid.IntRange(1, 9).Draw(t, "hours")) * time.Hour,
				cluster.ServerID(rapid.IntRange(0, servers-1).Draw(t, "server")), float64(rapid.IntRange(1, 4).Draw(t, "gpus")),
			}
		}
		for range rapid.IntRange(0, 8).Draw(t, "ends") {
			r.ends = append(r.ends, drawEnd())
		}
		slices.SortFunc(r.ends, func(a, b end) int { return cmp.Compare(a.left, b.left) })
		worker := rapid.SampledFrom([]float64{0.5, 1, 2, 4}).Draw(t, "worker")
		all := worker * float64(rapid.IntRange(1, 12).Draw(t, "workers"))
		count := func(at time.Duration) (n float64) {
			for id, free := range r.free {
				for _, e := range r.ends {
					if e.left <= at && int(e.server) == id {
						free += e.gpus
					}
				}
				n += float64(int(max(free, 0) / worker))
			}
			return n
		}
		check := func() {
			want := most
			for at := 9 * time.Hour; at >= 0; at -= time.Hour {
				if count(at)*worker >= all {
					want = at
				}
			}
			if got := r.wait(worker, all); got != want {
				t.Fatalf("%v GPUs in workers of %v have room after %v, want %v", all, worker, got, want)
			}
		}
		check()
		free, ends := slices.Clone(r.free), slices.Clone(r.ends)
		e := drawEnd()
		if r.free[e.server] < e.gpus {
			return
		}
		placement := cluster.Placement{{Server: e.server, Workers: int32(e.gpus), Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
		r.add(placement, e.left)
		check()
		r.drop(placement, e.left)
		check()
		for _, list := range [2][]end{r.ends, ends} { // those of the same instant may have changed places
			slices.SortFunc(list, func(a, b end) int {
				return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.server, b.server), cmp.Compare(a.gpus, b.gpus))
			})
		}
		if !slices.Equal(r.free, free) || !slices.Equal(r.ends, ends) {
			t.Fatalf("after a start was taken back: %v %v, before %v %v", r.free, r.ends, free, ends)
		}
	})
}

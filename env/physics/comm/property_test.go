package comm_test

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env/physics/comm"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestAlphaAddsUpPairs checks Alpha and Cut against a reference that adds up the bytes of every pair of replicas.
func TestAlphaAddsUpPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, links := drawJob(t, false), drawLinks(t)
		x, gpus, nic := drawMapping(t, job)
		all := replicas(job, x)
		near(t, comm.Alpha(job, x, links, gpus, nic), refAlpha(job, all, links, gpus, nic))
		near(t, comm.Cut(job, x), refCut(job, all))
	})
}

// TestMappingsAreWhole checks that Ranks and HeavyEdge map every replica once and use at most the given GPUs.
func TestMappingsAreWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := drawJob(t, false)
		_, gpus, _ := drawMapping(t, job)
		for _, row := range []struct {
			name  string
			place func(comm.Mapping, comm.Job, []int32) (comm.Mapping, error)
			room  []int32
			full  bool
		}{
			{"Ranks", comm.Ranks, drawWorkers(t, job), true},
			{"HeavyEdge", comm.HeavyEdge, gpus, false},
		} {
			servers := len(row.room)
			dirty := slices.Repeat(comm.Mapping{7}, rapid.IntRange(0, 40).Draw(t, "reused"))
			x, err := row.place(dirty, job, row.room)
			if err != nil {
				// Enough free GPUs in total may still not give whole replicas on each server.
				if room := wholeReplicas(row.room, job.Tensor); row.full || room*max(job.Tensor, 1) >= int32(job.GPUs()) {
					t.Fatalf("%s: %v", row.name, err)
				}
				continue
			}
			if len(x) != servers*len(job.Stages) {
				t.Fatalf("%s: mapping of %d, want %d", row.name, len(x), servers*len(job.Stages))
			}
			used := make([]int32, servers)
			for s, stage := range job.Stages {
				n := int32(0)
				for m := range servers {
					n += x[s*servers+m]
					used[m] += x[s*servers+m] * max(job.Tensor, 1)
				}
				if n != stage.Replicas {
					t.Errorf("%s: %d replicas of stage %d, want %d", row.name, n, s, stage.Replicas)
				}
			}
			for m := range used {
				if used[m] > row.room[m] || row.full && used[m] < row.room[m] {
					t.Errorf("%s: %d GPUs on server %d, want %d", row.name, used[m], m, row.room[m])
				}
			}
		}
	})
}

// TestHeavyEdgeFollowsItsSteps checks HeavyEdge against a reference that follows its steps on a full matrix of edges.
func TestHeavyEdgeFollowsItsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := drawJob(t, true)
		_, free, _ := drawMapping(t, job)
		x := must.Get(comm.HeavyEdge(nil, job, free))(t)
		if want := refHeavyEdge(job, free); !slices.Equal(x, want) {
			t.Errorf("got %v, want %v", x, want)
		}
	})
}

// TestWorstBoundsAllMappings checks that no mapping to servers of equal size is slower than Worst, not
// even that of Best.
func TestWorstBoundsAllMappings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, links := drawJob(t, false), drawLinks(t)
		x, gpus, _ := drawMapping(t, job)
		size := slices.Max(gpus)
		for m := range gpus {
			gpus[m] = size
		}
		best := must.Get(comm.Best(job, size, links))(t)
		worst := must.Get(comm.Worst(job, size, links))(t)
		if best > worst*(1+1e-9) {
			t.Errorf("best %v above worst %v", best, worst)
		}
		if alpha := comm.Alpha(job, x, links, gpus, nil); alpha > worst*(1+1e-9) {
			t.Errorf("alpha %v above worst %v", alpha, worst)
		}
	})
}

// TestBestAndWorstAreAlphas checks that Worst is Alpha of the scattered mapping, and that Best is at most Alpha of Ranks on
// servers filled one by one.
func TestBestAndWorstAreAlphas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, links := drawJob(t, false), drawLinks(t)
		tensor := max(job.Tensor, 1)
		size := tensor + rapid.Int32Range(0, 12).Draw(t, "larger")
		all := int32(job.GPUs())
		alphaOf := func(most int32) float64 {
			var workers, gpus []int32
			for left := all; left > 0; left -= most {
				workers, gpus = append(workers, min(left, most)), append(gpus, size)
			}
			x := must.Get(comm.Ranks(nil, job, workers))(t)
			return comm.Alpha(job, x, links, gpus, nil)
		}
		worst := must.Get(comm.Worst(job, size, links))(t)
		near(t, worst, alphaOf(tensor))
		best := must.Get(comm.Best(job, size, links))(t)
		if packed := alphaOf(size / tensor * tensor); best > packed {
			t.Errorf("best %v above %v of packed ranks", best, packed)
		}
	})
}

// drawWorkers splits a job's replicas over pieces at random.
func drawWorkers(t *rapid.T, job comm.Job) []int32 {
	tensor := max(job.Tensor, 1)
	var workers []int32
	for left := int32(job.GPUs()) / tensor; left > 0; {
		n := rapid.Int32Range(0, left).Draw(t, "replicas of a piece")
		if len(workers) == 5 {
			n = left
		}
		workers = append(workers, n*tensor)
		left -= n
	}
	return workers
}

func wholeReplicas(free []int32, tensor int32) int32 {
	n := int32(0)
	for _, f := range free {
		n += f / max(tensor, 1)
	}
	return n
}

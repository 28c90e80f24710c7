package comm_test

import (
	"math/rand/v2"
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

// TestServerOrderDoesNotMatter checks that the order of servers does not change Alpha and Cut.
func TestServerOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, links := drawJob(t, false), drawLinks(t)
		x, gpus, nic := drawMapping(t, job)
		servers := len(gpus)
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for m := range servers {
				if !yield(m) {
					return
				}
			}
		})).Draw(t, "order")
		y, gpus2, nic2 := make(comm.Mapping, len(x)), make([]int32, servers), slices.Clone(nic)
		for to, from := range order {
			gpus2[to] = gpus[from]
			if nic != nil {
				nic2[to] = nic[from]
			}
			for s := range job.Stages {
				y[s*servers+to] = x[s*servers+from]
			}
		}
		if a, b := comm.Alpha(job, x, links, gpus, nic), comm.Alpha(job, y, links, gpus2, nic2); a != b {
			t.Errorf("alpha %v, in another order %v", a, b)
		}
		if a, b := comm.Cut(job, x), comm.Cut(job, y); a != b {
			t.Errorf("cut %v, in another order %v", a, b)
		}
	})
}

// TestAlphaGrowsWithWhatItMoves checks that communication only adds to compute time, and that a slower NIC never makes an
// iteration faster.
func TestAlphaGrowsWithWhatItMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, links := drawJob(t, false), drawLinks(t)
		x, gpus, nic := drawMapping(t, job)
		alpha := comm.Alpha(job, x, links, gpus, nic)
		for s, stage := range job.Stages {
			if alpha < stage.Compute {
				t.Errorf("alpha %v, below the compute %v of stage %d", alpha, stage.Compute, s)
			}
		}
		if nic == nil {
			nic = slices.Repeat([]float64{1}, len(gpus))
			if got := comm.Alpha(job, x, links, gpus, nic); got != alpha {
				t.Errorf("alpha %v with multipliers of 1, %v without", got, alpha)
			}
		}
		m := rapid.IntRange(0, len(gpus)-1).Draw(t, "slower")
		nic[m] *= rapid.Float64Range(0.01, 1).Draw(t, "by")
		if slower := comm.Alpha(job, x, links, gpus, nic); slower < alpha {
			t.Errorf("alpha %v, %v with a slower NIC", alpha, slower)
		}
	})
}

// TestOneServer checks that a job on one server does not depend on NICs, has no cut, and is at least as fast as under any other
// mapping.
func TestOneServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job, links := drawJob(t, false), drawLinks(t)
		x, gpus, nic := drawMapping(t, job)
		var one comm.Mapping
		for _, stage := range job.Stages {
			one = append(one, stage.Replicas)
		}
		size := int32(job.GPUs())
		alpha := comm.Alpha(job, one, links, []int32{size}, nil)
		other := links
		other.NIC *= rapid.Float64Range(1e-3, 1e3).Draw(t, "other NIC")
		if got := comm.Alpha(job, one, other, []int32{2 * size}, []float64{0.5}); got != alpha {
			t.Errorf("alpha %v, with other NICs %v", alpha, got)
		}
		if cut := comm.Cut(job, one); cut != 0 {
			t.Errorf("cut %v on one server", cut)
		}
		if got := comm.Alpha(job, x, links, gpus, nic); got < alpha*(1-1e-9) {
			t.Errorf("alpha %v on one server, %v under another mapping", alpha, got)
		}
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

// TestHeavyEdgeBeatsChance checks that HeavyEdge cuts fewer bytes than random mappings on average.
func TestHeavyEdgeBeatsChance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	heavy, random := 0., 0.
	for range 200 {
		job := comm.Job{}
		for range 1 + rng.IntN(4) {
			job.Stages = append(job.Stages, comm.Stage{
				Replicas: 1 + rng.Int32N(5), Compute: 1, Params: rng.Float64(), Activations: rng.Float64(),
			})
		}
		gpus := int32(job.GPUs())
		free := []int32{gpus / 2, gpus - gpus/2}
		x := must.Get(comm.HeavyEdge(nil, job, free))(t)
		heavy += comm.Cut(job, x)
		clear(x)
		for s, stage := range job.Stages {
			for range stage.Replicas {
				m := 0
				if rng.Int32N(free[0]+free[1]) >= free[0] {
					m = 1
				}
				free[m]--
				x[s*2+m]++
			}
		}
		random += comm.Cut(job, x)
	}
	if heavy > 0.8*random {
		t.Errorf("cuts of %v in all, random ones of %v", heavy, random)
	}
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

package backlog

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
)

func drawBacklog(t *rapid.T) []Job {
	jobs := make([]Job, rapid.IntRange(0, 6).Draw(t, "jobs"))
	for i := range jobs {
		jobs[i] = Job{
			ID: cluster.JobID(i), Work: float64(rapid.IntRange(0, 12).Draw(t, "work")),
			Capacity: float64(rapid.IntRange(1, 4).Draw(t, "capacity")), Least: float64(rapid.IntRange(0, 20).Draw(t, "least")) / 2,
			Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")),
		}
	}
	return jobs
}

// ends returns the ends by job.
func ends(jobs []Job) map[cluster.JobID]float64 {
	jobs = slices.Clone(jobs)
	Play(jobs)
	all := map[cluster.JobID]float64{}
	for _, j := range jobs {
		all[j.ID] = j.End
	}
	return all
}

// TestPlayByDefinition checks every end against a plain sum over the jobs that come before it.
func TestPlayByDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawBacklog(t)
		got := ends(jobs)
		for _, j := range jobs {
			want := 0.0
			for _, k := range jobs {
				first, second := k.Work/k.Weight, j.Work/j.Weight
				if k.ID == j.ID || first < second-1e-9 || math.Abs(first-second) < 1e-9 && k.ID < j.ID {
					want += k.Work / k.Capacity
				}
			}
			if want = max(want, j.Least); math.Abs(got[j.ID]-want) > 1e-9 {
				t.Fatalf("job %d of %+v ends at %v, want %v", j.ID, jobs, got[j.ID], want)
			}
		}
	})
}

// TestAnotherJobOrGPU checks that no job ends earlier if there is another job, and none later if the machine has more capacity.
func TestAnotherJobOrGPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawBacklog(t)
		if len(jobs) == 0 {
			return
		}
		fewer, larger := jobs[:len(jobs)-1], slices.Clone(jobs)
		for i := range larger {
			larger[i].Capacity += float64(rapid.IntRange(0, 3).Draw(t, "more"))
		}
		all, some, soon := ends(jobs), ends(fewer), ends(larger)
		for _, j := range jobs {
			if all[j.ID] < some[j.ID]-1e-9 || all[j.ID] < soon[j.ID]-1e-9 {
				t.Fatalf("job %d ends at %v, with one job less at %v, with more capacity at %v", j.ID, all[j.ID], some[j.ID], soon[j.ID])
			}
		}
	})
}

// TestOptimalOnOneMachine checks that without Least no order on one machine has a lower sum of weighted ends.
func TestOptimalOnOneMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawBacklog(t)
		for i := range jobs {
			jobs[i].Least, jobs[i].Capacity = 0, 2
		}
		sum := 0.0
		by := ends(jobs)
		for _, j := range jobs {
			sum += j.Weight * by[j.ID]
		}
		if best := lowest(jobs, 0); math.Abs(sum-best) > 1e-9 {
			t.Fatalf("%+v: weighted ends of %v, the best order has %v", jobs, sum, best)
		}
	})
}

// lowest returns the lowest sum of weighted ends over all orders of jobs from the given time on.
func lowest(jobs []Job, from float64) float64 {
	if len(jobs) == 0 {
		return 0
	}
	best := math.Inf(1)
	for i, j := range jobs {
		end := from + j.Work/j.Capacity
		best = min(best, j.Weight*end+lowest(slices.Delete(slices.Clone(jobs), i, i+1), end))
	}
	return best
}

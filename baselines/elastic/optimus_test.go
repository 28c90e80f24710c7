package elastic

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOptimus(t *testing.T) {
	linear := NewOptimus(OptimusConfig{Unknown: 120 * time.Second, Scaling: Linear})
	// Seconds saved by the third, fourth, ... worker: 50, 25, 15, 10 for long, and 20, 10, 6, 4 for short.
	long, short := asked{base: 2, most: 6, left: 300 * time.Second}, asked{base: 2, most: 6, left: 120 * time.Second}
	tell(t, []story{
		{name: "the worker that saves most comes first", policy: linear, gpus: 8, jobs: []asked{long, short}, want: []int32{5, 3}},
		{name: "a job without an estimate is taken to be that long", policy: linear, gpus: 8,
			jobs: []asked{long, {base: 2, most: 6}}, want: []int32{5, 3}},
		{name: "a worker that takes half of all CPU counts as four with their GPUs", policy: linear, gpus: 8, cpu: 24,
			jobs: []asked{long, {base: 2, most: 6, left: 120 * time.Second, cpu: 12}}, want: []int32{6, 2}},
		// Long saves 50 s for a quarter of all GPUs, that is 200 per unit; short saves 20 and 10 s for a sixteenth, that is 320 and
		// 160.
		{name: "a worker with a share of a GPU costs less", policy: linear, gpus: 4,
			jobs: []asked{{base: 2, most: 6, left: 300 * time.Second}, {base: 2, most: 6, left: 120 * time.Second, milli: 250}},
			want: []int32{3, 4}},
		{name: "every base comes first", policy: linear, gpus: 8,
			jobs: []asked{{base: 4, most: 8, now: 8, left: time.Hour}, {base: 4, most: 4, left: time.Second}}, want: []int32{4, 4}},
		{name: "a quota bounds growth and leaves the rest to others", policy: linear, gpus: 8, quota: 3,
			jobs: []asked{{base: 2, most: 6, left: time.Hour, tenant: "a"}, short}, want: []int32{3, 5}},
	})
}

// TestOptimusIsOptimalWhereGainsDiminish checks that the greedy division is optimal if every further worker saves less than the
// one before: no other division of the workers saves more in total.
func TestOptimusIsOptimalWhereGainsDiminish(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec, list := drawStand(r)
		spec.Quotas = nil
		for i := range list {
			list[i].milli, list[i].left = 0, max(list[i].left, time.Second)
		}
		list = list[:min(len(list), 4)]
		s, jobs := stand(t, spec, list)
		if p := NewOptimus(OptimusConfig{Scaling: Linear}); len(jobs) > 0 {
			p.Allocate(&s.View, jobs)
		}
		workers, total := int32(0), func() (sum float64) {
			for i := range jobs {
				if jobs[i].Want > 0 {
					sum += jobs[i].Left.Seconds() / float64(jobs[i].Want)
				}
			}
			return sum
		}
		for i := range jobs {
			workers += jobs[i].Want
		}
		got := total()
		var try func(i int, left int32)
		try = func(i int, left int32) {
			if i == len(jobs) {
				if best := total(); best < got*(1-1e-12) {
					r.Fatalf("sum of remaining times %g, but %v has %g", got, jobs, best)
				}
				return
			}
			j := &jobs[i]
			if j.Want == 0 {
				try(i+1, left)
				return
			}
			kept := j.Want
			for j.Want = j.Base; j.Want <= min(j.Most, left); j.Want++ {
				try(i+1, left-j.Want)
			}
			j.Want = kept
		}
		try(0, workers)
	})
}

func TestOptimusAsPlainLoops(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec, list := drawStand(r)
		s, jobs := stand(t, spec, list)
		p := NewOptimus(DefaultOptimus()).(*optimus)
		byWorkLeft(jobs)
		want := slices.Clone(jobs)
		whole := float64(spec.GPUs()) * 1000
		gains := make([]float64, len(jobs))
		plainly(s, want, p.Scaling, func(i int32, c throughput) bool {
			j := &want[i]
			left := j.Left
			if left == 0 {
				left = time.Hour
			}
			gains[i] = left.Seconds() * c.at(1) * (1/c.at(j.Want) - 1/c.at(j.Want+1)) / (float64(j.GPUMilli) / whole)
			return gains[i] > 0
		}, func(i, k int32) bool { return gains[i] >= gains[k] })
		if p.Allocate(&s.View, jobs); !slices.Equal(jobs, want) {
			r.Fatalf("jobs\n%v, want\n%v", jobs, want)
		}
	})
}

package headroom

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"pgregory.net/rapid"
)

// TestNobodyGoesBelowTheBounds checks that no baseline goes below any of the bounds, on random episodes.
func TestNobodyGoesBelowTheBounds(t *testing.T) {
	policies := everyPolicy()
	closest, played := math.Inf(1), 0
	rapid.Check(t, func(t *rapid.T) {
		e := drawEpisode(t)
		b, err := newBounds(&e)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range policies {
			s, err := e.New()
			if err != nil {
				t.Fatal(err)
			}
			sched, err := p.New()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Run(t.Context(), sched, 1); err != nil {
				t.Fatal(err)
			}
			if !s.Outcome().Terminated || len(e.Jobs) == e.Config.Warm {
				continue
			}
			m := eval.Measure(s.Log())
			played++
			const rounding = 1e-6 // the simulator rounds by half a nanosecond at each change of speed
			for name, bound := range map[string]float64{"isolated": b.Isolated, "shortest": b.Shortest, "busy": b.Busy, "priced": b.Priced} {
				if bound > b.MeanJCT || m.MeanJCT < bound-rounding {
					t.Fatalf("%s: mean JCT %v, the %s bound is %v: %+v", p.Name, m.MeanJCT, name, bound, b)
				}
			}
			if m.Makespan < b.Makespan-rounding {
				t.Fatalf("%s: makespan %v, the bound is %v", p.Name, m.Makespan, b.Makespan)
			}
			if b.MeanJCT > 0 {
				closest = min(closest, m.MeanJCT/b.MeanJCT)
			}
		}
	})
	if t.Logf("%d episodes, the closest at %v of its bound", played, closest); closest > 1+1e-6 && !testing.Short() { // few episodes may not be among the best
		t.Errorf("no episode is at its bound, the closest at %v", closest)
	}
}

// TestAJobAloneReachesItsBound checks that the bound on a job's time equals the time that the physics gives it alone on the best
// server.
func TestAJobAloneReachesItsBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		physics string
		change  func(*sim.Config, *trace.Job)
		want    float64
	}{
		{"as asked for", "ideal", nil, 100},
		{"with all of its GPU", "ideal", func(_ *sim.Config, j *trace.Job) { j.Request.GPUMilli = 250 }, 25},
		{"where a share is no cap", "sharing(1)", func(_ *sim.Config, j *trace.Job) { j.Request.GPUMilli = 250 }, 100},
		{"with four times its workers", "ideal", func(_ *sim.Config, j *trace.Job) { j.MinWorkers, j.MaxWorkers = 1, 4 }, 25},
		{"of which each beyond the first brings half", "diminishing(0.5)", func(_ *sim.Config, j *trace.Job) {
			j.MinWorkers, j.MaxWorkers = 1, 4
		}, 40},
		{"on an A100", "gpu-type", func(c *sim.Config, _ *trace.Job) { c.Cluster.Servers[1].GPUType = "A100" }, 50},
		{"which it may not use", "gpu-type", func(c *sim.Config, j *trace.Job) {
			c.Cluster.Servers[0].GPUType, c.Cluster.Servers[1].GPUType, j.GPUType = "V100", "A100", "V100"
		}, 100},
		{"that saves checkpoints", "ideal", func(c *sim.Config, _ *trace.Job) {
			c.Restart = sim.Restart{Interval: 9 * time.Minute, Save: time.Minute}
		}, 1000. / 9},
	} {
		e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4)}, Jobs: []trace.Job{{
			JobSpec: cluster.JobSpec{
				Name: "a", Model: profile.Names()[0], Workers: 1,
				Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: 3000, MemMiB: 64000},
			},
			Work: 100 * time.Second,
		}}}
		model, err := physics.Parse(c.physics)
		if err != nil {
			t.Fatal(err)
		}
		if e.Config.Physics = model; c.change != nil {
			c.change(&e.Config, &e.Jobs[0])
		}
		b, err := newBounds(&e)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(b.MeanJCT-c.want) > 1e-6*c.want || math.Abs(b.Makespan-c.want) > 1e-6*c.want {
			t.Errorf("a job %s: bounds %+v, want %v", c.name, b, c.want)
		}
	}
}

// TestBoundsAgainstAllOrders checks that on tiny rigid episodes the bounds do not exceed the best of all orders, and that they
// are often equal to it.
func TestBoundsAgainstAllOrders(t *testing.T) {
	tight, drawn := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		gpus := rapid.IntRange(1, 3).Draw(t, "GPUs")
		e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, gpus)}}
		for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
			e.Jobs = append(e.Jobs, trace.Job{
				JobSpec: cluster.JobSpec{
					Name: string(rune('a' + i)), Workers: rapid.Int32Range(1, int32(gpus)).Draw(t, "workers"),
					Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
				},
				Work: time.Duration(rapid.IntRange(1, 9).Draw(t, "work")) * time.Second,
			})
		}
		b, err := newBounds(&e)
		if err != nil {
			t.Fatal(err)
		}
		mean, makespan := bestOrder(e.Jobs, int32(gpus))
		if mean < b.MeanJCT || makespan < b.Makespan {
			t.Fatalf("the best order has a mean JCT of %v and a makespan of %v, the bounds are %+v", mean, makespan, b)
		}
		drawn++
		if mean < b.MeanJCT*(1+1e-6) && makespan < b.Makespan*(1+1e-6) {
			tight++
		}
	})
	if tight < drawn/10 {
		t.Errorf("the bounds are reached in %d of %d episodes", tight, drawn)
	}
}

// bestOrder returns the best mean and makespan over all orders of jobs that are submitted at 0. In each order, a job starts as
// soon as those before it have started and it fits.
func bestOrder(jobs []trace.Job, gpus int32) (mean, makespan float64) {
	mean, makespan = math.Inf(1), math.Inf(1)
	var try func(order []int)
	try = func(order []int) {
		if len(order) < len(jobs) {
			for i := range jobs {
				if !slices.Contains(order, i) {
					try(append(slices.Clip(order), i))
				}
			}
			return
		}
		free := make([]float64, gpus) // ascending: when each GPU becomes free
		sum, last := 0.0, 0.0
		for _, i := range order {
			n := jobs[i].Workers
			start := free[n-1]
			end := start + jobs[i].Work.Seconds()
			for k := range n {
				free[k] = end
			}
			for a := range free {
				for b := range free[:a] {
					if free[b] > free[a] {
						free[a], free[b] = free[b], free[a]
					}
				}
			}
			sum, last = sum+end, max(last, end)
		}
		mean, makespan = min(mean, sum/float64(len(jobs))), min(makespan, last)
	}
	try(nil)
	return mean, makespan
}

// unknown is a physics model that newSpeeds has no bounds for.
type unknown struct{ physics.Model }

func (unknown) Name() string { return "unknown" }

func TestUnknownPhysicsHasNoBounds(t *testing.T) {
	e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(1, 1), Physics: unknown{physics.Ideal()}}}
	if _, err := newBounds(&e); err == nil {
		t.Error("bounds of unknown physics: want an error")
	}
}

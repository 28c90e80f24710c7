package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// TestForkContinuesLikeTheOriginal checks for forks at many decision points that playing the fork under the same scheduler gives
// exactly the total job time that the original still accumulates, does not change the original, and may reuse the memory of
// another fork.
func TestForkContinuesLikeTheOriginal(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		jobs := make([]trace.Job, 120)
		for i := range jobs {
			jobs[i].Name, jobs[i].Submit = fmt.Sprint(i), time.Duration(r.IntN(3600))*time.Second
			jobs[i].Workers, jobs[i].Request.GPUMilli = 1+int32(r.IntN(12)), cluster.WholeGPU
			jobs[i].Work = time.Duration(1+r.IntN(1200)) * time.Second
			jobs[i].Estimate = jobs[i].Work
		}
		cfg := sim.Config{Cluster: cluster.Uniform(3, 8), Physics: physics.Compose(physics.InterServer{Penalty: 0.5}), Restart: sim.Pause(time.Minute)}
		for _, name := range []string{"sjfskip", "srtf"} {
			whole := total(t, cfg, jobs, name, nil)
			var fork sim.Sim
			n := 0
			again := total(t, cfg, jobs, name, func(s *sim.Sim, sched cluster.Scheduler, spent time.Duration) {
				if n++; n%17 != 0 {
					return
				}
				s.Fork(&fork)
				fresh := must.Get(baselines.New(name))(t)
				rest := time.Duration(0)
				if err := fork.Continue(fresh, 1, func(from, to time.Duration, jobs int) bool {
					rest += time.Duration(jobs) * (to - from)
					return true
				}); err != nil {
					t.Fatal(err)
				}
				if spent+rest != whole {
					t.Fatalf("seed %d, %s, decision %d: %v before and %v after the fork, want %v in all", seed, name, n, spent, rest, whole)
				}
			})
			if again != whole || n < 34 {
				t.Fatalf("seed %d, %s: %v with forks and %v without, after %d decisions", seed, name, again, whole, n)
			}
		}
	}
}

// total plays an episode and returns the integral of the number of jobs in the system over time. It calls look at every decision
// point.
func total(t *testing.T, cfg sim.Config, jobs []trace.Job, name string,
	look func(s *sim.Sim, sched cluster.Scheduler, spent time.Duration)) time.Duration {
	t.Helper()
	s := must.Get(sim.New(cfg, jobs))(t)
	sched := must.Get(baselines.New(name))(t)
	must.Do(t, sched.Reset(1))
	sum := time.Duration(0)
	for {
		from, n := s.State().Now(), len(s.State().Pending())+len(s.State().Running())
		tx, ok := s.Next()
		sum += time.Duration(n) * (s.State().Now() - from)
		if !ok {
			return sum
		}
		if look != nil {
			look(s, sched, sum)
		}
		must.Do(t, sched.Schedule(tx))
		s.Commit()
	}
}

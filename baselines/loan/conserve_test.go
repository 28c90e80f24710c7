package loan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// TestConservation runs a day of Lyra's inference demand with exact predictions (EuroSys 2023, §4, §6). It checks that a server
// never serves inference and training at once, that no job runs on a server of inference, that at least 2 % of the pool are
// never on loan, and that inference always has what it needs. The orchestrator only scales in and stops jobs; nothing is seized.
func TestConservation(t *testing.T) {
	const training, servers, step = 12, 60, 5 * time.Minute
	usage := must.Get(inference.DefaultCycle().Generate(288, step, 7))(t)
	usage = must.Get(usage.Usage(1, 0.95))(t)
	plan := inference.Pool{Servers: servers, Headroom: inference.DefaultHeadroom}
	points := must.Get(inference.Plan(usage, inference.NewOracle(usage.Values), plan))(t)
	cfg := sim.Config{Cluster: pool(training, servers), Grace: step, Restart: sim.Pause(63 * time.Second)}
	for _, p := range points {
		cfg.Demand = append(cfg.Demand, sim.Demand{At: p.At, Need: p.Need, Offer: p.Offer})
	}
	jobs := dayOfJobs()
	for _, set := range []func(*loan.Config){
		func(*loan.Config) {},
		func(c *loan.Config) { c.Policy = loan.SCF },
		func(c *loan.Config) { c.Policy, c.Flexible = loan.Random, false },
	} {
		c := loan.Default()
		set(&c)
		l := play(t, cfg, jobs, loan.New("grower", &watch{Scheduler: grower{}, c: c}, c), 1)
		lent, need, most := map[cluster.ServerID]bool{}, int64(0), 0
		for i := range l.Records {
			r := &l.Records[i]
			switch r.Kind {
			case sim.Need:
				need = cfg.Demand[r.Index].Need
			case sim.Seize:
				t.Fatalf("%v at %v: server %d is taken by force", c, r.At, r.Server)
			case sim.Loan:
				if lent[r.Server] || r.Server < training {
					t.Fatalf("%v at %v: server %d is lent", c, r.At, r.Server)
				}
				lent[r.Server] = true
			case sim.Reclaim:
				if !lent[r.Server] {
					t.Fatalf("%v at %v: server %d goes back", c, r.At, r.Server)
				}
				delete(lent, r.Server)
			}
			for _, p := range l.Placement(r) {
				if p.Server >= training && !lent[p.Server] {
					t.Fatalf("%v at %v: job %d on server %d of inference", c, r.At, r.Job, p.Server)
				}
			}
			// At one instant the demand record comes first, and the owed servers go back after it.
			if last := i+1 == len(l.Records) || l.Records[i+1].At > r.At; last && int64(servers-len(lent))*1000 < need {
				t.Fatalf("%v at %v: %d servers on loan, and inference needs %d / 1000", c, r.At, len(lent), need)
			}
			most = max(most, len(lent))
		}
		if most > servers-plan.Reserve() || most < servers/4 {
			t.Errorf("%v: up to %d servers on loan", c, most)
		}
		t.Logf("%v: up to %d servers on loan, %d loans, %d returns, %d stops, %d resizes, end at %v", c, most,
			count(l, sim.Loan), count(l, sim.Reclaim), count(l, sim.Preempt), count(l, sim.Resize), l.Records[len(l.Records)-1].At)
	}
}

// dayOfJobs draws the jobs of a day that fill training and the servers on loan. Every fourth job is elastic.
func dayOfJobs() (jobs []trace.Job) {
	draw := rng.Stream(3, "day")
	for i := range 600 {
		j := whole(fmt.Sprint(i), draw.IntN(72_000), 600+draw.IntN(15_000), 1+draw.Int32N(8), 0, 0)
		if i%4 == 0 {
			j.Workers *= 2
			j.MinWorkers, j.MaxWorkers = j.Workers/2, j.Workers*2
		}
		jobs = append(jobs, j)
	}
	return jobs
}

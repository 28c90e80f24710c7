package candidates_test

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
)

// TestFewerChoicesOnMoreServers checks that a decision has fewer lists on more servers, so that a burst of starts on a large
// cluster is not reviewed start by start. The starts that are not reviewed are carried out.
func TestFewerChoicesOnMoreServers(t *testing.T) {
	for _, c := range []struct{ servers, want int }{{100, 40}, {500, 40}, {1000, 20}, {4000, 5}} {
		e := sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(c.servers, 1)}}
		for range 40 {
			e.Jobs = append(e.Jobs, gang("one", 0, 10, 1))
		}
		e.Jobs = append(e.Jobs, trace.Job{Work: time.Second, JobSpec: cluster.JobSpec{ // it waits, so there is something to choose
			Name: "all", Estimate: time.Second, Workers: int32(c.servers), Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		}})
		asked, started := 0, 0
		p := &watched{Scheduler: candidates.New("reviewed", usual(t, "fjf"), &judge{
			choose: func(tx *cluster.Txn, _ []candidates.Candidate) (int, error) {
				if tx.Now() == 0 {
					asked++
				}
				return 0, nil
			},
		}), before: func(*cluster.Txn) {}}
		p.after = func(tx *cluster.Txn) {
			if tx.Now() == 0 {
				started = len(tx.Ops())
			}
		}
		simtest.End(t, simtest.Begin(t, &e), p)
		if asked != c.want || started != 40 {
			t.Errorf("%d servers: %d lists and %d starts, want %d and 40", c.servers, asked, started, c.want)
		}
	}
}

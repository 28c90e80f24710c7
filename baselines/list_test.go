package baselines

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// TestLostWorkCounts checks that a job that loses its work together with its server on loan is queued by the work that it then
// has left, not by what it had left before.
func TestLostWorkCounts(t *testing.T) {
	whole := func(name string, submit, work int) job {
		j := job{Work: time.Duration(work) * time.Second}
		j.Name, j.Submit, j.Workers, j.Estimate = name, time.Duration(submit)*time.Second, 1, j.Work
		j.Request.GPUMilli = cluster.WholeGPU
		return j
	}
	spec := cluster.Uniform(2, 1)
	spec.Servers[1].Pool = cluster.Inference
	cfg := sim.Config{
		Cluster: spec, Restart: sim.Restart{FromScratch: true}, Grace: time.Second,
		Demand: []sim.Demand{{Offer: 1}, {At: 40 * time.Second}},
	}
	jobs := []job{whole("long", 0, 100), whole("lost", 1, 50), whole("new", 20, 30)}
	for _, name := range []string{"sjf+loan", "sjfskip+loan"} {
		p := must.Get(New(name))(t)
		got := strings.Join(events(run(t, cfg, jobs, p, 1)), ", ")
		if !strings.Contains(got, "1m40s start 2") || !strings.Contains(got, "2m10s start 1") {
			t.Errorf("%s: %s, want the new job to start at 1m40s and the lost one at 2m10s", name, got)
		}
	}
}

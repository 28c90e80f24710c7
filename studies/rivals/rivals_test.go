package rivals

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// job returns a job that asks for whole GPUs and whose estimate is its run time.
func job(name string, submit, work int, gpus int32) trace.Job {
	run := time.Duration(work) * time.Second
	return trace.Job{Work: run, JobSpec: cluster.JobSpec{
		Name: name, Submit: time.Duration(submit) * time.Second, Workers: gpus, Estimate: run,
		Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

// starts plays jobs on a cluster and returns the names and times of what starts, on several servers with the workers on each.
func starts(t *testing.T, policy string, cfg sim.Config, jobs ...trace.Job) string {
	t.Helper()
	s, err := sim.New(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Table().New(policy)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name() != policy {
		t.Errorf("%s calls itself %s", policy, p.Name())
	}
	if err := s.Run(t.Context(), p, 1); err != nil {
		t.Fatal(err)
	}
	var said []string
	log := s.Log()
	for i := range log.Records {
		if r := &log.Records[i]; r.Kind == sim.Start {
			said = append(said, fmt.Sprintf("%s %g", jobs[r.Job].Name, r.At.Seconds()))
			for _, p := range log.Placement(r) {
				if len(cfg.Cluster.Servers) > 1 {
					said[len(said)-1] += fmt.Sprintf(" %d:%d", p.Server, p.Workers)
				}
			}
		}
	}
	return strings.Join(said, ", ")
}

// TestOrders checks who starts first, and whether a job that does not fit holds up those behind it. a holds 2 or 3 of 4 GPUs until
// 10 s; b is short on 2 GPUs, c long on one, d between them on one with the least GPU-time.
func TestOrders(t *testing.T) {
	cfg := sim.Config{Cluster: cluster.Uniform(1, 4)}
	for policy, want := range map[string][2]string{
		"spjf:predictor=granted":         {"a 0, b 1, d 5, c 5", "a 0, b 10, d 10, c 10"},
		"spwf:predictor=granted":         {"a 0, d 1, b 7, c 10", "a 0, d 1, b 10, c 10"},
		"wcs-duration:predictor=granted": {"a 0, b 1, d 5, c 5", "a 0, d 1, c 7, b 10"},
		"wcs-workload:predictor=granted": {"a 0, d 1, c 1, b 10", "a 0, d 1, c 7, b 10"},
		"wcs-subtime":                    {"a 0, b 1, c 5, d 5", "a 0, c 1, b 10, d 10"},
	} {
		for i, gpus := range []int32{2, 3} {
			jobs := []trace.Job{job("a", 0, 10, gpus), job("b", 1, 4, 2), job("c", 1, 20, 1), job("d", 1, 6, 1)}
			if got := starts(t, policy, cfg, jobs...); got != want[i] {
				t.Errorf("%s, %d GPUs taken: %s, want %s", policy, gpus, got, want[i])
			}
		}
	}
}

// of restricts a job to the given GPU types.
func of(types string, j trace.Job) trace.Job { j.GPUType = types; return j }

// pool returns training and inference servers of four GPUs each, of which inference lends all or what demand says.
func pool(training, inference int, types ...string) sim.Config {
	spec := cluster.Uniform(training+inference, 4)
	for i := range inference {
		spec.Servers[training+i].Pool = cluster.Inference
	}
	for i, kind := range types {
		spec.Servers[i].GPUType = kind
	}
	return sim.Config{Cluster: spec}
}

// TestOpportunistic checks which queue a job waits in, that a job that does not fit blocks its own queue alone, that inference
// takes a server back, that a gang uses one GPU type unless it may mix them, and that the first job starts anywhere if neither
// pool holds one and nothing runs.
func TestOpportunistic(t *testing.T) {
	lends := func(cfg sim.Config, lent ...[2]int) sim.Config {
		for _, o := range lent {
			cfg.Demand = append(cfg.Demand, sim.Demand{At: time.Duration(o[0]) * time.Second, Offer: int32(o[1])})
		}
		return cfg
	}
	busy := lends(pool(3, 2, "V100", "V100", "V100", "T4", "T4"), [2]int{0, 2}, [2]int{50, 1}, [2]int{80, 2})
	busy.Grace = time.Second
	mixed := job("mixed", 0, 5, 8)
	mixed.Mixed = true
	big, fungible := job("big", 0, 5, 10), job("fungible", 0, 5, 8)
	for _, c := range []struct {
		cfg  sim.Config
		jobs []trace.Job
		want string
	}{
		{busy, []trace.Job{
			of("V100", job("v1", 0, 100, 8)), of("V100|T4", job("f1", 0, 30, 3)), of("V100|T4", job("f2", 1, 30, 8)),
			of("V100|T4", job("f3", 2, 5, 1)), of("V100|T4", job("big", 3, 5, 9)), of("V100", job("v2", 3, 5, 1)),
		}, "f1 0 3:3, v1 0 0:4 1:4, f2 30 3:4 4:4, f3 30 2:1, f2 80 3:4 4:4, big 100 0:4 1:4 2:1, v2 100 2:1"},
		{pool(1, 2, "V100", "T4", "P4"), []trace.Job{of("V100", job("v", 0, 20, 4)), mixed, job("one", 1, 5, 2)},
			"mixed 0 1:4 2:4, v 0 0:4, one 5 1:2"},
		{lends(pool(2, 2), [2]int{0, 1}), []trace.Job{big, fungible}, "big 0 0:4 1:4 2:2, fungible 5 0:4 1:4"},
		{lends(pool(2, 2), [2]int{0, 1}), []trace.Job{fungible, big}, "fungible 0 0:4 1:4, big 5 0:4 1:4 2:2"},
	} {
		if got := starts(t, "opportunistic", c.cfg, c.jobs...); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

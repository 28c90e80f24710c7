package rivals

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
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

// starts plays jobs on a cluster and returns the names and times of what starts.
func starts(t *testing.T, policy string, cfg sim.Config, jobs ...trace.Job) string {
	t.Helper()
	Register()
	s, err := sim.New(cfg, jobs)
	if err != nil {
		t.Fatal(err)
	}
	p, err := baselines.New(policy)
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

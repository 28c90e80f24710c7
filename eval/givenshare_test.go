package eval

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// TestMeasureGiven checks what jobs get in the mean over starts: a starts twice, first with 3/2 of its cores and half of its
// memory, then with what it asked for; b, which may have one worker in place of two and asked for no memory, gets half of its
// GPUs and a quarter of its cores. The warm job is not counted.
func TestMeasureGiven(t *testing.T) {
	const s = time.Second
	amount := func(cpu, mem int32) cluster.Amount {
		return cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: cpu, MemMiB: mem}
	}
	place := func(server cluster.ServerID, workers int32, a cluster.Amount) cluster.Placement {
		return cluster.Placement{{Server: server, Workers: workers, Amount: a}}
	}
	spec := cluster.Uniform(2, 2)
	for i := range spec.Servers {
		spec.Servers[i].CPUMilli, spec.Servers[i].MemMiB = 16_000, 16_384
	}
	jobs := []trace.Job{
		{JobSpec: cluster.JobSpec{Name: "warm", Workers: 1, Request: amount(1000, 1024)}, Work: s},
		{JobSpec: cluster.JobSpec{Name: "a", Submit: 10 * s, Workers: 1, Request: amount(4000, 2048)}, Work: 30 * s},
		{JobSpec: cluster.JobSpec{Name: "b", Submit: 10 * s, Workers: 2, MinWorkers: 1, Request: amount(4000, 0)}, Work: 5 * s},
	}
	step := func(tx *cluster.Txn) error {
		switch tx.Now() {
		case 0:
			return tx.Place(0, place(0, 1, amount(2000, 4096)))
		case 10 * s:
			tx.WakeAt(20 * s)
			if err := tx.Place(1, place(0, 1, amount(6000, 1024))); err != nil {
				return err
			}
			return tx.Place(2, place(1, 1, amount(2000, 0)))
		case 20 * s:
			if err := tx.Preempt(1); err != nil {
				return err
			}
			return tx.Place(1, place(0, 1, amount(4000, 2048)))
		}
		return nil
	}
	m := Measure(episode(t, sim.Config{Cluster: spec, Warm: 1}, jobs, &script{"script", step}))
	if m.GivenGPUs != (1+1+.5)/3 || m.GivenCPU != (1.5+1+.25)/3 || m.GivenMem != (.5+1)/2 {
		t.Errorf("given %v GPUs, %v CPU, %v memory", m.GivenGPUs, m.GivenCPU, m.GivenMem)
	}
}

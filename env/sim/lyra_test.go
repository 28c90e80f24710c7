package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// elastic is a job from Lyra's examples: from least to most workers of one GPU each, and its run time in seconds with most
// workers.
type elastic struct {
	least, most int32
	fastest     float64
}

// TestLyraExamples checks the examples of Lyra (EuroSys 2023, tables 2 to 4): two elastic jobs divide eight workers, and when the
// first one ends, its workers go to the other at once. With linear scaling the times are those of the paper. With imperfect
// scaling (§7.2), each worker beyond the least adds 0.8: w workers have the speed 0.8 w + 0.2 least, and the run time with most
// workers stays the same.
func TestLyraExamples(t *testing.T) {
	six50, six20, three100 := elastic{2, 6, 50}, elastic{2, 6, 20}, elastic{2, 3, 100}
	for _, c := range []struct {
		name   string
		a, b   elastic
		on     [2]int32   // workers of a and b at first
		linear [2]float64 // seconds until a and b end
		gain80 [2]float64
	}{
		{"table 2, first", six50, six20, [2]int32{6, 2}, [2]float64{50, 53.33}, [2]float64{50, 50 + 20 - 50*2/5.2}},
		{"table 2, second", six50, six20, [2]int32{2, 6}, [2]float64{63.33, 20}, [2]float64{20 + 50 - 20*2/5.2, 20}},
		{"table 2, third", six50, six20, [2]int32{4, 4}, [2]float64{60, 30}, [2]float64{50 + 20*5.2/3.6 - 20, 20 * 5.2 / 3.6}},
		{"table 4, first", three100, six20, [2]int32{3, 5}, [2]float64{100, 24}, [2]float64{100, 20 * 5.2 / 4.4}},
		{"table 4, second", three100, six20, [2]int32{2, 6}, [2]float64{106.67, 20}, [2]float64{20 + 100 - 20*2/2.8, 20}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, got := range divide(t, physics.Ideal(), c.a, c.b, c.on) {
				if math.Abs(got-c.linear[i]) > 0.01 {
					t.Errorf("linear: job %d takes %.4f s, want %.2f s", i, got, c.linear[i])
				}
			}
			for i, got := range divide(t, physics.Compose(physics.Diminishing{Gain: 0.8}), c.a, c.b, c.on) {
				if math.Abs(got-c.gain80[i]) > 1e-6 {
					t.Errorf("imperfect: job %d takes %.4f s, want %.4f s", i, got, c.gain80[i])
				}
			}
		})
	}
}

// divide returns when the two jobs end.
func divide(t *testing.T, model physics.Model, a, b elastic, on [2]int32) (ends [2]float64) {
	t.Helper()
	var jobs []trace.Job
	for _, e := range []elastic{a, b} {
		jobs = append(jobs, trace.Job{
			JobSpec: cluster.JobSpec{
				Name: "e", Workers: e.most, MinWorkers: e.least, MaxWorkers: e.most, Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			},
			Work: time.Duration(e.fastest * float64(time.Second)),
		})
	}
	log := play(t, sim.Config{Cluster: cluster.Uniform(1, 8), Physics: model}, jobs, &handover{first: on}, 1)
	check(t, log)
	for _, r := range log.Records {
		if r.Kind == sim.Finish {
			ends[r.Job] = r.At.Seconds()
		}
	}
	return ends
}

// handover is a scheduler that starts each job with the given number of workers, and gives the workers of a finished job to the
// other.
type handover struct{ first [2]int32 }

func (*handover) Name() string       { return "handover" }
func (*handover) Reset(uint64) error { return nil }

func (h *handover) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	workers := func(id cluster.JobID, n int32) cluster.Placement {
		return cluster.Placement{{Server: 0, Workers: n, Amount: s.Spec(id).Request}}
	}
	for _, e := range tx.Events() {
		switch e.Kind {
		case cluster.Arrived:
			if err := tx.Place(e.Job, workers(e.Job, h.first[e.Job])); err != nil {
				return err
			}
		case cluster.Finished:
			other := 1 - e.Job
			if s.Phase(other) != cluster.Running {
				continue
			}
			n := min(s.Spec(other).MaxWorkers, s.Placement(other).Workers()+s.FreeGPUs(0))
			if err := tx.Resize(other, workers(other, n)); err != nil {
				return err
			}
		}
	}
	return nil
}

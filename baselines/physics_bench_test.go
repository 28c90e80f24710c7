package baselines_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// everything is a physics model with all parts.
const everything = "gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,40) * jitter(0.1)"

// BenchmarkPhysics compares the simulator with all physics to ideal speed, on the whole Venus trace on 128 servers in racks of
// 16, and with ten times the jobs and servers. Every second job of one GPU asks for half of one, so that jobs share GPUs.
func BenchmarkPhysics(b *testing.B) {
	small := venus(b)
	for _, name := range []string{"ideal", everything} {
		model := must.Get(physics.Parse(name))(b)
		label := "all"
		if name == "ideal" {
			label = name
		}
		for _, policy := range []string{"fifo", "sjfskip", "srtf"} {
			for _, times := range []int{1, 10} {
				cfg := sim.Config{Cluster: racks(128 * times), Physics: model, Restart: sim.Pause(time.Minute)}
				jobs := multiply(small, times)
				b.Run(fmt.Sprintf("%s/%s/%dx", policy, label, times), func(b *testing.B) {
					start := cpu(b)
					for b.Loop() {
						simulate(b, cfg, jobs, policy)
					}
					b.ReportMetric(float64(len(jobs))*float64(b.N)/(cpu(b)-start), "jobs/cpu-s")
				})
			}
		}
	}
}

func racks(servers int) cluster.Spec {
	spec := cluster.Uniform(servers, 8)
	spec.PerGPU = 2
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.Rack, v.GPUType, v.CPUMilli, v.MemMiB = 1+int32(i)/16, "V100", 64_000, 512<<10
	}
	return spec
}

// venus returns the jobs of the trace with exact estimates. It gives them models in turn, and the requests of these models.
func venus(b testing.TB) []trace.Job {
	w, err := trace.Read(filepath.Join(sharedtest.Dir(b), "traces", "helios-venus-2020-06", "helios_data_training.csv.gz"),
		trace.Options{Format: "helios"})
	if err != nil {
		b.Fatal(err)
	}
	names := profile.Names()
	for i := range w.Jobs {
		j := &w.Jobs[i]
		j.Model = names[i%len(names)]
		j.Request.CPUMilli, j.Request.MemMiB = 6000, 48<<10
		if j.Workers == 1 && i%2 == 0 {
			j.Request.GPUMilli = cluster.WholeGPU / 2
		}
	}
	grant(w.Jobs)
	return w.Jobs
}

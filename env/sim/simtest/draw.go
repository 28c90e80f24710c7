// Package simtest helps with property tests: it draws small episodes, plays them to their end and prints states.
package simtest

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// Draw draws an episode on a small cluster that is short of GPUs. Some episodes have several GPU types, quotas, servers to borrow
// or failures. Some jobs are elastic, share GPUs or have wrong estimates. Every estimate and work is at least a second.
func Draw(t *rapid.T) *sim.Episode {
	yes := func(name string) bool { return rapid.IntRange(0, 2).Draw(t, name) == 0 }
	e := &sim.Episode{}
	e.Config.Cluster = cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), rapid.IntRange(2, 4).Draw(t, "GPUs"))
	model, err := physics.Parse(rapid.SampledFrom([]string{
		"inter-server(0.5) * sharing(0.3)", "gpu-type * sharing(1) * inter-server(0.5)", "gpu-type * cpu-mem * sharing(0.3) * scaling",
	}).Draw(t, "physics"))
	if err != nil {
		t.Fatal(err)
	}
	e.Config.Physics, e.Config.Restart = model, sim.Pause(Seconds(t, "pause", 0, 60))
	types := yes("types")
	if types {
		for i := range e.Config.Cluster.Servers {
			e.Config.Cluster.Servers[i].GPUType = []string{"V100", "T4"}[i%2]
		}
	}
	if yes("quotas") {
		e.Config.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: rapid.Int32Range(1, 3).Draw(t, "quota")}}
	}
	submit := time.Duration(0)
	for i := range rapid.SampledFrom([]int{2, 4, 7, 10, 14}).Draw(t, "jobs") {
		submit += Seconds(t, "after", 0, rapid.SampledFrom([]int{20, 600}).Draw(t, "at most"))
		work := Seconds(t, "work", 1, rapid.SampledFrom([]int{100, 3000, 20_000}).Draw(t, "longest"))
		j := trace.Job{Work: work, JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), Submit: submit,
			Model:   rapid.SampledFrom([]string{"", "resnet50", "bert"}).Draw(t, "model"),
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		}}
		if j.Estimate = j.Work; yes("wrong") {
			j.Estimate = Seconds(t, "estimate", 1, 5000)
		}
		if types {
			j.GPUType = rapid.SampledFrom([]string{"", "", "V100|T4", e.Config.Cluster.Servers[0].GPUType}).Draw(t, "type")
			j.Mixed = rapid.Bool().Draw(t, "mixed")
		}
		if yes("of a tenant") {
			j.Tenant = "a"
		}
		if yes("share") {
			j.Request.GPUMilli = 500
		}
		most := int32(min(e.Config.Cluster.Capacity(&j.JobSpec), 6))
		j.Workers = rapid.Int32Range(1, most).Draw(t, "workers")
		if yes("elastic") {
			j.MinWorkers, j.MaxWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least"), min(2*j.Workers, most)
		}
		e.Jobs = append(e.Jobs, j)
	}
	if yes("pool") {
		lent := e.Config.Cluster.Servers[0]
		lent.Pool = cluster.Inference
		e.Config.Cluster.Servers, e.Config.Grace = append(e.Config.Cluster.Servers, lent), Seconds(t, "grace", 0, 60)
		for i := range 4 {
			at := time.Duration(i) * 20 * time.Minute
			e.Config.Demand = append(e.Config.Demand, sim.Demand{At: at, Need: 500, Offer: int32(rapid.IntRange(0, 1).Draw(t, "offer"))})
		}
	}
	if yes("outage") {
		from := Seconds(t, "fails", 0, 3000)
		to := from + Seconds(t, "out for", 1, 3000)
		e.Config.Outages = []sim.Outage{{From: from, To: to, GPU: rapid.Int32Range(-1, 1).Draw(t, "GPU")}}
	}
	return e
}

package review_test

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// many checks a property so many times, or as many as -rapid.checks says if that is not its usual 100.
func many(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	if usual := checks.String(); usual == "100" {
		if err := checks.Set(strconv.Itoa(times)); err != nil {
			t.Fatal(err)
		}
		defer checks.Set(usual)
	}
	rapid.Check(t, property)
}

// bases lists every baseline but rollout by name, as it is and with the suffixes that it takes.
func bases() (names []string) {
	for _, b := range baselines.All() {
		if b.Name == "rollout" {
			continue
		}
		names = append(names, b.Name, b.Name+baselines.LoanSuffix)
		if b.Orders() {
			names = append(names, b.Name+baselines.MenuSuffix, b.Name+baselines.MenuSuffix+baselines.LoanSuffix)
		}
	}
	return names
}

// drawEpisode draws a small cluster that is short of GPUs: of several types, with quotas, servers to borrow and failures at
// times, and jobs some of which are elastic, share GPUs or have wrong estimates. Estimates and works are seconds or more.
func drawEpisode(t *rapid.T) *episode {
	seconds := func(name string, from, to int) time.Duration {
		return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
	}
	yes := func(name string) bool { return rapid.IntRange(0, 2).Draw(t, name) == 0 }
	e := &episode{}
	e.Cluster = cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), rapid.IntRange(2, 4).Draw(t, "GPUs"))
	model, err := physics.Parse(rapid.SampledFrom([]string{
		"inter-server(0.5) * sharing(0.3)", "gpu-type * sharing(1) * inter-server(0.5)", "gpu-type * cpu-mem * sharing(0.3) * scaling",
	}).Draw(t, "physics"))
	if err != nil {
		t.Fatal(err)
	}
	e.Physics, e.Restart = model, sim.Pause(seconds("pause", 0, 60))
	types := yes("types")
	if types {
		for i := range e.Cluster.Servers {
			e.Cluster.Servers[i].GPUType = []string{"V100", "T4"}[i%2]
		}
	}
	if yes("quotas") {
		e.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: rapid.Int32Range(1, 3).Draw(t, "quota")}}
	}
	submit := time.Duration(0)
	for i := range rapid.SampledFrom([]int{2, 4, 7, 10, 14}).Draw(t, "jobs") {
		submit += seconds("after", 0, rapid.SampledFrom([]int{20, 600}).Draw(t, "at most"))
		j := trace.Job{Work: seconds("work", 1, rapid.SampledFrom([]int{100, 3000, 20_000}).Draw(t, "longest")), JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), User: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), Submit: submit,
			Model: rapid.SampledFrom([]string{"", "resnet50", "bert"}).Draw(t, "model"), Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		}}
		if j.Estimate = j.Work; yes("wrong") {
			j.Estimate = seconds("estimate", 1, 5000)
		}
		if types {
			j.GPUType = rapid.SampledFrom([]string{"", "", "V100|T4", e.Cluster.Servers[0].GPUType}).Draw(t, "type")
			j.Mixed = rapid.Bool().Draw(t, "mixed")
		}
		if yes("of a tenant") {
			j.Tenant = "a"
		}
		if yes("share") {
			j.Request.GPUMilli = 500
		}
		most := int32(min(e.Cluster.Capacity(&j.JobSpec), 6))
		j.Workers = rapid.Int32Range(1, most).Draw(t, "workers")
		if yes("elastic") {
			j.MinWorkers, j.MaxWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least"), min(2*j.Workers, most)
		}
		e.jobs = append(e.jobs, j)
	}
	if yes("pool") {
		lent := e.Cluster.Servers[0]
		lent.Pool = cluster.Inference
		e.Cluster.Servers, e.Grace = append(e.Cluster.Servers, lent), seconds("grace", 0, 60)
		for i := range 4 {
			at := time.Duration(i) * 20 * time.Minute
			e.Demand = append(e.Demand, sim.Demand{At: at, Need: 500, Offer: int32(rapid.IntRange(0, 1).Draw(t, "offer"))})
		}
	}
	if yes("outage") {
		from := seconds("fails", 0, 3000)
		e.Outages = []sim.Outage{{From: from, To: from + seconds("out for", 1, 3000), GPU: rapid.Int32Range(-1, 1).Draw(t, "GPU")}}
	}
	return e
}

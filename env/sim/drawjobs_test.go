package sim_test

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// drawJobs draws jobs that the empty cluster can run. Every job has an estimate, and some estimates are exact.
func drawJobs(t *rapid.T, cfg *sim.Config) []trace.Job {
	jobs := make([]trace.Job, 0, 10)
	for i := range rapid.IntRange(0, 15).Draw(t, "jobs") {
		var j trace.Job
		j.Name = fmt.Sprintf("%d", i)
		j.User = rapid.SampledFrom([]string{"", "ann", "böb \"b\""}).Draw(t, "user")
		j.Tenant = rapid.SampledFrom([]string{"", "ann", "böb"}).Draw(t, "tenant")
		if rapid.IntRange(0, 3).Draw(t, "later") > 0 {
			j.Submit = drawTime(t, "submit", 1000)
		}
		j.Work = drawTime(t, "work", 4000)
		j.Estimate = 1 + drawTime(t, "estimate", 4000)
		j.Deadline, j.Priority = drawTime(t, "deadline", 4000), rapid.Int32Range(-2, 2).Draw(t, "priority")
		if rapid.Bool().Draw(t, "true estimate") {
			j.Estimate = max(j.Work, 1)
		}
		j.Ran = rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "ran before")
		j.Status = rapid.SampledFrom([]trace.Status{trace.Unknown, trace.Passed, trace.Killed}).Draw(t, "status")
		drawNature(t, &j.JobSpec)
		if rapid.IntRange(0, 3).Draw(t, "bound to servers") == 0 {
			j.Where = drawWhere(t, len(cfg.Cluster.Servers))
		}
		if cfg.Cluster.Capacity(&j.JobSpec) == 0 {
			j.Where = nil
			j.Request, j.GPUType, j.Tensor, j.Tenant = cluster.Amount{GPUMilli: 250}, "", 0, "böb"
		}
		if drawGang(t, &j.JobSpec, cfg.Cluster.Capacity(&j.JobSpec)) {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// drawWhere draws the servers on which a job may run.
func drawWhere(t *rapid.T, servers int) *cluster.ServerSet {
	set := cluster.NewServerSet(servers)
	for i := range servers {
		if rapid.Bool().Draw(t, "will do") {
			set.Add(cluster.ServerID(i))
		}
	}
	return set
}

// drawNature draws what the job trains and what each of its workers needs.
func drawNature(t *rapid.T, j *cluster.JobSpec) {
	j.Model = rapid.SampledFrom(append(profile.Names(), "", "unheard of")).Draw(t, "model")
	j.Group = rapid.SampledFrom([]string{"", "nightly"}).Draw(t, "group")
	j.Request = cluster.Amount{
		GPUMilli:  rapid.SampledFrom([]int32{1000, 1000, 500, 300}).Draw(t, "GPU milli"),
		CPUMilli:  rapid.SampledFrom([]int32{0, 1500, 3000}).Draw(t, "CPU milli"),
		MemMiB:    rapid.SampledFrom([]int32{0, 20_000, 64_000}).Draw(t, "MiB"),
		GPUMemMiB: rapid.SampledFrom([]int32{0, 4000, 12_000, 20_000}).Draw(t, "MiB on the GPU"),
	}
	j.GPUType = rapid.SampledFrom([]string{"", "", "V100", "T4|A100|K80"}).Draw(t, "GPU type wanted")
	j.Mixed = rapid.IntRange(0, 3).Draw(t, "mixed") == 0
	j.Tensor = rapid.SampledFrom([]int32{0, 0, 0, 2}).Draw(t, "tensor")
}

// drawGang draws a gang of at most the given number of workers: elastic, with stages, or neither. It returns false if no gang is
// that small.
func drawGang(t *rapid.T, j *cluster.JobSpec, most int64) bool {
	together, limit := j.Together(), int32(min(most, 8))
	if limit < together {
		return false
	}
	stages := rapid.SampledFrom([]int32{0, 0, 2, 3}).Draw(t, "stages")
	if max(stages, 1)*together > limit {
		stages = 0
	}
	role := max(stages, 1) * together
	if role > 1 {
		j.Stages, j.Workers = stages, role*rapid.Int32Range(1, limit/role).Draw(t, "replicas")
		return true
	}
	j.Stages, j.Workers = stages, rapid.Int32Range(1, limit).Draw(t, "workers")
	if rapid.Bool().Draw(t, "elastic") {
		j.MinWorkers, j.MaxWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least"), j.Workers+rapid.Int32Range(0, 3).Draw(t, "more")
	}
	return true
}

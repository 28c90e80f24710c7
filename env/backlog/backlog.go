// Package backlog estimates when the jobs that wait or run would end if no other job arrived. It is a fluid model: the cluster is
// one virtual machine that serves the job with the least work first, as in A-SRPT (baselines/asrpt), and a job ends no earlier
// than it could with all the GPUs that it can use.
package backlog

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// Job is a job that has not ended. Times are in hours, and a GPU of speed 1 is one on which the job runs as fast as its work
// says.
type Job struct {
	ID       cluster.JobID
	Work     float64 // left, in GPU-hours on GPUs of speed 1
	Capacity float64 // of the virtual machine for this job, in GPUs of speed 1; above 0
	Least    float64 // the time that the job needs even with all the GPUs that it can use
	Weight   float64 // above 0; the machine serves jobs by their work divided by their weight
	End      float64 // the time from now until the job ends; set by Play
}

// Play sets the ends of the jobs, and sorts the jobs in the order in which the machine serves them: by work divided by weight,
// least first, then by ID. The machine takes Work / Capacity for a job, and a job ends when the machine has served it and all
// before it, but no earlier than Least.
//
// On one machine, without Least, that order gives the lowest sum of weighted ends (Smith, Naval Research Logistics Quarterly
// 1956); with equal weights it is shortest remaining processing time first.
func Play(jobs []Job) {
	slices.SortFunc(jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Work*b.Weight, b.Work*a.Weight), cmp.Compare(a.ID, b.ID))
	})
	served := 0.0
	for i := range jobs {
		j := &jobs[i]
		served += j.Work / j.Capacity
		j.End = max(served, j.Least)
	}
}

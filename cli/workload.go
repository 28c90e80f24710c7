package cli

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// fitCluster removes or clamps the jobs that are too large for the empty cluster, as the mode says, and returns the remaining
// jobs and the number of too large ones.
func fitCluster(a *app, w trace.Workload, spec cluster.Spec, mode trace.OversizeMode) ([]trace.Job, int, error) {
	room := spec.Rooms()
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	jobs, n, err := trace.Oversize(w.Jobs, fits, mode, int32(spec.GPUs()))
	if err != nil {
		return nil, 0, fmt.Errorf("%w: enlarge the cluster, or set --oversize to drop or clamp", err)
	}
	if len(jobs) == 0 {
		return nil, 0, fmt.Errorf("%s: no job fits the cluster: enlarge it", w.Name)
	}
	if n > 0 {
		done := map[trace.OversizeMode]string{trace.OversizeDrop: "left out", trace.OversizeClamp: "cut to its size"}[mode]
		a.Say("%s: %d jobs too large for the cluster are %s", w.Name, n, done)
	}
	return jobs, n, nil
}

package cli

import (
	"fmt"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// fitCluster removes or clamps the jobs that are too large for the empty cluster, as the mode says, and returns the remaining
// jobs, in the memory of those of the workload, and the number of too large ones.
func fitCluster(a *app, w trace.Workload, spec cluster.Spec, mode trace.OversizeMode) ([]trace.Job, int, error) {
	room := spec.Rooms()
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	jobs, n := w.Jobs[:0], 0
	for part := range slices.Chunk(w.Jobs, 1<<12) { // in parts, as a copy of a million jobs takes 200 MB
		left, changed, err := trace.Oversize(part, fits, mode, int32(spec.GPUs()))
		if err != nil {
			return nil, 0, fmt.Errorf("%w: enlarge the cluster, or set --oversize to drop or clamp", err)
		}
		jobs, n = append(jobs, left...), n+changed
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

package trace

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
)

// OversizeMode selects what happens to a job that the cluster could never run.
type OversizeMode string

// The modes. The zero value is OversizeError.
const (
	OversizeError OversizeMode = "error" // return an error that names the job
	OversizeDrop  OversizeMode = "drop"  // leave the job out
	OversizeClamp OversizeMode = "clamp" // reduce its gang to the largest allowed size and keep its Work; see Oversize
)

// Oversize handles the jobs for which fits returns false. It returns the remaining jobs, in order, in a new slice, and the number
// of jobs that it dropped or clamped. OversizeClamp reduces gangs to maxWorkers, and the range of elastic jobs as well. It
// reduces a gang with stages or tensor-parallel groups to a multiple of stages times tensor. If that product alone exceeds
// maxWorkers, the gang loses first its stages and then its groups. If a job does not fit even then, Oversize returns an error
// that names it.
func Oversize(jobs []Job, fits func(*cluster.JobSpec) bool, mode OversizeMode, maxWorkers int32) ([]Job, int, error) {
	switch mode {
	case "", OversizeError, OversizeDrop:
	case OversizeClamp:
		if maxWorkers < 1 {
			return nil, 0, fmt.Errorf("clamp oversize jobs to %d workers: want at least 1", maxWorkers)
		}
	default:
		return nil, 0, fmt.Errorf("oversize mode %q: want error, drop or clamp", mode)
	}
	kept := make([]Job, 0, len(jobs))
	changed := 0
	for i := range jobs {
		j := jobs[i]
		if fits(&j.JobSpec) {
			kept = append(kept, j)
			continue
		}
		if mode == OversizeDrop {
			changed++
			continue
		}
		if mode == OversizeClamp && j.Workers > maxWorkers {
			clamp(&j, maxWorkers)
			if fits(&j.JobSpec) {
				kept = append(kept, j)
				changed++
				continue
			}
		}
		return nil, 0, fmt.Errorf("job %s: %d workers of %d/1000 GPU, %d CPU milli and %d MiB never fit this cluster",
			j.Name, jobs[i].Workers, j.Request.GPUMilli, j.Request.CPUMilli, j.Request.MemMiB)
	}
	return kept, changed, nil
}

// clamp reduces a gang with more workers to most, as described at Oversize.
func clamp(j *Job, most int32) {
	j.Workers = most
	j.MinWorkers, j.MaxWorkers = min(j.MinWorkers, most), min(j.MaxWorkers, most)
	if roles(j) > int64(most) {
		j.Stages = 0
	}
	if roles(j) > int64(most) {
		j.Tensor = 0
	}
	j.Workers -= int32(int64(most) % roles(j))
}

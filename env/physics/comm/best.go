package comm

import "fmt"

// Best returns α_min: the time in seconds of one iteration of the job alone on the fewest servers of gpusPerServer GPUs that can
// hold it. It is the minimum of [Alpha] over a few good mappings, not over all mappings. The candidates fill the servers one
// after another or evenly, and map the replicas by [Ranks] or by [HeavyEdge].
//
// Best returns an error if the job or the links are not valid, or if a server is too small for a replica.
func Best(job Job, gpusPerServer int32, links Links) (float64, error) {
	if err := check(job, gpusPerServer, links); err != nil {
		return 0, fmt.Errorf("find the best iteration time: %w", err)
	}
	tensor := job.tensor()
	replicas, room := job.replicas(), int(gpusPerServer/tensor)
	servers := (replicas + room - 1) / room
	gpus, workers := make([]int32, servers), make([]int32, servers)
	packed := func(m int) int { return min(room, replicas-m*room) }
	even := func(m int) int { return replicas*(m+1)/servers - replicas*m/servers }
	best := 0.
	var x Mapping
	for i, fill := range []func(m int) int{packed, even} {
		for m := range servers {
			gpus[m], workers[m] = gpusPerServer, int32(fill(m))*tensor
		}
		for j, place := range []func(Mapping, Job, []int32) (Mapping, error){Ranks, HeavyEdge} {
			if i+j > 0 && servers == 1 {
				continue
			}
			var err error
			if x, err = place(x, job, workers); err != nil {
				return 0, fmt.Errorf("find the best iteration time: %w", err)
			}
			if alpha := Alpha(job, x, links, gpus, nil); i+j == 0 || alpha < best {
				best = alpha
			}
		}
	}
	return best, nil
}

// Worst returns α_max: the time in seconds of one iteration with every replica on its own server of gpusPerServer GPUs. It is an
// upper bound for all mappings to servers of that size if the bandwidth inside servers is at least a GPU's share of the NIC.
//
// Worst returns the same errors as [Best].
func Worst(job Job, gpusPerServer int32, links Links) (float64, error) {
	if err := check(job, gpusPerServer, links); err != nil {
		return 0, fmt.Errorf("find the worst iteration time: %w", err)
	}
	nic := links.nic(job.tensor(), gpusPerServer)
	alpha := 0.
	for s := range job.Stages {
		out := job.ring(s)
		if s > 0 {
			out += float64(job.Stages[s-1].Replicas) * job.pair(s-1)
		}
		if s+1 < len(job.Stages) {
			out += float64(job.Stages[s+1].Replicas) * job.pair(s)
		}
		alpha = max(alpha, job.alone(s, links)+out/nic)
	}
	return alpha, nil
}

func check(job Job, gpusPerServer int32, links Links) error {
	if err := job.Validate(); err != nil {
		return err
	}
	if err := links.Validate(); err != nil {
		return err
	}
	if gpusPerServer < job.tensor() {
		return fmt.Errorf("servers of %d GPUs, want at least the %d of a replica", gpusPerServer, job.tensor())
	}
	return nil
}

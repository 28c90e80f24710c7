package comm

import (
	"fmt"
	"math"
)

// Mapping contains the number of replicas of each stage on each server, stage by stage: [stage·servers + server]. It may list
// only the servers that a job uses, in any order, each once. Functions that build a Mapping append to their argument x[:0], so
// the caller can reuse its memory.
type Mapping []int32

// Alpha returns the time of one iteration in seconds. For a stage s with k_s replicas in all, of which x are on server m (k_n and
// x_n for a neighbour stage n), the terms are
//
//	u_s      = 2·Activations_s / (k_s·k_{s+1})                    bytes of a replica pair, both ways
//	nic      = NIC·x·Tensor/gpus[m], times nic[m]
//	pipeline = x·Σ_n (k_n - x_n)·u_n / nic + Σ_n x_n·u_n / (Intra·Tensor)      over the neighbour stages n = s-1, s+1
//	reduce   = 2(k-1)/k·Params / (Intra·Tensor) on one server, / min nic over the servers of s on several
//	tensor   = 2(Tensor-1)/Tensor·TensorBytes / Intra
//	time     = Compute + tensor + max over servers of pipeline + reduce
//
// In a full pipeline the slowest stage sets the time of an iteration. gpus[m] is the number of all GPUs of server m, not only
// the free ones, and at least as many as the mapping uses there. nic[m] multiplies the NIC bandwidth of server m. It is in (0,
// 1], and below 1 for example when servers contend for an uplink; a nil nic means 1 for every server. The time of a job on one
// server does not depend on nic or gpus.
//
// Alpha does not allocate. It panics if the lengths of the slices do not match, or if the mapping does not contain every replica
// exactly once. The job and the links must be valid.
func Alpha(job Job, x Mapping, links Links, gpus []int32, nic []float64) float64 {
	servers := len(gpus)
	if len(x) != len(job.Stages)*servers || nic != nil && len(nic) != servers {
		panic(fmt.Sprintf("comm: alpha of %d stages on %d servers: mapping of %d, %d multipliers",
			len(job.Stages), servers, len(x), len(nic)))
	}
	tensor := job.tensor()
	inside := links.Intra * float64(tensor)
	alpha := 0.
	before := 0. // bytes between one replica of this stage and one of the stage before
	for s := range job.Stages {
		after := job.pair(s)
		mapped, on := int32(0), 0
		pipeline, narrowest := 0., math.Inf(1)
		for m, n := range x[s*servers : (s+1)*servers] {
			if n == 0 {
				continue
			}
			mapped += n
			on++
			share := links.nic(n*tensor, gpus[m])
			if nic != nil {
				share *= nic[m]
			}
			narrowest = min(narrowest, share)
			out, in := 0., 0. // bytes between one replica and those on other servers, and on this server
			if s > 0 {
				near := x[(s-1)*servers+m]
				out += float64(job.Stages[s-1].Replicas-near) * before
				in += float64(near) * before
			}
			if s+1 < len(job.Stages) {
				near := x[(s+1)*servers+m]
				out += float64(job.Stages[s+1].Replicas-near) * after
				in += float64(near) * after
			}
			pipeline = max(pipeline, float64(n)*out/share+in/inside)
		}
		if mapped != job.Stages[s].Replicas {
			panic(fmt.Sprintf("comm: mapping holds %d replicas of stage %d, want %d", mapped, s, job.Stages[s].Replicas))
		}
		reduce := job.ring(s)
		if on == 1 {
			reduce /= inside
		} else {
			reduce /= narrowest
		}
		alpha = max(alpha, job.alone(s, links)+pipeline+reduce)
		before = after
	}
	return alpha
}

// Cut returns the bytes that cross servers in one iteration: the bytes of all replica pairs of neighbouring stages on different
// servers, plus the bytes of every hop of an all-reduce ring between two servers. A ring visits the replicas server by server, so
// on n > 1 servers it has n such hops. A mapping with a smaller cut is not always faster, because the time also depends on the
// NIC bandwidths.
//
// Cut does not allocate. It panics if the mapping does not fit the job.
func Cut(job Job, x Mapping) float64 {
	if len(job.Stages) == 0 || len(x)%len(job.Stages) != 0 {
		panic(fmt.Sprintf("comm: cut of %d stages: mapping of %d", len(job.Stages), len(x)))
	}
	servers := len(x) / len(job.Stages)
	cut := 0.
	for s := range job.Stages {
		here := x[s*servers : (s+1)*servers]
		on := 0
		for _, n := range here {
			if n > 0 {
				on++
			}
		}
		if on > 1 {
			cut += float64(on) * job.ring(s)
		}
		if s+1 == len(job.Stages) {
			break
		}
		pairs := int64(job.Stages[s].Replicas) * int64(job.Stages[s+1].Replicas)
		for m, n := range here {
			pairs -= int64(n) * int64(x[(s+1)*servers+m])
		}
		cut += float64(pairs) * job.pair(s)
	}
	return cut
}

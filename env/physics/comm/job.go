package comm

import (
	"fmt"
	"math"
)

// Stage is one stage of a job's pipeline, or the whole job if it has no pipeline.
type Stage struct {
	// Replicas is the data-parallel degree k, at least 1.
	Replicas int32
	// Compute is the forward and backward time of one replica in one iteration, in seconds, above 0.
	Compute float64
	// Params is the bytes of gradients of one replica, over all its GPUs. The replicas all-reduce them in every iteration.
	Params float64
	// Activations is the number of bytes that the whole stage sends to the next stage in one iteration; gradients of the same
	// size flow back. It is ignored in the last stage.
	Activations float64
	// TensorBytes is the number of bytes that the GPUs of one replica all-reduce among themselves in one iteration: the buffer
	// size of one GPU, summed over all these all-reduces. It counts only if Job.Tensor is above 1; 0 removes the term.
	TensorBytes float64
}

// Job is a job's parallel configuration.
type Job struct {
	Stages []Stage
	// Tensor is the number of GPUs of a replica, all on one server; 0 means 1.
	Tensor int32
}

// maxGPUs is larger than any cluster and small enough that counts fit into an int32.
const maxGPUs = 1 << 20

// GPUs returns the number of GPUs that the job needs, one for each worker.
func (j Job) GPUs() int { return j.replicas() * int(j.tensor()) }

func (j Job) replicas() int {
	n := 0
	for i := range j.Stages {
		n += int(j.Stages[i].Replicas)
	}
	return n
}

func (j Job) tensor() int32 { return max(j.Tensor, 1) }

// Validate returns an error about the first field that is not usable. The other functions may be called only with valid jobs.
func (j Job) Validate() error {
	if len(j.Stages) == 0 {
		return fmt.Errorf("stages: none, want at least 1")
	}
	if j.Tensor < 0 || j.Tensor > maxGPUs {
		return fmt.Errorf("tensor: %d, want 0 to %d", j.Tensor, maxGPUs)
	}
	gpus := 0
	for i, s := range j.Stages {
		if s.Replicas < 1 || s.Replicas > maxGPUs {
			return fmt.Errorf("stage %d: replicas: %d, want 1 to %d", i, s.Replicas, maxGPUs)
		}
		if gpus += int(s.Replicas) * int(j.tensor()); gpus > maxGPUs {
			return fmt.Errorf("stage %d: %d GPUs up to here, want at most %d", i, gpus, maxGPUs)
		}
		if !(s.Compute > 0) || math.IsInf(s.Compute, 0) {
			return fmt.Errorf("stage %d: compute: %g s, want a finite time above 0", i, s.Compute)
		}
		for _, b := range []struct {
			field string
			bytes float64
		}{{"params", s.Params}, {"activations", s.Activations}, {"tensor bytes", s.TensorBytes}} {
			if !(b.bytes >= 0) || math.IsInf(b.bytes, 0) {
				return fmt.Errorf("stage %d: %s: %g bytes, want a finite number of 0 or more", i, b.field, b.bytes)
			}
		}
	}
	return nil
}

// pair returns u_s: the bytes between a replica of stage s and one of stage s+1 in an iteration, in both directions together; 0
// for the last stage.
func (j Job) pair(s int) float64 {
	if s+1 >= len(j.Stages) {
		return 0
	}
	return 2 * j.Stages[s].Activations / (float64(j.Stages[s].Replicas) * float64(j.Stages[s+1].Replicas))
}

// ringBytes returns the bytes that each of k members of a ring sends to the next member to all-reduce a buffer; 0 if k is 1.
func ringBytes(k int32, buffer float64) float64 {
	return 2 * float64(k-1) / float64(k) * buffer
}

// ring returns the bytes that a replica of stage s sends along the ring of its stage in an iteration.
func (j Job) ring(s int) float64 { return ringBytes(j.Stages[s].Replicas, j.Stages[s].Params) }

// alone returns the part of stage s's time that does not depend on the mapping: compute, plus the all-reduce of tensor
// parallelism within a replica, a ring over the replica's GPUs at the bandwidth inside a server.
func (j Job) alone(s int, links Links) float64 {
	return j.Stages[s].Compute + ringBytes(j.tensor(), j.Stages[s].TensorBytes)/links.Intra
}

package physics

import (
	"github.com/clustergym/clustergym/env/physics/comm"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Communication returns the parallel configuration of a job that trains the model with the given number of workers, pipeline
// stages, and workers per tensor-parallel group; 0 stages or tensor means 1. It splits the model's layers equally over stages and
// groups, and uses the remaining factor of the workers as replicas of each stage. Tensor parallelism all-reduces the activations
// of every layer twice forward and twice backward (Megatron-LM, arXiv 1909.08053, §3). ok is false if the job's traffic is
// unknown: if there is no profile of the model, or if the workers do not make up whole replicas of all stages.
func Communication(model string, workers, stages, tensor int32) (job comm.Job, ok bool) {
	f := profile.Lookup(model)
	stages, tensor = max(stages, 1), max(tensor, 1)
	if f == nil || workers < 1 || workers%(stages*tensor) != 0 {
		return comm.Job{}, false
	}
	replicas := workers / (stages * tensor)
	job = comm.Job{Stages: make([]comm.Stage, stages), Tensor: tensor}
	for i := range job.Stages {
		job.Stages[i] = comm.Stage{
			Replicas:    replicas,
			Compute:     f.ComputeSeconds() / float64(stages*tensor),
			Params:      f.ParamBytes() / float64(stages),
			Activations: f.ActivationBytes() * float64(replicas),
			TensorBytes: 4 * f.ActivationBytes() * float64(f.Layers()) / float64(stages),
		}
	}
	return job, true
}

package cluster

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// JobID identifies a job within one episode. It is an index from 0 in the order of the workload, and it breaks ties between jobs.
type JobID int32

// ServerID identifies a server within one episode. It is an index from 0 in the order of the cluster's specification.
type ServerID int32

// WholeGPU is one whole GPU, in thousandths.
const WholeGPU = 1000

// Amount is what one worker of a job holds on its server.
type Amount struct {
	GPUMilli int32 `log:"gpu_milli,1..WholeGPU" snapshot:"gpu_milli,1..WholeGPU"` // thousandths of one GPU, 1..WholeGPU
	CPUMilli int32 `log:"cpu_milli" snapshot:"cpu_milli"`                         // thousandths of a core
	MemMiB   int32 `log:"mem_mib" snapshot:"mem_mib"`                             // MiB
	// GPUMemMiB is the memory that the worker needs on its GPU, 0 if unknown. It is a property of the job: a placement may give a
	// worker another share of a GPU, but not less GPU memory.
	GPUMemMiB int32 `log:"gpu_mem_mib" snapshot:"gpu_mem_mib"`
}

// JobSpec is all that a scheduler may know of a job before it runs. It never contains the true duration; Estimate is what the
// scenario discloses.
type JobSpec struct {
	Name   string        `log:"name,text" snapshot:"id,need,given"` // the id in the trace
	User   string        `log:"user,text" snapshot:"user,name"`     // who submitted the job, "" if the trace does not record it
	Tenant string        `log:"tenant,text" snapshot:"tenant,name"` // virtual cluster or queue, "" if the trace does not record it
	Submit time.Duration `snapshot:"submit_s,need,past"`
	// Workers is the gang size: the number of GPUs, or of equal shares of a GPU, that start together.
	Workers int32 `log:"workers,1.." snapshot:"workers,need,1.."`
	// MinWorkers and MaxWorkers bound the gang size of an elastic job; 0 means Workers.
	MinWorkers int32  `log:"min_workers,1.." snapshot:"min_workers,1.."`
	MaxWorkers int32  `log:"max_workers,1.." snapshot:"max_workers,1.."`
	Request    Amount `log:",inline" snapshot:",inline"` // per worker
	// Model is what schedulers are told of the model family that the job trains: its name as in env/physics/profile, or less (see
	// Disguise); "" if nothing is known.
	Model string `log:"model,text" snapshot:"model,name"`
	// Group is the recurring job of which this job is one run, "" if none is known.
	Group string `log:"group,text" snapshot:"group,name"`
	// Stages is the number of pipeline stages. Tensor is the number of workers that share each layer (tensor parallelism); these
	// must be on one server. The remaining factor of Workers is data parallelism. 0 means 1. A job that sets either is rigid.
	Stages int32 `log:"stages,1.." snapshot:"stages"`
	Tensor int32 `log:"tensor,1..MaxGPUs" snapshot:"tensor"`
	// GPUType lists the acceptable GPU types, separated by '|'; "" accepts any. All workers of the gang use one type at a time,
	// unless Mixed.
	GPUType string `log:"gpu_type,text" snapshot:"gpu_type,name"`
	Mixed   bool   `log:"mixed" snapshot:"mixed"`
	// Where is the set of acceptable servers, nil for any. Jobs with equal sets should share one pointer (see ServerSets), as
	// Shape compares pointers.
	Where *ServerSet `log:"where,where" snapshot:"servers,where"`
	// Estimate is the estimated run time of the job alone, 0 if the scenario discloses none. It does not include Ran.
	Estimate time.Duration `log:"estimate,0..maxTime" snapshot:"estimate_s,seconds"`
	// Deadline is when the job should have ended, 0 if its trace says nothing. Priority is higher for jobs that matter more. Only
	// objectives read them.
	Deadline time.Duration `json:",omitempty" log:"deadline,0..maxTime" snapshot:"deadline_s,seconds"`
	Priority int32         `json:",omitempty" log:"priority,-1000000000..2000000000" snapshot:"priority,-1000000000..2000000000"`
	// Ran is the work that the job had done before the episode began, 0 for a job that begins in the episode. Its progress does
	// not include it.
	Ran time.Duration `log:"ran,0..maxTime" snapshot:"ran_s,seconds"`

	trains string // the model family if Model does not name it; see Trains
}

// Trains returns the model family that the job trains. The speed model asks for it. Schedulers may know Model alone.
func (s *JobSpec) Trains() string { return cmp.Or(s.trains, s.Model) }

// Disguise replaces what schedulers are told of the job's model. The job still trains the same model.
func (s *JobSpec) Disguise(model string) { s.trains, s.Model = s.Trains(), model }

// SubmitAt changes when the job is submitted. Its deadline, if it has one, moves with it.
func (s *JobSpec) SubmitAt(at time.Duration) {
	if s.Deadline != 0 {
		s.Deadline += at - s.Submit
	}
	s.Submit = at
}

// Owner returns who counts as the user of the job: its tenant where the trace does not record a user.
func (s *JobSpec) Owner() string { return cmp.Or(s.User, s.Tenant) }

// Least returns the smallest gang size with which the job can run.
func (s *JobSpec) Least() int32 {
	if s.MinWorkers == 0 {
		return s.Workers
	}
	return s.MinWorkers
}

// Most returns the largest gang size that the job can use.
func (s *JobSpec) Most() int32 {
	if s.MaxWorkers == 0 {
		return s.Workers
	}
	return s.MaxWorkers
}

// Together returns how many workers must be on the same server: every piece has a multiple of this number.
func (s *JobSpec) Together() int32 { return max(s.Tensor, 1) }

// Allows reports whether the job accepts GPUs of the given type. If a server's GPU type is unknown, every job accepts it.
func (s *JobSpec) Allows(gpuType string) bool {
	if s.GPUType == "" || gpuType == "" {
		return true
	}
	for name := range strings.SplitSeq(s.GPUType, "|") {
		if name == gpuType {
			return true
		}
	}
	return false
}

// GPUs returns the number of GPUs that the job requests.
func (s *JobSpec) GPUs() float64 {
	return float64(s.Workers) * float64(s.Request.GPUMilli) / WholeGPU
}

// GPUMilli returns the thousandths of GPUs that the job requests.
func (s *JobSpec) GPUMilli() int64 { return int64(s.Workers) * int64(s.Request.GPUMilli) }

// Validate returns an error about the first field that no cluster could satisfy.
func (s *JobSpec) Validate() error {
	switch {
	case s.Submit < 0:
		return fmt.Errorf("job %s: submit %v, want 0 or later", s.Name, s.Submit)
	case s.Workers < 1:
		return fmt.Errorf("job %s: %d workers, want at least 1", s.Name, s.Workers)
	case s.Least() < 1 || s.Least() > s.Workers || s.Most() < s.Workers:
		return fmt.Errorf("job %s: %d to %d workers around %d, want 1 <= min <= workers <= max", s.Name, s.Least(), s.Most(), s.Workers)
	case s.Request.GPUMilli < 1 || s.Request.GPUMilli > WholeGPU:
		return fmt.Errorf("job %s: %d thousandths of a GPU, want 1 to %d", s.Name, s.Request.GPUMilli, WholeGPU)
	case s.Request.CPUMilli < 0 || s.Request.MemMiB < 0 || s.Request.GPUMemMiB < 0:
		return fmt.Errorf("job %s: %d CPU milli, %d MiB and %d MiB on the GPU a worker, want 0 or more",
			s.Name, s.Request.CPUMilli, s.Request.MemMiB, s.Request.GPUMemMiB)
	case s.Stages < 0 || s.Tensor < 0 || int64(s.Workers)%(int64(max(s.Stages, 1))*int64(s.Together())) != 0:
		return fmt.Errorf("job %s: %d workers in %d stages of %d tensor-parallel ones, want a multiple of stages x tensor",
			s.Name, s.Workers, s.Stages, s.Tensor)
	case (s.Stages > 1 || s.Tensor > 1) && s.Least() != s.Most():
		return fmt.Errorf("job %s: %d to %d workers in %d stages of %d: want a rigid gang where workers have roles",
			s.Name, s.Least(), s.Most(), s.Stages, s.Tensor)
	case s.Estimate < 0:
		return fmt.Errorf("job %s: estimate %v, want 0 or more", s.Name, s.Estimate)
	case s.Ran < 0:
		return fmt.Errorf("job %s: ran %v before, want 0 or more", s.Name, s.Ran)
	}
	return nil
}

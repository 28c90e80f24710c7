package cluster

import (
	"fmt"
	"strings"
	"time"
)

// JobID names a job within one episode: an index from 0 in the workload's order of ids. Ties between jobs break by it.
type JobID int32

// ServerID names a server within one episode: an index from 0 in the order of the cluster's specification.
type ServerID int32

// WholeGPU is the share of a GPU that is all of it.
const WholeGPU = 1000

// Amount is what one worker of a job holds on its server.
type Amount struct {
	GPUMilli int32 // thousandths of one GPU, 1..WholeGPU
	CPUMilli int32 // thousandths of a core
	MemMiB   int32 // MiB
	// GPUMemMiB is what it needs on its GPU, 0 where that is not known. It is the job's nature: a placement may give a worker
	// another share, but not less memory on the GPU.
	GPUMemMiB int32
}

// JobSpec is all that a scheduler may know of a job before it runs. It never holds the job's true duration: Estimate is
// what the scenario grants.
type JobSpec struct {
	Name    string // the id in the trace
	User    string // who submitted it, "" if the trace does not say
	Tenant  string // virtual cluster or queue, "" if the trace does not say
	Submit  time.Duration
	Workers int32 // gang size: GPUs (or equal shares of GPUs) that start together
	// MinWorkers and MaxWorkers bound an elastic job; 0 stands for Workers.
	MinWorkers, MaxWorkers int32
	Request                Amount // per worker
	// Model names the family of models that the job trains, as env/physics/profile lists them, "" if unknown.
	Model string
	// Group names the recurring job that this is a run of, "" if it is none that is known.
	Group string
	// Stages is the number of pipeline stages and Tensor how many workers share each layer (tensor parallelism) and so stand
	// on one server; the rest of Workers is data parallelism. 0 stands for 1. Such a job is rigid.
	Stages, Tensor int32
	// GPUType names the GPU types that will do, separated by '|', "" for any. The gang holds one type at a time, unless Mixed.
	GPUType string
	Mixed   bool
	// Where holds the servers that will do, nil for any. Jobs that share a set are known to be alike.
	Where *ServerSet
	// Estimate of the isolated run time, 0 where the scenario grants none.
	Estimate time.Duration
}

// Least is the smallest gang that the job can run with.
func (s *JobSpec) Least() int32 {
	if s.MinWorkers == 0 {
		return s.Workers
	}
	return s.MinWorkers
}

// Most is the largest gang that the job can use.
func (s *JobSpec) Most() int32 {
	if s.MaxWorkers == 0 {
		return s.Workers
	}
	return s.MaxWorkers
}

// Together is how many workers must stand together on a server: every piece holds a multiple of it.
func (s *JobSpec) Together() int32 { return max(s.Tensor, 1) }

// Allows reports whether a GPU of the type will do for the job. A server whose type is not known takes every job.
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

// GPUs is what the job asks for, in GPUs.
func (s *JobSpec) GPUs() float64 {
	return float64(s.Workers) * float64(s.Request.GPUMilli) / WholeGPU
}

// GPUMilli is what the job asks for, in thousandths of GPUs.
func (s *JobSpec) GPUMilli() int64 { return int64(s.Workers) * int64(s.Request.GPUMilli) }

// Validate reports the first field that no cluster could serve.
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
	}
	return nil
}

package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unlimited is the CPU or memory of a server whose CPU or memory is not modelled.
const Unlimited = math.MaxInt64 / 4

// Pool says whose jobs a server serves.
type Pool uint8

// The pools. An inference server takes training jobs only while it is on loan.
const (
	Training Pool = iota
	Inference
)

// ServerSpec is what a server is, apart from what runs on it.
type ServerSpec struct {
	Name     string
	GPUs     int32
	CPUMilli int64 // thousandths of a core, Unlimited if not modelled
	MemMiB   int64 // Unlimited if not modelled
	Pool     Pool
	// GPUType names the type of all its GPUs, "" if it is not known; GPUMemMiB is the memory of each, 0 if not modelled.
	GPUType   string
	GPUMemMiB int32
	// Rack numbers the rack from 1, 0 for a server whose links into the network are not shared.
	Rack int32
}

// Spec is a cluster: its servers in the order of their ServerIDs, and the rules of sharing them.
type Spec struct {
	Servers []ServerSpec
	// PerGPU is how many jobs may share a GPU, 0 for as many as their shares allow.
	PerGPU int32
	// Quotas bound what the jobs of a tenant hold at one time. A tenant that is not named has no bound.
	Quotas []Quota
}

// Quota bounds what the running jobs of a tenant hold together.
type Quota struct {
	Tenant string
	GPUs   int32
}

// Uniform returns a cluster of n equal training servers whose CPU and memory are not modelled.
func Uniform(n, gpusPerServer int) Spec {
	servers := make([]ServerSpec, n)
	for i := range servers {
		servers[i] = ServerSpec{
			Name: fmt.Sprintf("server-%d", i), GPUs: int32(gpusPerServer), CPUMilli: Unlimited, MemMiB: Unlimited,
		}
	}
	return Spec{Servers: servers}
}

// GPUs counts the cluster's GPUs in both pools.
func (s *Spec) GPUs() int {
	n := 0
	for i := range s.Servers {
		n += int(s.Servers[i].GPUs)
	}
	return n
}

// Capacity counts the workers of such a job, each on a GPU of its own, that the cluster takes when it is empty and every server
// serves training: on the GPU type that takes most of them, or on all for a Mixed job, and within its tenant's quota.
func (s *Spec) Capacity(j *JobSpec) int64 {
	var ofType [maxTypes]int64
	types, all := s.Types(), int64(0)
	for i := range s.Servers {
		v := &s.Servers[i]
		short := v.GPUMemMiB > 0 && j.Request.GPUMemMiB > v.GPUMemMiB
		if short || !j.Allows(v.GPUType) || j.Where != nil && !j.Where.Has(ServerID(i)) {
			continue
		}
		n := workers(int64(v.GPUs), v.CPUMilli, v.MemMiB, j.Request)
		n -= n % int64(j.Together())
		all += n
		ofType[slices.Index(types, v.GPUType)] += n
	}
	n := all
	if !j.Mixed {
		n = slices.Max(ofType[:])
	}
	for _, q := range s.Quotas {
		if q.Tenant == j.Tenant {
			n = min(n, int64(q.GPUs)*WholeGPU/int64(j.Request.GPUMilli))
		}
	}
	return n
}

// Types returns the types of the cluster's GPUs in the order of its servers.
func (s *Spec) Types() []string {
	var types []string
	known := map[string]bool{}
	for i := range s.Servers {
		if t := s.Servers[i].GPUType; !known[t] {
			known[t] = true
			types = append(types, t)
		}
	}
	return types
}

// Rooms returns Capacity as a function that remembers its answers: a workload asks for few shapes many times.
func (s *Spec) Rooms() func(*JobSpec) int64 {
	type shape struct {
		request         Amount
		gpuType, tenant string
		mixed           bool
		group           int32
		where           *ServerSet
	}
	known := map[shape]int64{}
	return func(j *JobSpec) int64 {
		k := shape{j.Request, j.GPUType, "", j.Mixed, j.Together(), j.Where}
		if len(s.Quotas) > 0 {
			k.tenant = j.Tenant
		}
		n, ok := known[k]
		if !ok {
			n = s.Capacity(j)
			known[k] = n
		}
		return n
	}
}

// workers is how many holders of an amount go on gpus GPUs beside the given CPU and memory.
func workers(gpus, cpu, mem int64, a Amount) int64 {
	if a.CPUMilli > 0 {
		gpus = min(gpus, cpu/int64(a.CPUMilli))
	}
	if a.MemMiB > 0 {
		gpus = min(gpus, mem/int64(a.MemMiB))
	}
	return gpus
}

// Limits of a cluster, so that a mistaken specification is an error and not an allocation.
const (
	MaxServers = 1 << 17 // servers
	MaxGPUs    = 1 << 14 // GPUs of one server
	MaxRacks   = 1 << 16 // the number of the last rack
	mostGPUs   = 1 << 24 // GPUs in all
	maxTypes   = 16      // types of GPUs
)

// Validate reports the first server that cannot be, or a limit that the cluster exceeds.
func (s *Spec) Validate() error {
	if len(s.Servers) == 0 {
		return fmt.Errorf("cluster has no servers, want at least 1")
	}
	if n := len(s.Servers); n > MaxServers {
		return fmt.Errorf("cluster has %d servers, want at most %d", n, MaxServers)
	}
	if n := s.GPUs(); n > mostGPUs {
		return fmt.Errorf("cluster has %d GPUs, want at most %d", n, mostGPUs)
	}
	if n := len(s.Types()); n > maxTypes {
		return fmt.Errorf("cluster has %d types of GPUs, want at most %d", n, maxTypes)
	}
	if s.PerGPU < 0 || s.PerGPU > WholeGPU {
		return fmt.Errorf("cluster allows %d jobs on a GPU, want 0 (as their shares allow) to %d", s.PerGPU, WholeGPU)
	}
	named := make(map[string]bool, len(s.Quotas))
	for i, q := range s.Quotas {
		if q.GPUs < 0 || named[q.Tenant] {
			return fmt.Errorf("quota %d: %d GPUs for tenant %q, want 0 or more and each tenant once", i, q.GPUs, q.Tenant)
		}
		named[q.Tenant] = true
	}
	for i := range s.Servers {
		v := &s.Servers[i]
		if v.GPUMemMiB < 0 || v.Rack < 0 || v.Rack > MaxRacks || strings.Contains(v.GPUType, "|") {
			return fmt.Errorf("server %d (%s): %d MiB a GPU, rack %d, GPU type %q: want 0 or more, 0 to %d and one type",
				i, v.Name, v.GPUMemMiB, v.Rack, v.GPUType, MaxRacks)
		}
		if v.GPUs > MaxGPUs {
			return fmt.Errorf("server %d (%s): %d GPUs, want at most %d", i, v.Name, v.GPUs, MaxGPUs)
		}
		if v.Pool > Inference {
			return fmt.Errorf("server %d (%s): pool %d, want Training or Inference", i, v.Name, v.Pool)
		}
		if v.GPUs < 0 || v.CPUMilli < 0 || v.MemMiB < 0 || v.CPUMilli > Unlimited || v.MemMiB > Unlimited {
			return fmt.Errorf("server %d (%s): %d GPUs, %d CPU milli, %d MiB: want 0 or more", i, v.Name, v.GPUs, v.CPUMilli, v.MemMiB)
		}
	}
	return nil
}

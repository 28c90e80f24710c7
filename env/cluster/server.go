package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Unlimited is the CPU or the memory of a server for which that resource is not modelled.
const Unlimited = math.MaxInt64 / 4

// Pool is the pool to which a server belongs: it decides whose jobs the server takes.
type Pool uint8

// The pools. An inference server takes training jobs only while it is on loan.
const (
	Training Pool = iota
	Inference
)

// ServerSpec describes a server, independent of what runs on it.
type ServerSpec struct {
	Name     string `log:"name,need,text" snapshot:"name,need,given"`
	GPUs     int32  `log:"gpus,need,0..MaxGPUs" snapshot:"gpus,need,0..MaxGPUs"`
	CPUMilli int64  `log:"cpu_milli,need,limit" snapshot:"cpu_milli,need,limit"` // thousandths of a core, Unlimited if not modelled
	MemMiB   int64  `log:"mem_mib,need,limit" snapshot:"mem_mib,need,limit"`     // Unlimited if not modelled
	Pool     Pool   `log:"pool,need,pool" snapshot:"pool,pool"`
	// GPUType is the type of all GPUs of the server, "" if unknown. GPUMemMiB is the memory of each GPU, 0 if not modelled.
	GPUType   string `log:"gpu_type,text" snapshot:"gpu_type,name"`
	GPUMemMiB int32  `log:"gpu_mem_mib" snapshot:"gpu_mem_mib"`
	// Rack is the number of the rack, from 1. 0 means that the server does not share an uplink.
	Rack int32 `log:"rack,0..MaxRacks" snapshot:"rack,0..MaxRacks"`
}

// Spec describes a cluster: its servers, in the order of their ServerIDs, and the rules for sharing them.
type Spec struct {
	Servers []ServerSpec `log:"servers,need,servers"`
	// PerGPU is the maximum number of jobs on one GPU; 0 means that only their shares limit it.
	PerGPU int32 `log:"per_gpu,0..WholeGPU" snapshot:"per_gpu,0..WholeGPU"`
	// Quotas bound what the running jobs of a tenant hold together. A tenant without a quota is not bounded.
	Quotas []Quota `log:"quotas" snapshot:"quotas,most=maxQuotas"`
	// NoPreemption forbids to stop, move or resize jobs that run: see Txn.
	NoPreemption bool `log:"no_preemption" snapshot:"no_preemption"`
}

// Quota is the maximum number of GPUs that the running jobs of a tenant hold together.
type Quota struct {
	Tenant string `log:"tenant,need,text" snapshot:"tenant,name"`
	GPUs   int32  `log:"gpus,need" snapshot:"gpus,need"`
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

// GPUs returns the number of GPUs in the cluster, in both pools.
func (s *Spec) GPUs() int {
	n := 0
	for i := range s.Servers {
		n += int(s.Servers[i].GPUs)
	}
	return n
}

// Capacity returns how many workers of the job, each on its own GPU, the cluster can take if it is empty and every server serves
// training jobs. It counts only the GPU type that takes most of them, or all types for a Mixed job, and it respects the tenant's
// quota.
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

// Types returns the cluster's GPU types in the order in which they first occur among its servers.
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

// Rooms returns a function that computes Capacity and caches its results, because the jobs of a workload have few distinct
// shapes.
func (s *Spec) Rooms() func(*JobSpec) int64 {
	type shape struct {
		request         Amount
		gpuType, tenant string
		mixed           bool
		group           int32
		where           *ServerSet
	}
	known := map[shape]int64{}
	var last shape // in many workloads, all jobs have the same shape
	var n int64
	return func(j *JobSpec) int64 {
		k := shape{j.Request, j.GPUType, "", j.Mixed, j.Together(), j.Where}
		if len(s.Quotas) > 0 {
			k.tenant = j.Tenant
		}
		if k == last && len(known) > 0 {
			return n
		}
		var ok bool
		if n, ok = known[k]; !ok {
			n = s.Capacity(j)
			known[k] = n
		}
		last = k
		return n
	}
}

// workers returns how many workers that each hold the amount a fit on the given number of GPUs with the given CPU and memory.
func workers(gpus, cpu, mem int64, a Amount) int64 {
	if a.CPUMilli > 0 {
		gpus = min(gpus, cpu/int64(a.CPUMilli))
	}
	if a.MemMiB > 0 {
		gpus = min(gpus, mem/int64(a.MemMiB))
	}
	return gpus
}

// Limits of a cluster. They make Validate return an error about a mistaken specification before anything large is allocated.
const (
	MaxServers = 1 << 17 // servers
	MaxGPUs    = 1 << 14 // GPUs of one server
	MaxRacks   = 1 << 16 // the number of the last rack
	mostGPUs   = 1 << 24 // GPUs in all
	maxTypes   = 16      // types of GPUs
)

// Validate returns an error about the first server with an invalid field, or about a limit that the cluster exceeds.
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

package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// Cluster describes the training servers: a number of equal servers, followed by groups of different ones.
type Cluster struct {
	Servers         int    `yaml:"servers"`
	GPUsPerServer   int    `yaml:"gpus_per_server"`
	CPUsPerServer   int    `yaml:"cpus_per_server"`            // cores, 0: CPUs are not simulated
	MemGiBPerServer int    `yaml:"mem_gib_per_server"`         // 0: memory is not simulated
	GPUType         string `yaml:"gpu_type,omitempty"`         // "": GPU types do not matter
	GPUMemGiB       int    `yaml:"gpu_mem_gib,omitempty"`      // of one GPU, 0: not simulated
	ServersPerRack  int    `yaml:"servers_per_rack,omitempty"` // 0: no racks with shared uplinks
	JobsPerGPU      int    `yaml:"jobs_per_gpu,omitempty"`     // most jobs on one GPU, 0: limited only by their GPU shares
	// QuotaFactor gives every tenant a quota: its fraction of the GPU-time of the training split, times the cluster's GPUs, times
	// QuotaFactor. 0 means no quotas.
	QuotaFactor float64 `yaml:"quota_factor,omitempty"`
	Groups      []Group `yaml:"groups,omitempty"`
}

// Group is a number of equal servers that differ from those described directly in Cluster.
type Group struct {
	Servers         int    `yaml:"servers"`
	GPUsPerServer   int    `yaml:"gpus_per_server"`
	CPUsPerServer   int    `yaml:"cpus_per_server,omitempty"`
	MemGiBPerServer int    `yaml:"mem_gib_per_server,omitempty"`
	GPUType         string `yaml:"gpu_type,omitempty"`
	GPUMemGiB       int    `yaml:"gpu_mem_gib,omitempty"`
}

// groups returns the servers described directly in Cluster as the first group, followed by Groups.
func (c *Cluster) groups() []Group {
	first := Group{c.Servers, c.GPUsPerServer, c.CPUsPerServer, c.MemGiBPerServer, c.GPUType, c.GPUMemGiB}
	return append([]Group{first}, c.Groups...)
}

// Spec returns the training servers without quotas, because quotas depend on the workload.
func (c Cluster) Spec() cluster.Spec {
	spec := cluster.Spec{PerGPU: int32(c.JobsPerGPU)}
	for _, g := range c.groups() {
		g.extend(&spec, cluster.Training, 0, c.ServersPerRack)
	}
	return spec
}

// extend adds the group's servers to spec. The servers of the given pool begin at the index first. Racks are filled in the order
// of the servers, and no rack has servers of two pools.
func (g *Group) extend(spec *cluster.Spec, pool cluster.Pool, first, perRack int) {
	v := cluster.ServerSpec{
		GPUs: int32(g.GPUsPerServer), CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited, Pool: pool, GPUType: g.GPUType,
		GPUMemMiB: int32(1024 * g.GPUMemGiB),
	}
	if g.CPUsPerServer > 0 {
		v.CPUMilli = 1000 * int64(g.CPUsPerServer)
	}
	if g.MemGiBPerServer > 0 {
		v.MemMiB = 1024 * int64(g.MemGiBPerServer)
	}
	racks := int32(0) // racks of the other pool
	if first > 0 {
		racks = spec.Servers[first-1].Rack
	}
	for range g.Servers {
		n := len(spec.Servers)
		v.Name = fmt.Sprintf("server-%d", n)
		if perRack > 0 {
			v.Rack = racks + int32((n-first)/perRack) + 1
		}
		spec.Servers = append(spec.Servers, v)
	}
}

// GPUs returns the number of GPUs of the training servers.
func (c Cluster) GPUs() int {
	n := 0
	for _, g := range c.groups() {
		n += g.Servers * g.GPUsPerServer
	}
	return n
}

func (c *Cluster) validate() error {
	var p problems
	for i, g := range c.groups() {
		at := "cluster"
		if i > 0 {
			at = fmt.Sprintf("cluster.groups[%d]", i-1)
		}
		g.validate(&p, at)
	}
	servers, gpus := 0, 0
	for _, g := range c.groups() {
		servers, gpus = servers+g.Servers, gpus+g.Servers*g.GPUsPerServer
	}
	p.want(servers <= cluster.MaxServers && gpus <= 1<<24,
		"cluster has %d servers and %d GPUs, want at most %d and %d", servers, gpus, cluster.MaxServers, 1<<24)
	p.want(c.ServersPerRack >= 0 && (c.ServersPerRack == 0 || servers/c.ServersPerRack < cluster.MaxRacks/2),
		"cluster.servers_per_rack %d, want 0 (no shared uplinks) or more, in at most %d racks", c.ServersPerRack, cluster.MaxRacks/2)
	p.want(c.JobsPerGPU >= 0 && c.JobsPerGPU <= cluster.WholeGPU,
		"cluster.jobs_per_gpu %d, want 0 (as their shares allow) to %d", c.JobsPerGPU, cluster.WholeGPU)
	p.want(c.QuotaFactor >= 0 && c.QuotaFactor <= 1000, "cluster.quota_factor %v, want 0 (no quotas) to 1000", c.QuotaFactor)
	return p.err()
}

func (g *Group) validate(p *problems, at string) {
	p.want(g.Servers >= 1 && g.Servers <= cluster.MaxServers, "%s.servers %d, want 1 to %d", at, g.Servers, cluster.MaxServers)
	p.want(g.GPUsPerServer >= 1 && g.GPUsPerServer <= 4096, "%s.gpus_per_server %d, want 1 to 4096", at, g.GPUsPerServer)
	p.want(g.CPUsPerServer >= 0 && g.CPUsPerServer <= 1<<20,
		"%s.cpus_per_server %d, want 0 (not modelled) to %d", at, g.CPUsPerServer, 1<<20)
	p.want(g.MemGiBPerServer >= 0 && g.MemGiBPerServer <= 1<<20,
		"%s.mem_gib_per_server %d, want 0 (not modelled) to %d", at, g.MemGiBPerServer, 1<<20)
	p.want(isGPUType(g.GPUType), "%s.gpu_type %q, want at most 64 letters, digits, dashes and dots", at, g.GPUType)
	p.want(g.GPUMemGiB >= 0 && g.GPUMemGiB <= 1<<16, "%s.gpu_mem_gib %d, want 0 (not modelled) to %d", at, g.GPUMemGiB, 1<<16)
}

func isGPUType(s string) bool {
	return len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	}) < 0
}

// quotas returns a quota for every tenant of the workload, in the order of the tenants' first jobs. A quota is the tenant's
// fraction of the GPU-time that the training split asks for, times the cluster's GPUs, times QuotaFactor, rounded up. It is at
// least the size of the tenant's largest gang, because a larger gang would wait for ever.
func (c *Cluster) quotas(all, training []trace.Job) ([]cluster.Quota, error) {
	if c.QuotaFactor == 0 {
		return nil, nil
	}
	var quotas []cluster.Quota
	at := map[string]int{}
	for i := range all {
		j := &all[i]
		k, ok := at[j.Tenant]
		if !ok {
			k = len(quotas)
			at[j.Tenant] = k
			quotas = append(quotas, cluster.Quota{Tenant: j.Tenant})
		}
		quotas[k].GPUs = max(quotas[k].GPUs, int32(math.Ceil(j.GPUs())))
	}
	if slices.ContainsFunc(quotas, func(q cluster.Quota) bool { return q.Tenant == "" }) {
		return nil, fmt.Errorf("cluster.quota_factor %v: the workload has jobs without a tenant, want 0 (no quotas)", c.QuotaFactor)
	}
	asked, total := make([]float64, len(quotas)), 0.0
	for i := range training {
		j := &training[i]
		seconds := j.GPUs() * j.Work.Seconds()
		asked[at[j.Tenant]] += seconds
		total += seconds
	}
	for k := range quotas {
		if total > 0 {
			share := math.Ceil(c.QuotaFactor*float64(c.GPUs())*asked[k]/total - 1e-9)
			quotas[k].GPUs = max(quotas[k].GPUs, int32(min(share, float64(c.GPUs()))))
		}
	}
	return quotas, nil
}

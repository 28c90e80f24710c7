package cluster

import (
	"math/bits"
	"slices"
)

// tenant is a quota and how much of it is in use, both in thousandths of GPUs.
type tenant struct {
	name        string
	limit, used int64
}

// newTenants returns the tenants with a quota, and a map from their names to their indices. No state changes the map.
func newTenants(quotas []Quota) ([]tenant, map[string]int32) {
	if len(quotas) == 0 {
		return nil, nil
	}
	all, at := make([]tenant, len(quotas)), make(map[string]int32, len(quotas))
	for i, q := range quotas {
		all[i] = tenant{name: q.Tenant, limit: int64(q.GPUs) * WholeGPU}
		at[q.Tenant] = int32(i)
	}
	return all, at
}

// SetQuota changes the quota of a tenant that has one. It reports whether it has one. Jobs that run go on, even if they hold
// more. Never call it while a transaction is open.
func (s *State) SetQuota(tenant string, gpus int32) bool {
	i, ok := s.tenantAt[tenant]
	if ok {
		s.tenants[i].limit = int64(gpus) * WholeGPU
	}
	return ok
}

func (s *View) tenantOf(spec *JobSpec) int32 {
	if i, ok := s.tenantAt[spec.Tenant]; ok {
		return i
	}
	return -1
}

// kindsOf returns the GPU types that the job accepts, as bits.
func (s *View) kindsOf(spec *JobSpec) uint16 {
	if spec.GPUType == "" {
		return 1<<len(s.types) - 1
	}
	kinds := uint16(0)
	for i, t := range s.types {
		if spec.Allows(t) {
			kinds |= 1 << i
		}
	}
	return kinds
}

// room returns how many workers of a job a server can take.
func (s *View) room(id ServerID, j *job, a Amount) int32 {
	v := &s.servers[id]
	if !s.mayUse(v, j, id) {
		return 0
	}
	n := int32(s.within(j, a, int64(v.fits(a))))
	return n - n%j.spec.Together()
}

// Room sets fits[i] to the number of workers of a pending job, each holding the amount a, that server i can take, and returns how
// many the whole cluster can take. If the gang must be of one GPU type, fits is 0 on servers of a type that cannot take all the
// requested workers, and the total is that of the type that takes most.
func (s *View) Room(id JobID, a Amount, fits []int32) (total int64) {
	j := &s.jobs[id]
	var ofType [maxTypes]int64
	for i := range s.servers {
		v := &s.servers[i]
		fits[i] = s.room(ServerID(i), j, a)
		ofType[bits.TrailingZeros16(v.kind)] += int64(fits[i])
	}
	if len(s.types) == 1 || j.spec.Mixed {
		for _, n := range ofType {
			total += n
		}
		return s.within(j, a, total)
	}
	for i := range s.servers {
		if ofType[bits.TrailingZeros16(s.servers[i].kind)] < int64(j.spec.Workers) {
			fits[i] = 0
		}
	}
	return s.within(j, a, slices.Max(ofType[:]))
}

// within lowers a number of workers to what the tenant's quota still allows.
func (s *View) within(j *job, a Amount, workers int64) int64 {
	if j.tenant < 0 {
		return workers
	}
	t := &s.tenants[j.tenant]
	return min(workers, max(t.limit-t.used, 0)/int64(a.GPUMilli))
}

// SameType reports whether one gang of the job may use both servers at once.
func (s *View) SameType(id JobID, a, b ServerID) bool {
	return s.jobs[id].spec.Mixed || s.servers[a].kind == s.servers[b].kind
}

// Quota returns how many thousandths of GPUs the job's tenant may hold, or -1 if it has no quota.
func (s *View) Quota(id JobID) int64 {
	if i := s.jobs[id].tenant; i >= 0 {
		return s.tenants[i].limit
	}
	return -1
}

// Types returns the cluster's GPU types, at most 16, in the order in which they first occur among its servers. Read only.
func (s *View) Types() []string { return s.types }

// TypeOf returns the server's GPU type, as an index into Types.
func (s *View) TypeOf(id ServerID) int { return bits.TrailingZeros16(s.servers[id].kind) }

// TypesFor returns the GPU types that the job accepts: bit i stands for Types()[i].
func (s *View) TypesFor(id JobID) uint16 { return s.jobs[id].kinds }

// TypeRank returns the position of the server's GPU type in the order in which BestFit tries types for the job; 0 is tried first.
// It is always 0 for a Mixed job.
func (s *View) TypeRank(id JobID, server ServerID) int32 {
	if s.jobs[id].spec.Mixed {
		return 0
	}
	return int32(s.TypeOf(server))
}

// QuotaLeft returns how many thousandths of GPUs the job's tenant may still take; ok is false if it has no quota.
func (s *View) QuotaLeft(id JobID) (milli int64, ok bool) {
	if i := s.jobs[id].tenant; i >= 0 {
		return s.tenants[i].limit - s.tenants[i].used, true
	}
	return 0, false
}

// Shape contains everything that decides whether a job fits as requested: if two jobs have equal shapes, both fit or neither
// does.
type Shape struct {
	Workers int32
	Request Amount
	group   int32
	tenant  int32
	kinds   uint16
	mixed   bool
	where   *ServerSet
}

// Shape returns the job's shape.
func (s *View) Shape(id JobID) Shape {
	j := &s.jobs[id]
	return Shape{j.spec.Workers, j.spec.Request, j.spec.Together(), j.tenant, j.kinds, j.spec.Mixed, j.spec.Where}
}

// Countable reports whether the number of free GPUs alone decides if the shape fits the cluster. That is so if the job needs
// whole GPUs, accepts any GPU on any server, and no quota, CPU or modelled memory limits it.
func (s *View) Countable(h Shape) bool {
	if h.Request.GPUMilli != WholeGPU || h.group > 1 || h.tenant >= 0 || h.where != nil || !h.mixed && len(s.types) > 1 ||
		h.kinds != 1<<len(s.types)-1 {
		return false
	}
	if h.Request.CPUMilli == 0 && h.Request.MemMiB == 0 && h.Request.GPUMemMiB == 0 {
		return true
	}
	for i := range s.servers {
		if v := &s.servers[i].spec; v.CPUMilli < Unlimited || v.MemMiB < Unlimited || v.GPUMemMiB > 0 {
			return false
		}
	}
	return true
}

// account records, with the tenant and with the uplinks of the racks that the placement connects, that a placement is taken (sign
// 1) or left (sign -1).
func (s *State) account(id JobID, p Placement, sign int64) {
	j := &s.jobs[id]
	if j.tenant >= 0 {
		s.tenants[j.tenant].used += sign * p.GPUMilli()
	}
	if len(s.crossing) == 0 || len(p) == 1 {
		return
	}
	first := s.servers[p[0].Server].spec.Rack
	for i := range p[1:] {
		if s.servers[p[i+1].Server].spec.Rack != first {
			s.cross(id, p, sign > 0)
			return
		}
	}
}

func (s *State) cross(id JobID, p Placement, in bool) {
	for i := range p {
		rack := s.servers[p[i].Server].spec.Rack
		if rack == 0 {
			continue
		}
		list := s.crossing[rack]
		at, found := slices.BinarySearch(list, id)
		nic := int64(p[i].Workers) * nicUnit / int64(s.servers[p[i].Server].spec.GPUs)
		switch {
		case in:
			s.nics[rack] += nic
		default:
			s.nics[rack] -= nic
		}
		switch {
		case in && !found:
			s.crossing[rack] = slices.Insert(list, at, id)
		case !in && found:
			s.crossing[rack] = slices.Delete(list, at, at+1)
		}
	}
}

// nicUnit is one whole NIC in View.nics. The unit is an integer so that sums do not depend on the order in which jobs came and
// went.
const nicUnit = 1 << 32

// ServersIn returns the servers of the rack, ascending: for rack 0 those that belong to no rack. Read only.
func (s *View) ServersIn(rack int32) []ServerID {
	if int(rack) >= len(s.racks) {
		return nil
	}
	return s.racks[rack]
}

// CrossingNICs returns the total NIC capacity, in NICs of the rack's servers, of the gangs in Crossing. A gang counts for each
// server in proportion to the GPUs that it uses there.
func (s *View) CrossingNICs(rack int32) float64 {
	if int(rack) >= len(s.nics) {
		return 0
	}
	return float64(s.nics[rack]) / nicUnit
}

// Crossing returns the running jobs that use the uplink of the rack, ascending: those with workers both in the rack and
// elsewhere. Read only; valid until the next change.
func (s *View) Crossing(rack int32) []JobID {
	if int(rack) >= len(s.crossing) {
		return nil
	}
	return s.crossing[rack]
}

// Crosses reports whether the placement uses servers of different racks.
func (s *View) Crosses(p Placement) bool {
	for i := 1; i < len(p); i++ {
		if s.servers[p[i].Server].spec.Rack != s.servers[p[0].Server].spec.Rack {
			return true
		}
	}
	return false
}

// Shared returns the number of the server's GPUs that two or more jobs use.
func (s *View) Shared(id ServerID) int32 { return s.servers[id].shared }

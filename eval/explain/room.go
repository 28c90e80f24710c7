package explain

import (
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// exclude returns how many workers of a waiting job, as requested, a server has room for now. If none, why is what keeps the job
// from it.
func exclude(s *cluster.View, id cluster.JobID, server cluster.ServerID) (takes int32, why Exclusion) {
	spec, v := s.Spec(id), s.Server(server)
	a, group := spec.Request, spec.Together()
	if n := s.Fits(server, id, a); n > 0 {
		return n, notExcluding
	}
	quota, limited := s.QuotaLeft(id)
	share, inMemory := cluster.Amount{GPUMilli: a.GPUMilli}, cluster.Amount{GPUMilli: a.GPUMilli, GPUMemMiB: a.GPUMemMiB}
	gpus := freeFor(s, server, a)
	switch {
	case s.Down(server):
		return 0, Failed
	case !s.Open(server):
		return 0, NotLent
	case !spec.Allows(v.GPUType):
		return 0, OtherType
	case !s.MayUse(id, server):
		return 0, notEligible
	case v.GPUMemMiB > 0 && a.GPUMemMiB > v.GPUMemMiB:
		return 0, SmallGPU
	case limited && quota < int64(group)*int64(a.GPUMilli):
		return 0, QuotaLeft
	case gpus == 0:
		return 0, NoGPU
	case gpus < group:
		return 0, TooFewGPUs
	case s.Fits(server, id, share) == 0:
		return 0, FullGPU
	case s.Fits(server, id, inMemory) == 0:
		return 0, NoGPUMemory
	case a.CPUMilli > 0 && s.FreeCPU(server)/int64(a.CPUMilli) < int64(group):
		return 0, NoCPU
	}
	return 0, NoMemory
}

// freeFor returns the number of the server's GPUs with enough free share for the amount. It ignores memory.
func freeFor(s *cluster.View, server cluster.ServerID, a cluster.Amount) int32 {
	if a.GPUMilli == cluster.WholeGPU {
		return s.FreeGPUs(server)
	}
	n := int32(0)
	for _, used := range s.GPUUse(server) {
		if int32(used)+a.GPUMilli <= cluster.WholeGPU {
			n++
		}
	}
	return n
}

// hold counts the workers of a job that a cluster has room for.
type hold struct {
	room int64 // number of workers; on the best GPU type if the gang must use one type
	all  int64 // number on all types
	most int32 // number on the best single server
}

// measure calls takes for every server and adds up the results by GPU type.
func measure(s *cluster.View, id cluster.JobID, takes func(cluster.ServerID) int32) (h hold) {
	var ofType []int64
	for i := range s.Servers() {
		server := cluster.ServerID(i)
		n := takes(server)
		rank := int(s.TypeRank(id, server))
		for len(ofType) <= rank {
			ofType = append(ofType, 0)
		}
		ofType[rank] += int64(n)
		h.all += int64(n)
		h.most = max(h.most, n)
	}
	h.room = slices.Max(ofType)
	return h
}

// fits counts the workers that the cluster has room for now, if each holds the amount a, within the tenant's quota.
func fits(s *cluster.View, id cluster.JobID, a cluster.Amount) hold {
	h := measure(s, id, func(v cluster.ServerID) int32 { return s.Fits(v, id, a) })
	if quota, limited := s.QuotaLeft(id); limited {
		h.room = min(h.room, max(quota, 0)/int64(a.GPUMilli))
	}
	return h
}

// shares returns the number of workers that the cluster would have room for if only free GPU shares counted, on servers that the
// job may use.
func shares(s *cluster.View, id cluster.JobID) int64 {
	spec := s.Spec(id)
	h := measure(s, id, func(v cluster.ServerID) int32 {
		if !s.Open(v) || !s.MayUse(id, v) {
			return 0
		}
		return freeFor(s, v, spec.Request)
	})
	return h.room
}

// empty is the cluster in its present state without jobs: the working GPUs of the servers open to training.
type empty struct {
	capacity func(*cluster.JobSpec) int64
	kinds    []func(*cluster.JobSpec) int64 // capacity of one server of each kind
	of       [][]cluster.ServerID           // the servers of each kind
}

func newEmpty(s *cluster.View) *empty {
	var all cluster.Spec
	kind := map[cluster.ServerSpec]int{}
	e := &empty{}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		v := *s.Server(id)
		v.GPUs, v.Name, v.Rack = s.Working(id), "", 0
		if !s.Open(id) {
			v.GPUs = 0
		}
		all.Servers = append(all.Servers, v) // keep closed servers too, because a job may name servers
		k, known := kind[v]
		if !known {
			k = len(e.kinds)
			kind[v] = k
			one := cluster.Spec{Servers: []cluster.ServerSpec{v}}
			e.kinds, e.of = append(e.kinds, one.Rooms()), append(e.of, nil)
		}
		e.of[k] = append(e.of[k], id)
	}
	e.capacity = all.Rooms()
	return e
}

// one returns the largest number of the job's workers that a single empty server has room for.
func (e *empty) one(spec *cluster.JobSpec) int64 {
	most, anywhere := int64(0), *spec
	anywhere.Where = nil
	for k, capacity := range e.kinds {
		if spec.Where == nil || slices.ContainsFunc(e.of[k], spec.Where.Has) {
			most = max(most, capacity(&anywhere))
		}
	}
	return most
}

package cluster

import (
	"slices"
)

// AddServers adds empty servers with the next ids. Added servers of the inference pool are neither offered nor on loan at first.
// If the larger cluster would exceed a limit, AddServers returns an error and changes nothing. Never call it while a transaction
// is open.
func (s *State) AddServers(servers []ServerSpec) error {
	all := Spec{}
	for i := range s.servers {
		all.Servers = append(all.Servers, s.servers[i].spec)
	}
	perGPU := int32(WholeGPU)
	if len(s.servers) > 0 {
		perGPU = s.servers[0].perGPU
	}
	all.Servers = append(all.Servers, servers...)
	if err := all.Validate(); err != nil {
		return err
	}
	racks := int32(0)
	for i := range servers {
		v := &servers[i]
		if !slices.Contains(s.types, v.GPUType) {
			s.types = append(slices.Clip(s.types), v.GPUType) // Clip, as copies of the state share the slice
		}
		s.servers = append(s.servers, newServer(*v, 1<<slices.Index(s.types, v.GPUType), perGPU))
		racks = max(racks, v.Rack)
	}
	if n := int(racks) + 1 - len(s.crossing); racks > 0 && n > 0 {
		s.crossing, s.nics = append(s.crossing, make([][]JobID, n)...), append(s.nics, make([]int64, n)...)
	}
	s.racks = make([][]ServerID, max(int(racks)+1, len(s.racks))) // copies of the state share the old lists
	for i := range s.servers {
		rack := s.servers[i].spec.Rack
		s.racks[rack] = append(s.racks[rack], ServerID(i))
	}
	s.stamp = append(s.stamp, make([]int32, len(servers))...)
	s.reindex()
	for _, list := range [...][]JobID{s.pending, s.running} {
		for _, id := range list {
			s.jobs[id].kinds = s.kindsOf(s.jobs[id].spec)
		}
	}
	return nil
}

// reindex rebuilds the index.
func (s *State) reindex() {
	most := int32(0)
	for i := range s.servers {
		most = max(most, s.servers[i].spec.GPUs)
	}
	s.index = newIndex(len(s.servers), int(most))
	for i := range s.servers {
		if v := &s.servers[i]; v.open() {
			s.index.add(ServerID(i), v.freeWhole)
		}
	}
}

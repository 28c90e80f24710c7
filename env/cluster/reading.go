package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// MaxReadings is the number of readings that a state keeps of each job.
const MaxReadings = 16

// Reading is a measured throughput of a running job.
type Reading struct {
	At time.Duration `snapshot:"at_s,need,past"` // when the measurement ended
	// Speed is the throughput: how much the whole gang processes per unit of time, above 0. Its unit is the same for all readings of
	// a job, and for all jobs that train the same model. It tells neither how much a job has to process in all, nor how fast it
	// would be alone with what it requested. The simulator's unit is that of physics.Throughput.
	Speed float64 `snapshot:"speed,need"`
	Configuration
}

// Configuration is what a running job holds, as far as its throughput usually depends on it.
type Configuration struct {
	Workers int32  `snapshot:"workers,need,1.."`
	Amount         // each field is that of the worker that holds least of it
	Servers int32  `snapshot:"servers,1.."`   // the number of servers that it uses
	Racks   int32  `snapshot:"racks"`         // the number of racks of these servers, 0 if none belongs to a rack
	GPUType string `snapshot:"gpu_type,name"` // of these servers; several types are joined by '|', in the order of View.Types
	Shared  bool   `snapshot:"shared"`        // whether another job uses one of its GPUs
}

// Configuration returns the configuration of a running job.
func (s *View) Configuration(id JobID) Configuration {
	p := s.jobs[id].pieces
	c := Configuration{Workers: p.Workers(), Amount: p[0].Amount, Servers: int32(len(p)), Shared: s.Sharing(id)}
	kinds := uint16(0)
	for i := range p {
		c.Amount = c.least(p[i].Amount)
		kinds |= s.servers[p[i].Server].kind
		if rack := s.servers[p[i].Server].spec.Rack; rack > 0 && !s.sameRack(p[:i], rack) {
			c.Racks++
		}
	}
	if c.GPUType = s.servers[p[0].Server].spec.GPUType; kinds&(kinds-1) != 0 {
		c.GPUType = s.typeNames(kinds)
	}
	return c
}

// least returns the smaller amount, field by field.
func (a Amount) least(b Amount) Amount {
	return Amount{
		min(a.GPUMilli, b.GPUMilli), min(a.CPUMilli, b.CPUMilli), min(a.MemMiB, b.MemMiB), min(a.GPUMemMiB, b.GPUMemMiB),
	}
}

// sameRack reports whether a piece is on a server of the rack.
func (s *View) sameRack(p Placement, rack int32) bool {
	for i := range p {
		if s.servers[p[i].Server].spec.Rack == rack {
			return true
		}
	}
	return false
}

// typeNames returns the GPU types of a set, joined by '|'.
func (s *View) typeNames(kinds uint16) string {
	var names []string
	for i, t := range s.types {
		if kinds>>i&1 == 1 {
			names = append(names, t)
		}
	}
	return strings.Join(names, "|")
}

// Sharing reports whether another job uses one of the GPUs of the running job.
func (s *View) Sharing(id JobID) bool {
	gpus := s.jobs[id].gpus
	for _, q := range s.jobs[id].pieces {
		v := &s.servers[q.Server]
		for _, g := range gpus[:q.Workers] {
			if v.shared > 0 && v.jobs[g] > 1 {
				return true
			}
		}
		gpus = gpus[q.Workers:]
	}
	return false
}

// Sharers appends the running jobs that hold shares of GPUs on servers where the placement has shares of GPUs, too: those that
// may come to share a GPU with it, or have shared one. A job may occur twice.
func (s *View) Sharers(p Placement, dst []JobID) []JobID {
	for i := range p {
		if p[i].GPUMilli == WholeGPU {
			continue
		}
		for _, other := range s.servers[p[i].Server].residents {
			for _, q := range s.jobs[other].pieces {
				if q.Server == p[i].Server && q.GPUMilli < WholeGPU {
					dst = append(dst, other)
				}
			}
		}
	}
	return dst
}

// Partners appends the other running jobs that use a GPU together with the job. A job may occur twice.
func (s *View) Partners(id JobID, dst []JobID) []JobID {
	gpus := s.jobs[id].gpus
	for _, q := range s.jobs[id].pieces {
		v, mine := &s.servers[q.Server], gpus[:q.Workers]
		gpus = gpus[q.Workers:]
		if v.shared == 0 {
			continue
		}
		for _, other := range v.residents {
			if other != id && slices.ContainsFunc(s.GPUsOn(other, q.Server), func(g int32) bool { return slices.Contains(mine, g) }) {
				dst = append(dst, other)
			}
		}
	}
	return dst
}

// Readings returns the measured throughputs of the job, ordered by their times: of each configuration the newest, and at most
// MaxReadings in all, the newest. A job keeps its readings while it waits and when it is done; a snapshot contains those of
// waiting and running jobs. There are none if the driver measures nothing. No event reports a new reading, and none causes a
// decision. Read only; never changed by the state, so that the caller may keep it.
func (s *View) Readings(id JobID) []Reading {
	if all := s.jobs[id].readings; all != nil {
		return *all
	}
	return nil
}

// AddReading adds a reading of a job, which replaces an earlier one of the same configuration. It panics if the reading is in
// the future or earlier than another of the job, or if its speed is not a finite number above 0. Never call it while a
// transaction is open.
func (s *State) AddReading(id JobID, r Reading) {
	old := s.Readings(id)
	if n := len(old); r.At > s.now || n > 0 && r.At < old[n-1].At || !(r.Speed > 0 && r.Speed <= math.MaxFloat64) {
		panic(fmt.Sprintf("cluster: reading of %v at %v for job %d, at %v", r.Speed, r.At, id, s.now))
	}
	all := make([]Reading, 0, len(old)+1) // not in place: copies of the state share the old list
	for i := range old {
		if old[i].Configuration != r.Configuration {
			all = append(all, old[i])
		}
	}
	if len(all) == MaxReadings {
		all = all[1:]
	}
	all = append(all, r)
	s.jobs[id].readings = &all
}

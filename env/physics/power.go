package physics

import (
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// Power caps what the GPUs of each rack draw together at Watts. An installed GPU draws idle power; a GPU that a job uses draws
// more, by its type and the job's model (profile.IdleWatts, Family.BusyWatts). If the sum exceeds the cap, all busy GPUs of the
// rack run at the same lower clock, at which they draw just the cap. A gang in several racks runs at the lowest clock of these.
//
// The power of a GPU beyond idle grows with the cube of its clock, because the voltage falls with the clock (P = C·V²·f; Mei,
// Wang and Chu, "A survey and measurement study of GPU DVFS on energy conservation", 2017), and a job's speed is proportional
// to the clock. So speed is a concave function of power: a fifth less power costs 9 % of the speed if idle power is 15 % of it.
// POLCA (Patel et al., arXiv 2308.12908), too, finds that power falls faster than speed. Which part of a job does not depend on
// the clock is not modelled. The clock falls to leastClock at most, so that a speed is above 0 under any cap.
//
// Jobs that share a GPU make it draw as much as the one that draws most. Servers outside racks have no cap. A job of unknown
// model adds nothing to idle power and is not slowed.
type Power struct{ Watts float64 }

// leastClock is the lowest clock of a GPU, relative to the highest: about that of the V100, 135 of 1,530 MHz.
const leastClock = 0.1

// Name implements Part.
func (m Power) Name() string { return fmt.Sprintf("power(%g)", m.Watts) }

// Factor implements Part.
func (m Power) Factor(s *cluster.View, job cluster.JobID) float64 {
	if profile.Lookup(s.Spec(job).Trains()) == nil {
		return 1
	}
	least := 1.0
	for rack := range racks(s, s.Placement(job)) {
		least = min(least, m.clock(s, rack))
	}
	return least
}

// clock returns the clock of the rack's busy GPUs, relative to the highest.
func (m Power) clock(s *cluster.View, rack int32) float64 {
	idle, busy := int64(0), int64(0)
	for _, id := range s.ServersIn(rack) {
		v := s.Server(id)
		idle += int64(v.GPUs) * profile.IdleWatts(v.GPUType)
		busy += busyWatts(s, id)
	}
	if float64(idle+busy) <= m.Watts {
		return 1
	}
	return max(math.Cbrt(max(m.Watts-float64(idle), 0)/float64(busy)), leastClock)
}

// busyWatts returns what the server's GPUs draw in addition to idle power at their full clock.
func busyWatts(s *cluster.View, id cluster.ServerID) (sum int64) {
	v := s.Server(id)
	if s.Shared(id) == 0 {
		for _, job := range s.Residents(id) {
			sum += int64(len(s.GPUsOn(job, id))) * jobWatts(s, job, v.GPUType)
		}
		return sum
	}
	for gpu := range v.GPUs {
		most := int64(0)
		for _, job := range s.Residents(id) {
			if slices.Contains(s.GPUsOn(job, id), gpu) {
				most = max(most, jobWatts(s, job, v.GPUType))
			}
		}
		sum += most
	}
	return sum
}

func jobWatts(s *cluster.View, job cluster.JobID, gpuType string) int64 {
	if f := profile.Lookup(s.Spec(job).Trains()); f != nil {
		return f.BusyWatts(gpuType)
	}
	return 0
}

// Coupled implements Part. It adds the jobs on servers of the placement's racks.
func (m Power) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	for rack := range racks(s, p) {
		for _, id := range s.ServersIn(rack) {
			dst = append(dst, s.Residents(id)...)
		}
	}
	return dst
}

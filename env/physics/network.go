package physics

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// network is the slowdown of a gang by the communication of its workers: between pipeline stages, and in the all-reduce of
// data-parallel replicas. The traffic uses links inside servers, NICs and, between racks, uplinks that jobs share. Package comm
// computes the time of an iteration. A job's speed is its iteration time on the fewest servers, empty and uncontended, divided by
// its iteration time as placed. Ranks are assigned stage by stage to the pieces in their order, so the order of a placement
// determines its mapping.
//
// Each gang that crosses a rack's uplink demands the NIC bandwidth of its GPUs in the rack. If the sum of the demands exceeds the
// uplink, every gang gets the same fraction of its demand. A gang in several racks gets the smallest fraction of its racks. A job
// of unknown model sends nothing.
type network struct {
	gb     [3]float64 // the bandwidths in GB/s, as given
	links  comm.Links
	uplink float64 // bytes/s of a rack
	known  *references
}

const giga = 1e9

// NewNetwork returns the part for communication over links with the given bandwidths in GB/s: of a GPU to the other GPUs of its
// server, of a server's NIC, and of a rack's uplink.
func NewNetwork(intra, nic, uplink float64) Part {
	return network{
		gb:    [3]float64{intra, nic, uplink},
		links: comm.Links{Intra: intra * giga, NIC: nic * giga}, uplink: uplink * giga, known: &references{},
	}
}

// Name implements Part.
func (m network) Name() string {
	return fmt.Sprintf("network(%g,%g,%g)", m.gb[0], m.gb[1], m.gb[2])
}

// pattern contains everything besides the placement that a job's communication depends on.
type pattern struct {
	model                       string
	workers, stages, tensor, on int32 // on is the number of GPUs of a server
}

// reference is the communication of a pattern under the best placement.
type reference struct {
	job  comm.Job
	best float64 // seconds of an iteration on the fewest servers; 0 if the job sends nothing
}

// references are those of all patterns met so far. Each entry of recent keeps the first pattern that was stored in it, because a
// look-up in all takes longer than many references take to use.
type references struct {
	all    sync.Map
	recent [256]atomic.Pointer[patternReference]
}

type patternReference struct {
	pattern
	reference
}

// entry returns the entry for a pattern.
func (r *references) entry(k *pattern) *atomic.Pointer[patternReference] {
	h := uint32(len(k.model))
	for i := max(len(k.model)-4, 0); i < len(k.model); i++ {
		h = h*31 + uint32(k.model[i])
	}
	h = h*31 + uint32(k.workers)*7 + uint32(k.stages)*5 + uint32(k.tensor)
	return &r.recent[h%uint32(len(r.recent))]
}

// Factor implements Part.
func (m network) Factor(s *cluster.View, job cluster.JobID) float64 {
	return m.factor(s, job, m.fraction)
}

// factor returns the factor of a job, where fraction returns the part of its NIC bandwidth that the job gets if it is on several
// servers.
func (m network) factor(s *cluster.View, job cluster.JobID, fraction func(*cluster.View, cluster.JobID) float64) float64 {
	p := s.Placement(job)
	if len(p) == 1 {
		return 1
	}
	ref := m.traffic(s, job)
	if ref.best == 0 {
		return 1
	}
	return min(ref.best/ref.alpha(s, p, m.links, fraction(s, job)), 1)
}

// traffic returns the reference of the job with its present workers.
func (m network) traffic(s *cluster.View, job cluster.JobID) *reference {
	spec := s.Spec(job)
	return m.reference(pattern{spec.Trains(), s.Placement(job).Workers(), max(spec.Stages, 1), spec.Together(), s.MostGPUs()})
}

// alpha returns the seconds of an iteration under the placement, with the given fraction of the NIC bandwidth.
func (r *reference) alpha(s *cluster.View, p cluster.Placement, links comm.Links, fraction float64) float64 {
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	b.reset()
	for i := range p {
		b.workers = append(b.workers, p[i].Workers)
		b.gpus = append(b.gpus, s.Server(p[i].Server).GPUs)
		b.nic = append(b.nic, fraction)
	}
	x, err := comm.Ranks(b.mapping, r.job, b.workers)
	if err != nil {
		panic("physics: " + err.Error()) // the transaction refuses such a placement
	}
	b.mapping = x
	return comm.Alpha(r.job, x, links, b.gpus, b.nic)
}

type buffer struct {
	mapping       comm.Mapping
	workers, gpus []int32
	nic           []float64
}

func (b *buffer) reset() { b.workers, b.gpus, b.nic = b.workers[:0], b.gpus[:0], b.nic[:0] }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// fraction returns the fraction of its NIC bandwidth that a gang gets through the most contended uplink it uses.
func (m network) fraction(s *cluster.View, job cluster.JobID) float64 {
	return m.least(s, s.Placement(job), func(rack int32) float64 { return m.links.NIC * s.CrossingNICs(rack) })
}

// least returns the fraction of its NIC bandwidth that a placement gets through the most contended uplink it uses. demand returns
// that of all gangs on the uplink of a rack, in bytes/s.
func (m network) least(s *cluster.View, p cluster.Placement, demand func(rack int32) float64) float64 {
	least := 1.0
	if !s.Crosses(p) {
		return least
	}
	for rack := range racks(s, p) {
		if want := demand(rack); want > m.uplink {
			least = min(least, m.uplink/want)
		}
	}
	return least
}

// reference returns the cached reference of a pattern, or computes it.
func (m network) reference(k pattern) *reference {
	entry := m.known.entry(&k)
	if r := entry.Load(); r != nil && r.pattern == k {
		return &r.reference
	}
	if r, ok := m.known.all.Load(k); ok {
		return r.(*reference)
	}
	known := &patternReference{pattern: k}
	r := &known.reference
	if job, ok := Communication(k.model, k.workers, k.stages, k.tensor); ok {
		r.job = job
		best, err := comm.Best(r.job, k.on, m.links)
		if err != nil {
			panic("physics: " + err.Error()) // the job is valid, and a server of the cluster's largest kind can hold a replica
		}
		r.best = best
	}
	m.known.all.Store(k, r)
	entry.CompareAndSwap(nil, known)
	return r
}

// affected implements precise. It adds the gangs on the same uplinks, but only on uplinks that the demands exceed: the others
// slow nobody.
func (m network) affected(s *cluster.View, job cluster.JobID, dst []cluster.JobID) []cluster.JobID {
	p := s.Placement(job)
	if !s.Crosses(p) {
		return dst
	}
	for rack := range racks(s, p) {
		if m.links.NIC*s.CrossingNICs(rack) > m.uplink {
			dst = append(dst, s.Crossing(rack)...)
		}
	}
	return dst
}

// Coupled implements Part. It adds the gangs that use the same uplinks as the placement.
func (m network) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	if !s.Crosses(p) {
		return dst
	}
	for rack := range racks(s, p) {
		dst = append(dst, s.Crossing(rack)...)
	}
	return dst
}

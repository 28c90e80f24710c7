package physics

import (
	"fmt"
	"sync"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/comm"
)

// network slows a gang by what its workers send each other: between pipeline stages and in the all-reduce of data-parallel
// replicas, inside servers, through their NICs and, between racks, through uplinks that jobs share. The time of an iteration
// is that of package comm; a job's speed is its time on the fewest servers, empty and uncontended, over its time as it is
// placed. Ranks are laid out stage by stage over the pieces in their order, so the order of a placement is its mapping.
//
// Where the gangs that cross a rack's uplink want more than it carries, each by the NICs of its GPUs there, all get the same
// fraction of what they want, and a gang gets the least fraction of its racks. A job of unknown model sends nothing.
type network struct {
	gb     [3]float64 // as given
	links  comm.Links
	uplink float64 // bytes/s of a rack
	known  *sync.Map
}

const giga = 1e9

// NewNetwork returns the part for bandwidths in GB/s: of a GPU to the others of its server, of a server's NIC, of a rack's
// uplink.
func NewNetwork(intra, nic, uplink float64) Part {
	return network{
		gb:    [3]float64{intra, nic, uplink},
		links: comm.Links{Intra: intra * giga, NIC: nic * giga}, uplink: uplink * giga, known: &sync.Map{},
	}
}

// Name implements Part.
func (m network) Name() string {
	return fmt.Sprintf("network(%g,%g,%g)", m.gb[0], m.gb[1], m.gb[2])
}

// pattern is all that a job's communication depends on beside its placement.
type pattern struct {
	model                       string
	workers, stages, tensor, on int32 // on servers of so many GPUs
}

// reference is what is known of a pattern.
type reference struct {
	job  comm.Job
	best float64 // seconds of an iteration on the fewest servers; 0 where nothing is sent
}

// Factor implements Part.
func (m network) Factor(s *cluster.View, job cluster.JobID) float64 {
	p := s.Placement(job)
	if len(p) == 1 {
		return 1
	}
	spec := s.Spec(job)
	ref := m.reference(pattern{spec.Model, p.Workers(), max(spec.Stages, 1), spec.Together(), s.MostGPUs()})
	if ref.best == 0 {
		return 1
	}
	b := buffers.Get().(*buffer)
	defer buffers.Put(b)
	b.reset()
	fraction := m.fraction(s, p)
	for i := range p {
		b.workers = append(b.workers, p[i].Workers)
		b.gpus = append(b.gpus, s.Server(p[i].Server).GPUs)
		b.nic = append(b.nic, fraction)
	}
	x, err := comm.Ranks(b.mapping, ref.job, b.workers)
	if err != nil {
		panic("physics: " + err.Error()) // the transaction admits no such placement
	}
	b.mapping = x
	return min(ref.best/comm.Alpha(ref.job, x, m.links, b.gpus, b.nic), 1)
}

type buffer struct {
	mapping       comm.Mapping
	workers, gpus []int32
	nic           []float64
}

func (b *buffer) reset() { b.workers, b.gpus, b.nic = b.workers[:0], b.gpus[:0], b.nic[:0] }

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// fraction is what a gang gets of its NICs' bandwidth through the busiest uplink on its way.
func (m network) fraction(s *cluster.View, p cluster.Placement) float64 {
	if !s.Crosses(p) {
		return 1
	}
	least := 1.0
	for i := range p {
		rack := s.Server(p[i].Server).Rack
		if rack == 0 || i > 0 && rack == s.Server(p[i-1].Server).Rack {
			continue
		}
		if want := m.links.NIC * s.CrossingNICs(rack); want > m.uplink {
			least = min(least, m.uplink/want)
		}
	}
	return least
}

// reference finds or computes what is known of a pattern.
func (m network) reference(k pattern) *reference {
	if r, ok := m.known.Load(k); ok {
		return r.(*reference)
	}
	r := &reference{}
	if job, ok := Communication(k.model, k.workers, k.stages, k.tensor); ok {
		r.job = job
		best, err := comm.Best(r.job, k.on, m.links)
		if err != nil {
			panic("physics: " + err.Error()) // a validated job that a server of the cluster's largest kind can hold
		}
		r.best = best
	}
	m.known.Store(k, r)
	return r
}

// Coupled implements Part: the gangs that use the uplinks that the placement uses.
func (m network) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	if !s.Crosses(p) {
		return dst
	}
	for i := range p {
		if rack := s.Server(p[i].Server).Rack; rack > 0 && (i == 0 || rack != s.Server(p[i-1].Server).Rack) {
			dst = append(dst, s.Crossing(rack)...)
		}
	}
	return dst
}

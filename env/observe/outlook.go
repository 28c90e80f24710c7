package observe

import (
	"math/bits"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// outlook is when the cluster's GPUs come free if running jobs end as estimated and nothing else starts. It counts open
// servers alone, keeps its memory from one look to the next, and nothing else.
type outlook struct {
	state   *cluster.View
	most    int32
	first   []int32         // where each server's GPUs begin in free and on; one more than there are servers
	free    []time.Duration // until each GPU is free: 0 if it is; in ascending order within a server
	on      []int32         // jobs on each GPU, in the order of its server's GPUs
	servers []prospect
	holes   []time.Duration // [types][most+1]: until the first server has so many GPUs free
	wholes  [][]time.Duration
	sorted  bool // wholes are up to date
	racks   []rack
	total   tally
}

// prospect is what a server has and what its residents leave to come.
type prospect struct {
	gpus, idle            int32 // all, and free
	gpuType, rack, gpuMem int32
	next, last            time.Duration
	logs                  int64 // sum of logTime until residents end, in 1/logUnit: whole, so that their order does not matter
	known, blind          int32 // residents with and without an estimate
	freedSoon             int32 // GPUs in use that come free
	freedLater            int32
	guestRoom             int32 // GPUs with one job and a share left
}

const logUnit = 1 << 20

// rack is the sum of its open servers.
type rack struct{ servers, gpus, free int32 }

// tally is the sum of all open servers.
type tally struct {
	servers, whole, wholeSoon, wholeLater int32
	gpus, freeOnWhole, freedLater         int64
	ofType                                [16]int64 // GPUs
	hole                                  int32     // most GPUs free on one server
}

// look reads the state: O(servers + GPUs + workers).
func (o *outlook) look(s *cluster.View) {
	o.state, o.most, o.sorted, o.total = s, s.MostGPUs(), false, tally{}
	o.lay()
	for _, id := range s.Running() {
		o.add(id)
	}
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) && s.Server(id).GPUs > 0 {
			o.settle(id)
		}
	}
}

// lay makes room and clears it.
func (o *outlook) lay() {
	n, gpus, racks := o.state.Servers(), int32(0), int32(0)
	o.first = slices.Grow(o.first[:0], n+1)[:n+1]
	for i := range n {
		v := o.state.Server(cluster.ServerID(i))
		o.first[i] = gpus
		gpus += v.GPUs
		racks = max(racks, v.Rack+1)
	}
	o.first[n] = gpus
	o.free = slices.Grow(o.free[:0], int(gpus))[:gpus]
	o.on = slices.Grow(o.on[:0], int(gpus))[:gpus]
	o.servers = slices.Grow(o.servers[:0], n)[:n]
	o.racks = slices.Grow(o.racks[:0], int(racks))[:racks]
	holes := len(o.state.Types()) * int(o.most+1)
	o.holes = slices.Grow(o.holes[:0], holes)[:holes]
	clear(o.free)
	clear(o.on)
	clear(o.servers)
	clear(o.racks)
	for i := range o.holes {
		o.holes[i] = cluster.Never
	}
}

// add counts a running job on its servers and GPUs.
func (o *outlook) add(id cluster.JobID) {
	s := o.state
	left, log := s.Left(id), int64(0)
	if left != cluster.Never {
		log = int64(logTime(left) * logUnit)
	}
	gpus := s.GPUs(id)
	for i := range s.Placement(id) {
		p := &s.Placement(id)[i]
		v := &o.servers[p.Server]
		switch {
		case left == cluster.Never:
			v.blind++
		case v.known == 0:
			v.next, v.last = left, left
			fallthrough
		default:
			v.next, v.last = min(v.next, left), max(v.last, left)
			v.logs += log
			v.known++
		}
		at := o.first[p.Server]
		for _, g := range gpus[:p.Workers] {
			o.free[at+g] = max(o.free[at+g], left)
			o.on[at+g] = o.on[at+g] + 1
		}
		gpus = gpus[p.Workers:]
	}
}

// settle sums up an open server.
func (o *outlook) settle(id cluster.ServerID) {
	s := o.state
	v, p, free, gpus := s.Server(id), &o.servers[id], o.of(id), s.FreeGPUs(id)
	p.gpus, p.idle, p.gpuType, p.rack, p.gpuMem = v.GPUs, gpus, int32(s.TypeOf(id)), v.Rack, v.GPUMemMiB
	if gpus < v.GPUs {
		o.inUse(id, v, p, free)
	}
	holes := o.holes[p.gpuType*(o.most+1):]
	for k, d := range free {
		holes[k+1] = min(holes[k+1], d)
	}
	t := &o.total
	t.servers++
	t.gpus += int64(v.GPUs)
	t.ofType[p.gpuType] += int64(v.GPUs)
	t.hole = max(t.hole, gpus)
	t.freedLater += int64(p.freedLater)
	switch whole := free[v.GPUs-1]; {
	case gpus == v.GPUs:
		t.whole++
		t.freeOnWhole += int64(gpus)
	case whole <= soon:
		t.wholeSoon++
		fallthrough
	case whole <= later:
		t.wholeLater++
	}
	r := &o.racks[v.Rack]
	r.servers, r.gpus, r.free = r.servers+1, r.gpus+v.GPUs, r.free+gpus
}

// inUse does what only servers need of which a GPU is in use or out of order.
func (o *outlook) inUse(id cluster.ServerID, v *cluster.ServerSpec, p *prospect, free []time.Duration) {
	broken := o.state.Working(id) < v.GPUs
	use := o.state.GPUUse(id)
	for g, n := range o.on[o.first[id]:o.first[id+1]] {
		if broken && o.state.Failed(id, int32(g)) {
			free[g] = cluster.Never
		}
		if n == 0 {
			continue
		}
		if free[g] <= later {
			p.freedLater++
			if free[g] <= soon {
				p.freedSoon++
			}
		}
		if n == 1 && use[g] < cluster.WholeGPU {
			p.guestRoom++
		}
	}
	slices.Sort(free)
}

// of returns how long it takes until each of a server's GPUs is free, ascending.
func (o *outlook) of(id cluster.ServerID) []time.Duration { return o.free[o.first[id]:o.first[id+1]] }

// until is how long it takes until a server of a type that will do has a GPU free for every worker of a gang, or, for one
// that needs more than a server, until as many of the largest servers are free.
func (o *outlook) until(workers int32, types uint16) time.Duration {
	least := cluster.Never
	if o.most == 0 {
		return cluster.Never
	}
	need := int(workers+o.most-1) / int(o.most)
	for ; types != 0; types &= types - 1 {
		t := bits.TrailingZeros16(types)
		if workers <= o.most {
			least = min(least, o.holes[t*int(o.most+1)+int(workers)])
		} else if w := o.wholesOf(t); need <= len(w) {
			least = min(least, w[need-1])
		}
	}
	return least
}

// wholesOf lists when the largest servers of a type are free, ascending. Few windows hold a job that asks.
func (o *outlook) wholesOf(t int) []time.Duration {
	if !o.sorted {
		o.sorted = true
		for len(o.wholes) < len(o.state.Types()) {
			o.wholes = append(o.wholes, nil)
		}
		for i := range o.wholes {
			o.wholes[i] = o.wholes[i][:0]
		}
		for i := range o.state.Servers() {
			id := cluster.ServerID(i)
			if o.state.Open(id) && o.state.Server(id).GPUs == o.most {
				t := o.state.TypeOf(id)
				o.wholes[t] = append(o.wholes[t], o.of(id)[o.most-1])
			}
		}
		for _, w := range o.wholes {
			slices.Sort(w)
		}
	}
	return o.wholes[t]
}

package observe

import (
	"math/bits"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// outlook predicts when the cluster's GPUs become free if running jobs end as estimated and no other job starts. It counts only
// open servers. It reuses its memory from one look to the next but keeps no data.
type outlook struct {
	state   *cluster.View
	most    int32
	first   []int32         // by server: the index in free and on of its first GPU; one more element than servers
	free    []time.Duration // time until each GPU is free, 0 if it is free now; ascending within a server
	on      []int32         // number of jobs on each GPU, in the order of the server's GPUs
	servers []prospect
	holes   []time.Duration // [types][most+1]: time until the first server of the type has so many GPUs free
	wholes  [][]time.Duration
	sorted  bool // wholes are up to date
	racks   []rack
	total   tally
}

// prospect is the present state of a server and what its residents predict.
type prospect struct {
	gpus, idle            int32 // all GPUs, and the free ones
	gpuType, rack, gpuMem int32
	next, last            time.Duration
	logs                  int64 // sum of logTime until residents end, in 1/logUnit; an integer, so that their order does not matter
	known, blind          int32 // number of residents with and without an estimate
	freedSoon             int32 // GPUs in use that become free soon
	freedLater            int32
	guestRoom             int32 // GPUs with exactly one job and a free share
}

const logUnit = 1 << 20

// rack sums up the open servers of a rack.
type rack struct{ servers, gpus, free int32 }

// tally sums up all open servers.
type tally struct {
	servers, whole, wholeSoon, wholeLater int32
	gpus, freeOnWhole, freedLater         int64
	ofType                                [16]int64 // number of GPUs by type
	hole                                  int32     // largest number of free GPUs on one server
}

// look reads the state. It takes O(servers + GPUs + workers) time.
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

// lay resizes the slices and clears them.
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

// add adds a running job to the servers and GPUs that it uses.
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

// settle computes the totals of an open server, after all jobs are added.
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

// inUse computes what is needed only for servers on which some GPU is in use or has failed.
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

// of returns the time until each of the server's GPUs is free, ascending.
func (o *outlook) of(id cluster.ServerID) []time.Duration { return o.free[o.first[id]:o.first[id+1]] }

// until returns the time until one server of the given types has a free GPU for every worker of a gang. For a gang that needs
// more GPUs than the largest server has, it is the time until enough of the largest servers are wholly free.
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

// wholesOf returns the times until the largest servers of a type are wholly free, ascending. It computes them on first use, as
// few windows contain a job that needs them.
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

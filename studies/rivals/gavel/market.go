package gavel

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
)

// market is what the scheduler knows of the cluster and of the kinds of jobs. A job's options are the GPU types, in the order of
// the servers; if there are several types, the last option is all of them mixed.
type market struct {
	types   []string
	servers [][]cluster.ServerID // by type
	ready   []int32              // by server: GPUs that work, 0 if the server is not open
	gpus    []float64            // by type: sum of ready
	stocks  []stock
	stockOf []int // by server: its index in stocks, -1 if it is not open
	kinds   []kind
	find    map[key]int
	stale   bool        // share must be computed again
	share   [][]float64 // by class of kinds, and by option
}

// stock describes a set of equal open servers.
type stock struct {
	at       int // GPU type
	gpus     int32
	gpuMem   int32
	cpu, mem int64
	servers  int64
}

// key distinguishes jobs that differ in where they fit or in speed.
type key struct {
	shape cluster.Shape
	model string
}

// kind is a set of jobs that the scheduler treats alike.
type kind struct {
	spec  *cluster.JobSpec // of one of the jobs
	limit int64            // quota of their tenant in thousandths of GPUs; -1: none
	milli int64            // thousandths of GPUs of each job
	speed []float64        // by option, also of options that the jobs cannot use
	live  int              // number of live jobs
	mask  uint32           // options that could hold the gang if nothing else ran
	class int              // index in share; -1 if it has none yet
}

// mixed returns the option of a gang on several types.
func (m *market) mixed() int { return len(m.types) }

// survey updates the servers that are open and, if they have changed, the options of every kind of jobs.
func (m *market) survey(s *cluster.View) {
	if len(m.ready) != s.Servers() {
		m.build(s)
	}
	changed := false
	for i := range m.ready {
		id, n := cluster.ServerID(i), int32(0)
		if s.Open(id) {
			n = s.Working(id)
		}
		changed = changed || n != m.ready[i]
		m.ready[i] = n
	}
	if !changed {
		return
	}
	m.stale = true
	m.stocks = m.stocks[:0]
	find := map[stock]int{}
	clear(m.gpus)
	m.stockOf = m.stockOf[:0]
	for i, n := range m.ready {
		m.stockOf = append(m.stockOf, -1)
		if n == 0 {
			continue
		}
		v := s.Server(cluster.ServerID(i))
		k := stock{at: s.TypeOf(cluster.ServerID(i)), gpus: n, gpuMem: v.GPUMemMiB, cpu: v.CPUMilli, mem: v.MemMiB}
		at, ok := find[k]
		if !ok {
			at = len(m.stocks)
			find[k] = at
			m.stocks = append(m.stocks, k)
		}
		m.stocks[at].servers++
		m.stockOf[i] = at
		m.gpus[k.at] += float64(n)
	}
	for k := range m.kinds {
		m.measure(&m.kinds[k])
	}
}

func (m *market) build(s *cluster.View) {
	n := len(s.Types())
	*m = market{
		types: s.Types(), servers: make([][]cluster.ServerID, n), gpus: make([]float64, n), find: map[key]int{},
	}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		m.servers[s.TypeOf(id)] = append(m.servers[s.TypeOf(id)], id)
		m.ready = append(m.ready, -1)
	}
}

// kindOf returns the index of a job's kind.
func (m *market) kindOf(s *cluster.View, id cluster.JobID) int {
	spec := s.Spec(id)
	k := key{s.Shape(id), spec.Model}
	i, ok := m.find[k]
	if ok {
		return i
	}
	i = len(m.kinds)
	m.find[k] = i
	family := profile.Lookup(spec.Model)
	d := kind{
		spec: spec, limit: s.Quota(id), milli: spec.GPUMilli(), class: -1,
		speed: make([]float64, len(m.types)+1),
	}
	for t, name := range m.types {
		d.speed[t] = 1
		if family != nil {
			d.speed[t], _ = family.GPUSpeed(name)
		}
		d.speed[m.mixed()] += d.speed[t] / float64(len(m.types))
	}
	m.measure(&d)
	m.kinds = append(m.kinds, d)
	return i
}

// measure computes which options could hold a gang of the kind. Mixed is an option only if no single type is.
func (m *market) measure(d *kind) {
	d.mask = 0
	if d.limit >= 0 && d.milli > d.limit {
		return
	}
	all, of := int64(0), make([]int64, len(m.types))
	count := func(v *stock, servers int64) {
		if n := servers * v.holds(d.spec); d.spec.Allows(m.types[v.at]) {
			of[v.at] += n
			all += n
		}
	}
	if d.spec.Where == nil {
		for i := range m.stocks {
			count(&m.stocks[i], m.stocks[i].servers)
		}
	} else {
		for id := range d.spec.Where.All() {
			if int(id) < len(m.stockOf) && m.stockOf[id] >= 0 {
				count(&m.stocks[m.stockOf[id]], 1)
			}
		}
	}
	for t, n := range of {
		if n >= int64(d.spec.Workers) {
			d.mask |= 1 << t
		}
	}
	if d.mask == 0 && d.spec.Mixed && all >= int64(d.spec.Workers) {
		d.mask = 1 << m.mixed()
	}
}

// holds returns how many workers one of the servers can hold when it is empty.
func (v *stock) holds(spec *cluster.JobSpec) int64 {
	a := spec.Request
	if v.gpuMem > 0 && a.GPUMemMiB > v.gpuMem {
		return 0
	}
	n := int64(v.gpus)
	if a.CPUMilli > 0 {
		n = min(n, v.cpu/int64(a.CPUMilli))
	}
	if a.MemMiB > 0 {
		n = min(n, v.mem/int64(a.MemMiB))
	}
	return n - n%int64(spec.Together())
}

// optionOf returns the option with which a running job runs.
func (m *market) optionOf(s *cluster.View, id cluster.JobID) int {
	p := s.Placement(id)
	at := s.TypeOf(p[0].Server)
	for i := range p {
		if s.TypeOf(p[i].Server) != at {
			return m.mixed()
		}
	}
	return at
}

// join adds a job to the kind (n is 1) or removes one (-1).
func (m *market) join(kind, n int) {
	m.kinds[kind].live += n
	m.stale = true
}

// allocate computes the shares again.
func (m *market) allocate() {
	type same struct {
		model string
		milli int64
		mask  uint32
	}
	all := 0.0
	for _, n := range m.gpus {
		all += n
	}
	blend := make([]float64, len(m.types))
	for t, n := range m.gpus {
		blend[t] = n / max(all, 1)
	}
	goods := typesOf(m.gpus...)
	goods.Uses = append(goods.Uses, blend)
	find := map[same]int{}
	var classes []jobClass
	for i := range m.kinds {
		d := &m.kinds[i]
		d.class = -1
		if d.live == 0 || d.mask == 0 {
			continue
		}
		k := same{d.spec.Model, d.milli, d.mask}
		at, ok := find[k]
		if !ok {
			at = len(classes)
			find[k] = at
			c := jobClass{GPUs: float64(d.milli) / cluster.WholeGPU, Speed: make([]float64, len(goods.Uses))}
			for o, speed := range d.speed {
				if d.mask>>o&1 == 1 {
					c.Speed[o] = speed
					if o < len(blend) {
						c.Norm += speed * blend[o]
					}
				}
			}
			if c.Norm == 0 {
				c.Norm = d.speed[m.mixed()]
			}
			classes = append(classes, c)
		}
		classes[at].Jobs += float64(d.live)
		d.class = at
	}
	m.share, m.stale = allocate(goods, classes, levels), false
}

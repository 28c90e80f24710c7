package eval

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// fragments measures fragmentation as FGD does (Weng et al., "Beware of Fragmentation", USENIX ATC 2023). For one server and one
// job: if the job does not fit on the server, all free GPU capacity of the server is lost to it; otherwise, the free capacity of
// the GPUs with less free than one worker needs is lost. The fragmentation of the cluster is the sum over its servers of the mean
// loss over the jobs of the workload. Over a period it is the integral of the loss divided by the integral of the free capacity.
//
// The paper's tasks are not gangs. Here, if a job is too large for one server, only as many of its workers count as the server's
// GPUs can hold. The job counts with the workers and the GPU share that it asks for, whatever its elastic range. Only GPUs open
// to training count as free. Only GPUs and their types decide whether a job fits; CPU cores, memory, GPU memory and limits on
// jobs per GPU do not.
type fragments struct {
	log    *sim.Log
	pools  *pools
	jobs   int64 // number of jobs in the mix
	shares int   // number of distinct GPU shares in the mix
	// fits[m] is the number of the mix's distinct shares that fit into m free thousandths of a GPU.
	fits   [cluster.WholeGPU + 1]int16
	kinds  []*kind   // by server
	held   [][]int16 // by server and GPU, in thousandths; a whole GPU more while the GPU has failed
	stock  []stock   // by server and number n of shares that fit
	placed []int32   // by job: 1 + the index of its placement in spots, 0 if it is not placed
	spots  []spot
	unused []int32 // indices of spots that no job uses
	server []footing
	now    footing
	// changed lists the servers to measure again.
	changed []cluster.ServerID

	lost, total sum
}

// stock counts the GPUs of a server whose free part is enough for exactly n of the mix's distinct shares, the n smallest, and
// adds up their free capacity.
type stock struct{ gpus, free int32 }

// spot is a copy of a placement and of its GPU indices, because the log may forget its own.
type spot struct {
	placement cluster.Placement
	gpus      []int32
}

// footing is the free capacity, in thousandths of a GPU, and the fragmented capacity, in thousandths of a GPU times jobs of the
// mix.
type footing struct {
	free, lost int64
	stale      bool
}

// kind describes servers with equal GPUs, as the mix sees them.
type kind struct {
	gpus    int32
	gpuType string
	// takes is indexed by share and number of GPUs: how many jobs ask for the share and for at most that number of GPUs on one such
	// server.
	takes [][]int64
}

// shape contains everything about a job that decides whether it fits, and the number of jobs that have it.
type shape struct {
	milli, workers, together int32
	gpuType                  string
	jobs                     int64
}

// mixOf groups jobs by shape and counts them.
func mixOf(jobs []trace.Job) (mix []shape) {
	at := map[shape]int{}
	var recent [256]int // indices into mix: a cache, because the map is slower
	for i := range jobs {
		j := &jobs[i]
		s := shape{j.Request.GPUMilli, j.Workers, j.Together(), j.GPUType, 0}
		k := &recent[uint32(s.milli+31*s.workers)%uint32(len(recent))]
		if *k >= len(mix) || !mix[*k].like(&s) {
			n, known := at[s]
			if !known {
				n = len(mix)
				at[s], mix = n, append(mix, s)
			}
			*k = n
		}
		mix[*k].jobs++
	}
	return mix
}

func (s *shape) like(t *shape) bool {
	return s.milli == t.milli && s.workers == t.workers && s.together == t.together && s.gpuType == t.gpuType
}

func newFragments(log *sim.Log, p *pools) *fragments {
	servers, jobs := log.Config.Cluster.Servers, log.Jobs[log.Config.Warm:]
	f := &fragments{
		log: log, pools: p, jobs: int64(len(jobs)), kinds: make([]*kind, len(servers)), held: make([][]int16, len(servers)),
		placed: make([]int32, len(log.Jobs)), server: make([]footing, len(servers)),
	}
	mix := mixOf(jobs)
	for i := range mix {
		f.fits[mix[i].milli] = 1
	}
	for milli, asked := range f.fits {
		f.shares += int(asked)
		f.fits[milli] = int16(f.shares)
	}
	f.stock = make([]stock, len(servers)*(f.shares+1))
	gpus := make([]int16, log.Config.Cluster.GPUs())
	var kinds []*kind
	for i := range servers {
		v := &servers[i]
		f.held[i], gpus = gpus[:v.GPUs], gpus[v.GPUs:]
		f.stockOf(cluster.ServerID(i))[f.shares] = stock{v.GPUs, v.GPUs * cluster.WholeGPU}
		at := slices.IndexFunc(kinds, func(k *kind) bool { return k.gpus == v.GPUs && k.gpuType == v.GPUType })
		if at < 0 {
			at, kinds = len(kinds), append(kinds, f.newKind(v, mix))
		}
		f.kinds[i] = kinds[at]
		f.look(cluster.ServerID(i))
	}
	return f
}

func (f *fragments) newKind(v *cluster.ServerSpec, mix []shape) *kind {
	k := &kind{gpus: v.GPUs, gpuType: v.GPUType, takes: make([][]int64, f.shares)}
	for i := range k.takes {
		k.takes[i] = make([]int64, v.GPUs+1)
	}
	for i := range mix {
		m := &mix[i]
		here := min(m.workers, v.GPUs)
		here -= here % m.together
		if spec := (cluster.JobSpec{GPUType: m.gpuType}); here > 0 && spec.Allows(v.GPUType) {
			k.takes[f.fits[m.milli]-1][here] += m.jobs
		}
	}
	for _, takes := range k.takes {
		for n := range v.GPUs {
			takes[n+1] += takes[n]
		}
	}
	return k
}

func (f *fragments) stockOf(id cluster.ServerID) []stock {
	n := f.shares + 1
	return f.stock[int(id)*n : int(id)*n+n]
}

// pass adds a period of length d, during which the state does not change, to the integrals.
func (f *fragments) pass(d time.Duration) {
	for _, id := range f.changed {
		f.measure(id)
	}
	f.changed = f.changed[:0]
	f.total.add(d, f.now.free)
	f.lost.add(d, f.now.lost)
}

// share returns the fraction of the free GPU-time that was fragmented.
func (f *fragments) share() float64 { return f.lost.over(f.total) / float64(max(f.jobs, 1)) }

// follow applies a record. The pools must already have followed it.
func (f *fragments) follow(r *sim.Record) {
	switch r.Kind {
	case sim.Start, sim.Resize, sim.Migrate:
		f.leave(r.Job)
		f.arrive(r)
	case sim.Preempt, sim.Interrupt, sim.Finish:
		f.leave(r.Job)
	case sim.Fail, sim.Repair:
		if r.Index >= 0 && r.Kind == sim.Fail {
			f.take(r.Server, r.Index, cluster.WholeGPU)
		} else if r.Index >= 0 {
			f.take(r.Server, r.Index, -cluster.WholeGPU)
		}
		f.look(r.Server)
	case sim.Loan, sim.Reclaim, sim.Seize:
		f.look(r.Server)
	}
}

// arrive applies the placement of a record.
func (f *fragments) arrive(r *sim.Record) {
	if len(f.unused) == 0 {
		f.unused, f.spots = append(f.unused, int32(len(f.spots))), append(f.spots, spot{})
	}
	last := len(f.unused) - 1
	i := f.unused[last]
	f.unused, f.placed[r.Job] = f.unused[:last], i+1
	p := &f.spots[i]
	p.placement, p.gpus = append(p.placement[:0], f.log.Placement(r)...), append(p.gpus[:0], f.log.GPUs(r)...)
	f.hold(p, 1)
}

// leave removes the placement of a job that has one.
func (f *fragments) leave(id cluster.JobID) {
	if i := f.placed[id] - 1; i >= 0 {
		f.hold(&f.spots[i], -1)
		f.unused, f.placed[id] = append(f.unused, i), 0
	}
}

// hold adds (sign 1) or removes (sign -1) the GPUs of a placement.
func (f *fragments) hold(p *spot, sign int32) {
	gpus := p.gpus
	for _, q := range p.placement {
		if q.GPUMilli == cluster.WholeGPU {
			// No other job is on these GPUs, so it does not matter which they are. If one of them has failed, the failure was counted as
			// well, on a GPU that was in use. This is corrected here, since the job is stopped at the same instant.
			row := &f.stockOf(q.Server)[f.shares]
			row.gpus -= sign * q.Workers
			row.free -= sign * q.Workers * cluster.WholeGPU
		} else {
			for _, g := range gpus[:q.Workers] {
				f.take(q.Server, g, int16(sign*q.GPUMilli))
			}
		}
		gpus = gpus[q.Workers:]
		f.look(q.Server)
	}
}

// take takes milli thousandths of a GPU. No job holds the whole of that GPU.
func (f *fragments) take(id cluster.ServerID, gpu int32, milli int16) {
	held, row := &f.held[id][gpu], f.stockOf(id)
	was := max(cluster.WholeGPU-*held, 0)
	*held += milli
	is := max(cluster.WholeGPU-*held, 0)
	before, after := &row[f.fits[was]], &row[f.fits[is]]
	before.gpus--
	before.free -= int32(was)
	after.gpus++
	after.free += int32(is)
}

// look marks a server for measurement before time next passes.
func (f *fragments) look(id cluster.ServerID) {
	if v := &f.server[id]; !v.stale {
		v.stale = true
		f.changed = append(f.changed, id)
	}
}

func (f *fragments) measure(id cluster.ServerID) {
	v := &f.server[id]
	f.now.free -= v.free
	f.now.lost -= v.lost
	*v = footing{}
	if !f.pools.trains(id) {
		return
	}
	useful, n, free := int64(0), int32(0), int64(0)
	row := f.stockOf(id)
	for i, takes := range slices.Backward(f.kinds[id].takes) {
		n += row[i+1].gpus // GPUs with enough free capacity for a worker with the share
		free += int64(row[i+1].free)
		useful += takes[n] * free
	}
	v.free = free + int64(row[0].free)
	v.lost = v.free*f.jobs - useful
	f.now.free += v.free
	f.now.lost += v.lost
}

package placement

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// bench measures what CPU, memory and the share of a GPU do to a job's speed: the job runs alone on one server that has all it
// could want, and the profile is asked, amount after amount. That amounts do the same wherever a job runs is assumed: it lets
// one measurement serve all jobs of a kind, also beyond a reset where profile and servers are the same. Of servers and partners
// the profile is asked where they are.
type bench struct {
	knee, floor float64
	largest     cluster.ServerSpec // as much CPU, memory and GPUs as any server has
	profile     cluster.Profile
	known       map[trait]*response
	sure        bool // that what is known is of this profile and these servers
}

func (b *bench) reset(knee, floor float64) {
	if b.knee != knee || b.floor != floor {
		*b = bench{knee: knee, floor: floor}
	}
	b.sure = false
}

// trait is what may decide how amounts change a job's speed.
type trait struct {
	model                     string
	workers, stages, together int32
	request                   cluster.Amount
}

// response is how a job's speed goes with what each worker holds.
type response struct {
	profile cluster.Profile
	state   *cluster.State // the bench
	workers int32
	fair    float64        // the speed as requested
	lean    cluster.Amount // the least that is as fast as requested, but for slack
	floor   cluster.Amount // the least that is nearly as fast as requested
	knee    cluster.Amount // the least that is nearly as fast as can be, and as fast as requested
	sliced  bool           // a share of a GPU is no cap: half is as fast as what was requested, and all of it no faster
}

// slack is a loss of speed that counts as none.
const slack = 1e-3

// of returns how a job's speed goes with amounts.
func (b *bench) of(s *cluster.View, id cluster.JobID) (*response, error) {
	spec := s.Spec(id)
	if !b.sure {
		b.sure = true
		if v, p := largest(s), Profile(s); b.known == nil || v != b.largest || !cluster.SameProfile(p, b.profile) {
			b.largest, b.profile, b.known = v, p, map[trait]*response{}
		}
	}
	t := trait{spec.Model, spec.Workers, spec.Stages, spec.Together(), spec.Request}
	if r, ok := b.known[t]; ok {
		return r, nil
	}
	r, err := b.measure(b.profile, spec)
	b.known[t] = r
	return r, err
}

func largest(s *cluster.View) (v cluster.ServerSpec) {
	for i := range s.Servers() {
		w := s.Server(cluster.ServerID(i))
		v.GPUs, v.CPUMilli, v.MemMiB = max(v.GPUs, w.GPUs), max(v.CPUMilli, w.CPUMilli), max(v.MemMiB, w.MemMiB)
	}
	return v
}

// measure finds the levels. CPU or memory that is not modelled, that the job did not ask for or that makes no difference stays
// as requested.
func (b *bench) measure(p cluster.Profile, spec *cluster.JobSpec) (*response, error) {
	server := cluster.ServerSpec{
		Name: "bench", GPUs: min(spec.Workers, cluster.MaxGPUs), CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited,
	}
	alone := *spec
	alone.Workers, alone.MinWorkers, alone.MaxWorkers = server.GPUs-server.GPUs%spec.Together(), 0, 0
	if alone.Workers != spec.Workers {
		alone.Stages = 0
	}
	alone.GPUType, alone.Tenant, alone.Where = "", "", nil
	r := &response{profile: p, workers: alone.Workers, lean: spec.Request, floor: spec.Request, knee: spec.Request}
	var err error
	if r.state, err = cluster.NewState(cluster.Spec{Servers: []cluster.ServerSpec{server}}, 1); err != nil {
		return r, err
	}
	r.state.Submit(0, &alone)
	r.fair = r.speed(spec.Request)
	half, whole := spec.Request, spec.Request
	half.GPUMilli, whole.GPUMilli = min(half.GPUMilli, cluster.WholeGPU/2), cluster.WholeGPU
	r.sliced = r.speed(half) >= r.fair*(1-slack) && r.fair >= r.speed(whole)*(1-slack)

	most := spec.Request
	perServer := int64(min(spec.Workers, b.largest.GPUs))
	most.CPUMilli = atMost(spec.Request.CPUMilli, b.largest.CPUMilli, perServer)
	most.MemMiB = atMost(spec.Request.MemMiB, b.largest.MemMiB, perServer)
	r.lean = r.least(spec.Request, r.fair*(1-slack))
	r.floor = r.least(r.lean, r.fair*b.floor)
	r.knee = r.least(most, max(r.speed(most)*b.knee, r.fair*(1-slack)))
	r.knee.CPUMilli, r.knee.MemMiB = max(r.knee.CPUMilli, r.lean.CPUMilli), max(r.knee.MemMiB, r.lean.MemMiB)
	return r, nil
}

// atMost is the most that a worker can have where so many share a server.
func atMost(want int32, server, workers int64) int32 {
	if want == 0 || server >= cluster.Unlimited {
		return want
	}
	return int32(max(int64(want), min(server/workers, 1<<30)))
}

// speed is the job's alone, each worker holding the amount.
func (r *response) speed(a cluster.Amount) float64 {
	tx := r.state.Begin(nil)
	defer tx.End()
	if err := tx.Place(0, cluster.Placement{{Workers: r.workers, Amount: a}}); err != nil {
		panic("place: bench: " + err.Error()) // it has all that amounts can ask for
	}
	v := r.profile.Speed(&r.state.View, 0)
	tx.Rollback(0)
	return v
}

// least returns the least CPU, then the least memory, up to an amount, with which the job reaches a speed that it reaches with
// all of it: CPU may take half of what may be lost. What makes no difference stays as requested.
func (r *response) least(most cluster.Amount, speed float64) cluster.Amount {
	a, full, asked := most, r.speed(most), r.state.Spec(0).Request
	a.CPUMilli = search(most.CPUMilli, asked.CPUMilli, func(v int32) bool {
		a.CPUMilli = v
		return r.speed(a) >= (speed+full)/2
	})
	a.MemMiB = search(most.MemMiB, asked.MemMiB, func(v int32) bool {
		a.MemMiB = v
		return r.speed(a) >= speed
	})
	return a
}

// search returns the least 64th of a whole that will do, where more always does if less does; the whole itself does. If none
// of it will do as well, it returns what was asked for.
func search(whole, asked int32, does func(int32) bool) int32 {
	if does(0) {
		return min(whole, asked)
	}
	const parts = 64
	part := func(k int64) int32 { return int32((int64(whole)*k + parts - 1) / parts) }
	lo, hi := int64(0), int64(parts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; does(part(mid)) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return part(hi)
}

package placement

import (
	"github.com/clustergym/clustergym/env/cluster"
)

// bench measures how CPU, memory and the share of a GPU change a job's speed. It runs the job alone on one server that has
// everything the job could use, and asks the profile for its speed with one amount after the other. It assumes that amounts have
// the same effect wherever a job runs, so that one measurement serves all jobs with the same traits; the measurements stay valid
// after a reset if profile and servers are the same. The effects of servers and partners are not measured here: placers ask the
// profile about each placement.
type bench struct {
	knee, floor float64
	largest     cluster.ServerSpec // the most CPU, memory and GPUs that any server has
	profile     cluster.Profile
	known       map[trait]*response
	sure        bool // known belongs to the present profile and servers
}

func (b *bench) reset(knee, floor float64) {
	if b.knee != knee || b.floor != floor {
		*b = bench{knee: knee, floor: floor}
	}
	b.sure = false
}

// trait is everything that may influence how amounts change a job's speed.
type trait struct {
	kind                      string // see cluster.SpeedKind
	workers, stages, together int32
	request                   cluster.Amount
}

// response says how a job's speed depends on the GPU share, the CPU and the memory that each of its workers gets.
type response struct {
	profile cluster.Profile
	version int            // see cluster.SpeedKind
	state   *cluster.State // of the bench
	workers int32
	fair    float64        // speed with the requested amounts
	lean    cluster.Amount // least amounts that are as fast as those requested, up to slack
	floor   cluster.Amount // least amounts that reach Floor times the speed as requested
	knee    cluster.Amount // least amounts that are nearly as fast as any and at least as fast as those requested
	sliced  bool           // half of a GPU is as fast as what was requested, and a whole GPU no faster
}

// exact and unsure are relative losses of speed that are ignored: in profiles, and in what is believed from measurements.
const exact, unsure = 1e-3, 0.04

// mostTraits is the largest number of measurements that are kept.
const mostTraits = 1 << 12

// slack returns the relative loss of speed that is ignored.
func slack(p cluster.Profile) float64 {
	if _, ok := p.(cluster.Believed); ok {
		return unsure
	}
	return exact
}

// of returns how the job's speed depends on amounts.
func (b *bench) of(s *cluster.View, id cluster.JobID) (*response, error) {
	spec := s.Spec(id)
	if !b.sure {
		b.sure = true
		if v, p := largest(s), Profile(s); b.known == nil || v != b.largest || !cluster.SameProfile(p, b.profile) {
			b.largest, b.profile, b.known = v, p, map[trait]*response{}
		}
	}
	kind, version := cluster.SpeedKind(b.profile, spec)
	t := trait{kind, spec.Workers, spec.Stages, spec.Together(), spec.Request}
	if r, ok := b.known[t]; ok && r.version == version {
		return r, nil
	}
	if len(b.known) >= mostTraits {
		clear(b.known)
	}
	r, err := b.measure(b.profile, spec)
	r.version = version
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

// measure finds the levels of a response. CPU or memory stays as requested if it is not modelled, was not requested, or makes no
// difference.
func (b *bench) measure(p cluster.Profile, spec *cluster.JobSpec) (*response, error) {
	server := cluster.ServerSpec{
		Name: "bench", GPUs: min(spec.Workers, cluster.MaxGPUs), CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited,
	}
	alone := *spec
	alone.Workers, alone.MinWorkers, alone.MaxWorkers = server.GPUs-server.GPUs%spec.Together(), 0, 0
	if alone.Workers != spec.Workers {
		alone.Stages = 0
	}
	alone.GPUType, alone.User, alone.Tenant, alone.Where = "", spec.Owner(), "", nil
	slack := slack(p)
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

// atMost returns the most that one of the parameter workers can have if they share a server.
func atMost(want int32, server, workers int64) int32 {
	if want == 0 || server >= cluster.Unlimited {
		return want
	}
	return int32(max(int64(want), min(server/workers, 1<<30)))
}

// speed returns the job's speed alone, with the amount a for each worker.
func (r *response) speed(a cluster.Amount) float64 {
	tx := r.state.Begin(nil)
	defer tx.End()
	if err := tx.Place(0, cluster.Placement{{Workers: r.workers, Amount: a}}); err != nil {
		panic("place: bench: " + err.Error()) // the bench's server can hold any amount
	}
	v := r.profile.Speed(&r.state.View, 0)
	tx.Rollback(0)
	return v
}

// least returns the least CPU, and then the least memory, with which the job still reaches the given speed; neither exceeds
// most. The search for CPU may use half of the permitted loss of speed. What makes no difference stays as requested.
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

// search returns the least multiple of a 64th of whole for which does returns true. does must be monotonic and true for whole.
// If it is true even for 0, search returns the smaller of whole and asked.
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

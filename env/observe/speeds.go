package observe

import (
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
)

// speeds predicts, from the profile, the speed of jobs that are not running. A profile answers only for running jobs, so speeds
// places one worker of each kind of job on a server of its own, outside the cluster, and caches the answer. The answer contains
// no effects of the real servers, above all of their network.
type speeds struct {
	profile cluster.Profile
	types   []string
	kinds   map[kindKey]*kind
	alike   map[likeness]int32
	specs   []cluster.JobSpec       // by likeness: of a job
	pairs   map[[3]int32][2]float64 // by two likenesses and the GPU type
}

// kindKey contains everything about a job on which the speed of one worker may depend.
type kindKey struct {
	like    likeness
	request cluster.Amount
	types   uint16
}

// likeness is what jobs share that have equal speeds if they request the same: see cluster.SpeedKind.
type likeness struct {
	kind    string
	version int
}

// kind is the predicted speed of one kind of job.
type kind struct {
	like             int32
	best             float64   // speed of a worker as requested, on the best GPU type that the job accepts; 0 if there is none
	halfGPU, halfCPU float32   // fraction of the speed lost with half the GPU, shared with the same model, or half the CPU
	asked            []float32 // by GPU type: speed as requested, relative to best; 0 for types that the job does not accept
}

// mostKinds is the maximum number of kinds in the cache.
const mostKinds = 1 << 14

// read takes the profile from the state. It empties the cache if the profile or the GPU types have changed, or if the cache is
// full.
func (p *speeds) read(s *cluster.View) {
	known := s.Profile()
	if p.kinds != nil && len(p.kinds) < mostKinds && slices.Equal(p.types, s.Types()) &&
		cluster.SameProfile(p.profile, known) {
		return
	}
	*p = speeds{
		profile: known, types: slices.Clone(s.Types()), kinds: map[kindKey]*kind{},
		alike: map[likeness]int32{}, pairs: map[[3]int32][2]float64{},
	}
}

// of returns the predicted speeds of a job's kind, nil without a profile. The result is valid until the next read.
func (p *speeds) of(s *cluster.View, id cluster.JobID) *kind {
	if p.profile == nil {
		return nil
	}
	spec := s.Spec(id)
	kind, version := cluster.SpeedKind(p.profile, spec)
	key := kindKey{likeness{kind, version}, spec.Request, s.TypesFor(id)}
	k := p.kinds[key]
	if k == nil {
		k = p.learn(key, spec)
		p.kinds[key] = k
	}
	return k
}

func (p *speeds) learn(key kindKey, spec *cluster.JobSpec) *kind {
	n := len(p.types)
	k := &kind{like: p.likeID(key.like, spec), asked: make([]float32, n)}
	less, slow := key.request, key.request
	less.CPUMilli /= 2
	slow.GPUMilli = max(slow.GPUMilli/2, 1)
	best, lostCPU, lostGPU := 0.0, 0.0, 0.0
	asked := make([]float64, n)
	for t := range n {
		if key.types>>t&1 == 0 {
			continue
		}
		asked[t] = p.alone(k.like, key.request, key.request, t)
		best = max(best, asked[t])
		lostCPU = max(lostCPU, 1-p.alone(k.like, key.request, less, t)/asked[t])
		pair := p.beside(k.like, k.like, t)
		lostGPU = max(lostGPU, 1-p.alone(k.like, key.request, slow, t)*pair[0]/asked[t])
	}
	if k.best = best; best == 0 {
		return k
	}
	k.halfCPU, k.halfGPU = float32(min(lostCPU, 1)), float32(min(lostGPU, 1))
	for t := range n {
		k.asked[t] = float32(asked[t] / best)
	}
	return k
}

// likeID returns the index of a likeness, to which the job belongs.
func (p *speeds) likeID(like likeness, spec *cluster.JobSpec) int32 {
	id, ok := p.alike[like]
	if !ok {
		id = int32(len(p.specs))
		p.alike[like] = id
		p.specs = append(p.specs, cluster.JobSpec{
			Name: spec.Name, User: spec.User, Tenant: spec.Tenant, Model: spec.Model, Group: spec.Group, Workers: 1,
		})
	}
	return id
}

// one returns the specification of a job of the likeness with one worker that requests the amount a.
func (p *speeds) one(like int32, a cluster.Amount) cluster.JobSpec {
	spec := p.specs[like]
	spec.Request = a
	return spec
}

// alone returns the speed of one worker that requests an amount and holds the amount a, on an otherwise empty GPU of type t.
func (p *speeds) alone(like int32, request, a cluster.Amount, t int) float64 {
	return p.try(t, []cluster.JobSpec{p.one(like, request)}, []cluster.Amount{a})[0]
}

// half is what a worker with half a GPU holds.
var half = cluster.Amount{GPUMilli: cluster.WholeGPU / 2}

// beside returns, for workers of two likenesses that share a GPU of type t, the speed of each relative to its speed alone with
// half of that GPU.
func (p *speeds) beside(a, b int32, t int) [2]float64 {
	key := [3]int32{a, b, int32(t)}
	x, ok := p.pairs[key]
	if !ok {
		first, second := p.one(a, half), p.one(b, half)
		both := p.try(t, []cluster.JobSpec{first, second}, []cluster.Amount{half, half})
		x = [2]float64{
			min(both[0]/p.try(t, []cluster.JobSpec{first}, []cluster.Amount{half})[0], 1),
			min(both[1]/p.try(t, []cluster.JobSpec{second}, []cluster.Amount{half})[0], 1),
		}
		p.pairs[key] = x
	}
	return x
}

// try runs one worker of each job together on one GPU and returns their speeds; 1 where the profile returns no valid speed.
func (p *speeds) try(t int, specs []cluster.JobSpec, amounts []cluster.Amount) []float64 {
	s, err := cluster.NewState(cluster.Spec{Servers: []cluster.ServerSpec{{
		GPUs: 1, CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited, GPUType: p.types[t],
	}}}, len(specs))
	if err != nil {
		panic("observe: " + err.Error()) // such a server is valid
	}
	for i := range specs {
		s.Submit(cluster.JobID(i), &specs[i])
	}
	tx := s.Begin(nil)
	for i, a := range amounts {
		if err := tx.Place(cluster.JobID(i), cluster.Placement{{Workers: 1, Amount: a}}); err != nil {
			panic("observe: " + err.Error()) // the GPU has room for a whole worker or two halves
		}
	}
	all := make([]float64, len(specs))
	for i := range all {
		if all[i] = p.profile.Speed(&s.View, cluster.JobID(i)); !(all[i] > 0 && all[i] < math.MaxFloat32) {
			all[i] = 1
		}
	}
	return all
}

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
	models  map[string]int32
	names   []string
	pairs   map[[3]int32][2]float64
}

// kindKey contains everything about a job on which the speed of one worker may depend.
type kindKey struct {
	model   string
	request cluster.Amount
	types   uint16
}

// kind is the predicted speed of one kind of job.
type kind struct {
	model            int32
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
		models: map[string]int32{}, pairs: map[[3]int32][2]float64{},
	}
}

// of returns the predicted speeds of a job's kind, nil without a profile. The result is valid until the next read.
func (p *speeds) of(s *cluster.View, id cluster.JobID) *kind {
	if p.profile == nil {
		return nil
	}
	spec := s.Spec(id)
	key := kindKey{spec.Model, spec.Request, s.TypesFor(id)}
	k := p.kinds[key]
	if k == nil {
		k = p.learn(key)
		p.kinds[key] = k
	}
	return k
}

func (p *speeds) learn(key kindKey) *kind {
	n := len(p.types)
	k := &kind{model: p.modelID(key.model), asked: make([]float32, n)}
	less, slow := key.request, key.request
	less.CPUMilli /= 2
	slow.GPUMilli = max(slow.GPUMilli/2, 1)
	best, lostCPU, lostGPU := 0.0, 0.0, 0.0
	asked := make([]float64, n)
	for t := range n {
		if key.types>>t&1 == 0 {
			continue
		}
		asked[t] = p.alone(key, key.request, t)
		best = max(best, asked[t])
		lostCPU = max(lostCPU, 1-p.alone(key, less, t)/asked[t])
		pair := p.beside(k.model, k.model, t)
		lostGPU = max(lostGPU, 1-p.alone(key, slow, t)*pair[0]/asked[t])
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

func (p *speeds) modelID(model string) int32 {
	id, ok := p.models[model]
	if !ok {
		id = int32(len(p.names))
		p.models[model] = id
		p.names = append(p.names, model)
	}
	return id
}

// alone returns the speed of one worker that holds the amount a on an otherwise empty GPU of type t.
func (p *speeds) alone(key kindKey, a cluster.Amount, t int) float64 {
	spec := cluster.JobSpec{Model: key.model, Workers: 1, Request: key.request}
	return p.try(t, []cluster.JobSpec{spec}, []cluster.Amount{a})[0]
}

// half is what a worker with half a GPU holds.
var half = cluster.Amount{GPUMilli: cluster.WholeGPU / 2}

// beside returns, for workers of two models that share a GPU of type t, the speed of each relative to its speed alone with half
// of that GPU.
func (p *speeds) beside(a, b int32, t int) [2]float64 {
	key := [3]int32{a, b, int32(t)}
	x, ok := p.pairs[key]
	if !ok {
		first := cluster.JobSpec{Model: p.names[a], Workers: 1, Request: half}
		second := cluster.JobSpec{Model: p.names[b], Workers: 1, Request: half}
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

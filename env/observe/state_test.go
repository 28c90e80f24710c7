package observe_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// scene is a random cluster with jobs. It is built on demand, so that it can be built again with relabelled servers.
type scene struct {
	servers   []cluster.ServerSpec
	jobs      []cluster.JobSpec
	placed    []cluster.Placement // placements of the jobs, empty for jobs that wait; in the order of placing
	lent      []bool              // by server, for the inference servers
	submitted time.Duration       // all jobs are submitted by this time
	now       time.Duration

	// Only a world sets these.
	perGPU int32
	quotas []cluster.Quota
	known  cluster.Profile
	offer  int32           // number of servers of the inference pool that may be on loan in the end
	broken []sim.Outage    // servers and GPUs that have failed
	rates  map[int]float64 // rates of running jobs, 1 if absent
}

// drawScene draws servers of one GPU type, and jobs.
func drawScene(t *rapid.T) scene { return drawSceneOf(t, false) }

// drawWorld draws a scene with everything that a cluster may have.
func drawWorld(t *rapid.T) scene { return drawSceneOf(t, true) }

func drawSceneOf(t *rapid.T, world bool) scene {
	sc := scene{offer: 1 << 20}
	for i := range rapid.IntRange(1, 9).Draw(t, "servers") {
		v := cluster.ServerSpec{
			Name: fmt.Sprint(i), GPUs: int32(rapid.IntRange(0, 8).Draw(t, "gpus")),
			CPUMilli: cluster.Unlimited, MemMiB: cluster.Unlimited,
		}
		if rapid.Bool().Draw(t, "limited") {
			v.CPUMilli, v.MemMiB = int64(rapid.IntRange(0, 16_000).Draw(t, "cpu")), int64(rapid.IntRange(0, 64_000).Draw(t, "mem"))
		}
		if rapid.IntRange(0, 4).Draw(t, "pool") == 0 {
			v.Pool = cluster.Inference
		}
		if world {
			v.GPUType = rapid.SampledFrom([]string{"V100", "P100", ""}).Draw(t, "type")
			v.GPUMemMiB = rapid.SampledFrom([]int32{0, 16_000, 32_000}).Draw(t, "gpu memory")
			v.Rack = int32(rapid.IntRange(0, 3).Draw(t, "rack"))
		}
		sc.servers = append(sc.servers, v)
		sc.lent = append(sc.lent, v.Pool == cluster.Inference && rapid.Bool().Draw(t, "lent"))
	}
	requests := []cluster.Amount{
		{GPUMilli: 1000}, {GPUMilli: 1000, CPUMilli: 4000, MemMiB: 8000}, {GPUMilli: 500, CPUMilli: 1000},
		{GPUMilli: 300, MemMiB: 9000},
	}
	for i := range rapid.IntRange(0, 40).Draw(t, "jobs") {
		j := cluster.JobSpec{
			Name: fmt.Sprint(i), Submit: time.Duration(rapid.IntRange(0, 50).Draw(t, "submit")) * time.Minute,
			Workers: int32(rapid.SampledFrom([]int{1, 1, 1, 2, 3, 4, 8, 16, 2000}).Draw(t, "workers")),
			Request: rapid.SampledFrom(requests).Draw(t, "request"),
		}
		if rapid.Bool().Draw(t, "elastic") {
			j.MinWorkers = 1
		}
		if rapid.IntRange(0, 3).Draw(t, "estimated") > 0 {
			j.Estimate = time.Duration(rapid.Int64Range(1, int64(200*24*time.Hour)).Draw(t, "estimate"))
		}
		if world {
			drawNature(t, &j)
		}
		sc.jobs = append(sc.jobs, j)
	}
	sc.submitted = time.Hour
	sc.now = sc.submitted + time.Duration(rapid.Int64Range(0, int64(400*24*time.Hour)).Draw(t, "now"))
	sc.placed = make([]cluster.Placement, len(sc.jobs))
	if world {
		sc.perGPU = int32(rapid.IntRange(0, 3).Draw(t, "jobs a GPU"))
		sc.quotas = []cluster.Quota{{Tenant: "a", GPUs: int32(rapid.IntRange(0, 40).Draw(t, "quota"))}}
		name := rapid.SampledFrom([]string{
			"ideal", "gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,2.5)", "sharing(0.3) * inter-server(0.5)",
		}).Draw(t, "physics")
		model := must.Get(physics.Parse(name))(t)
		sc.known = model
	}
	s := sc.build(t, identity(len(sc.servers)))
	s.Begin(nil)
	for i := range sc.jobs {
		if !rapid.Bool().Draw(t, "try") {
			continue
		}
		if p, ok := s.BestFit(cluster.JobID(i), nil); ok && s.Txn().Place(cluster.JobID(i), p) == nil {
			sc.placed[i] = slices.Clone(p)
		}
	}
	if world {
		sc.drawEvents(t)
	}
	return sc
}

// drawNature draws the properties that distinguish jobs in a world.
func drawNature(t *rapid.T, j *cluster.JobSpec) {
	j.Model = rapid.SampledFrom([]string{"", "resnet50-32", "lm-20", "a3c", "unheard of"}).Draw(t, "model")
	j.Tenant = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "tenant")
	j.GPUType = rapid.SampledFrom([]string{"", "V100", "P100|V100", "K80"}).Draw(t, "types")
	j.Mixed = rapid.Bool().Draw(t, "mixed")
	j.Request.GPUMemMiB = rapid.SampledFrom([]int32{0, 5000, 20_000}).Draw(t, "gpu memory")
	if j.MinWorkers == 1 && rapid.Bool().Draw(t, "grows") {
		j.MaxWorkers = 3 * j.Workers
	} else if j.Workers%2 == 0 && j.MinWorkers == 0 && rapid.Bool().Draw(t, "tensor") {
		j.Tensor = 2
	}
}

// drawEvents draws offers, rates and failures in a world.
func (sc *scene) drawEvents(t *rapid.T) {
	sc.offer = int32(rapid.IntRange(0, len(sc.servers)).Draw(t, "offer"))
	sc.rates = map[int]float64{}
	for i, p := range sc.placed {
		if len(p) > 0 && rapid.Bool().Draw(t, "other rate") {
			sc.rates[i] = rapid.Float64Range(0.05, 2).Draw(t, "rate")
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "failures") {
		o := sim.Outage{Server: cluster.ServerID(rapid.IntRange(0, len(sc.servers)-1).Draw(t, "failed server")), GPU: -1}
		if n := sc.servers[o.Server].GPUs; n > 0 && rapid.Bool().Draw(t, "a GPU") {
			o.GPU = int32(rapid.IntRange(0, int(n)-1).Draw(t, "failed GPU"))
		}
		sc.broken = append(sc.broken, o)
	}
}

func identity(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// build returns the state in which server i of the scene has the id order[i].
func (sc *scene) build(tb rapid.TB, order []int) *cluster.State {
	spec := cluster.Spec{Servers: make([]cluster.ServerSpec, len(sc.servers)), PerGPU: sc.perGPU, Quotas: sc.quotas}
	for i, v := range sc.servers {
		spec.Servers[order[i]] = v
	}
	s := must.Get(cluster.NewState(spec, len(sc.jobs)))(tb)
	s.Advance(sc.submitted)
	for i := range sc.jobs {
		s.Submit(cluster.JobID(i), &sc.jobs[i])
	}
	tx := s.Begin(nil)
	for i, lent := range sc.lent {
		if lent {
			must.Do(tb, tx.Loan(cluster.ServerID(order[i])))
		}
	}
	for i, p := range sc.placed {
		moved := slices.Clone(p)
		for n := range moved {
			moved[n].Server = cluster.ServerID(order[moved[n].Server])
		}
		if len(p) > 0 {
			must.Do(tb, tx.Place(cluster.JobID(i), moved))
		}
	}
	tx.End()
	s.SetProfile(sc.known)
	for i := range sc.jobs {
		if rate, ok := sc.rates[i]; ok {
			s.SetProgress(cluster.JobID(i), 0, s.Now(), rate)
		}
	}
	s.Advance(sc.now)
	for _, o := range sc.broken {
		s.Fail(cluster.ServerID(order[o.Server]), o.GPU, nil)
	}
	if sc.offer < 1<<20 {
		s.SetOffer(min(sc.offer, int32(len(sc.servers))), sc.now+time.Hour)
	}
	return s
}

// encode fills an observation full of garbage with a state and candidates.
func encode(tb rapid.TB, e *observe.Standard, s *cluster.State, list ...candidates.Candidate) (observe.Spec, *observe.Observation) {
	tb.Helper()
	rubbish := func() []float32 { return slices.Repeat([]float32{-99}, 4000) }
	o := &observe.Observation{
		Servers: rubbish(), Jobs: rubbish(), Global: rubbish(), Candidates: rubbish(), Ids: []cluster.JobID{-7}, Of: []int32{-7},
	}
	must.Do(tb, e.Encode(s.Txn(), list, o))
	return e.Spec(), o
}

func drawEncoder(t *rapid.T) *observe.Standard {
	e := &observe.Standard{Window: rapid.IntRange(1, 12).Draw(t, "window"), Uncertainty: rapid.Bool().Draw(t, "uncertainty")}
	if rapid.Bool().Draw(t, "objective") {
		e.Objective = objective(t, all)
	}
	return e
}

package env_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"pgregory.net/rapid"
)

// scene is a cluster with jobs, drawn at random and built on demand, so that it can be built again with servers relabelled.
type scene struct {
	servers   []cluster.ServerSpec
	jobs      []cluster.JobSpec
	placed    []cluster.Placement // of the jobs, empty for those that wait; in the order of placing
	lent      []bool              // of the inference servers
	submitted time.Duration       // all jobs are, by then
	now       time.Duration
}

func drawScene(t *rapid.T) scene {
	var sc scene
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
		sc.jobs = append(sc.jobs, j)
	}
	sc.submitted = time.Hour
	sc.now = sc.submitted + time.Duration(rapid.Int64Range(0, int64(400*24*time.Hour)).Draw(t, "now"))
	sc.placed = make([]cluster.Placement, len(sc.jobs))
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
	return sc
}

func identity(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// build makes the state in which server i of the scene has the id order[i].
func (sc *scene) build(tb rapid.TB, order []int) *cluster.State {
	spec := cluster.Spec{Servers: make([]cluster.ServerSpec, len(sc.servers))}
	for i, v := range sc.servers {
		spec.Servers[order[i]] = v
	}
	s, err := cluster.NewState(spec, len(sc.jobs))
	if err != nil {
		tb.Fatal(err)
	}
	s.Advance(sc.submitted)
	for i := range sc.jobs {
		s.Submit(cluster.JobID(i), &sc.jobs[i])
	}
	tx := s.Begin(nil)
	for i, lent := range sc.lent {
		if lent {
			if err := tx.Loan(cluster.ServerID(order[i])); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for i, p := range sc.placed {
		moved := slices.Clone(p)
		for n := range moved {
			moved[n].Server = cluster.ServerID(order[moved[n].Server])
		}
		if len(p) > 0 {
			if err := tx.Place(cluster.JobID(i), moved); err != nil {
				tb.Fatal(err)
			}
		}
	}
	tx.End()
	s.Advance(sc.now)
	return s
}

// encode shows a state in a time step full of rubbish.
func encode(e env.Encoder, s *cluster.State) (env.Spec, *env.TimeStep) {
	spec := e.Spec(s.Servers())
	ts := env.NewTimeStep(&spec)
	for _, x := range [][]float32{ts.Servers, ts.Jobs, ts.Items, ts.Global} {
		for i := range x {
			x[i] = -99
		}
	}
	for i := range ts.Mask {
		ts.Mask[i] = i%2 == 0
	}
	e.Encode(s, ts)
	ts.State = s
	return spec, ts
}

var halves = []env.Level{
	{Name: "as requested", GPUShare: 1, CPU: 1, Memory: 1}, {Name: "half", GPUShare: 0.5, CPU: 0.5, Memory: 0.5},
}

func drawEncoder(t *rapid.T) *env.StandardEncoder {
	e := &env.StandardEncoder{Window: rapid.IntRange(1, 12).Draw(t, "window")}
	if rapid.Bool().Draw(t, "menu") {
		e.Menu = halves
	}
	return e
}

package observe_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
)

// contended returns a cluster with the given number of free GPUs, jobs on the other GPUs, some of them shared, and a queue.
func contended(tb testing.TB, servers, window, free int) *cluster.State {
	draw := rand.New(rand.NewPCG(1, 2))
	spec := cluster.Uniform(servers, 8)
	spec.PerGPU = 2
	for i := range spec.Servers {
		v := &spec.Servers[i]
		v.CPUMilli, v.MemMiB, v.Rack, v.GPUType = 48_000, 500*1024, int32(1+i/8), "V100"
	}
	models := []string{"resnet50-32", "lm-20", "a3c", "bert-large", "cyclegan"}
	jobs := make([]cluster.JobSpec, 8*servers+3*window)
	s := must.Get(cluster.NewState(spec, len(jobs)))(tb)
	model := must.Get(physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,40)"))(tb)
	s.SetProfile(model)
	s.Advance(10 * time.Hour)
	for i := range jobs {
		share := []int32{1000, 1000, 500}[draw.IntN(3)]
		jobs[i] = cluster.JobSpec{
			Name: fmt.Sprint(i), Model: models[draw.IntN(len(models))], Submit: time.Duration(draw.Int64N(int64(10 * time.Hour))),
			Workers:  []int32{1, 1, 2, 4, 8, 16}[draw.IntN(6)],
			Request:  cluster.Amount{GPUMilli: share, CPUMilli: 3000, MemMiB: 40_960},
			Estimate: time.Duration(draw.Int64N(int64(20 * time.Hour))),
		}
	}
	tx := s.Begin(nil)
	for i := range jobs {
		full := s.FreeTotal() <= int64(free)
		if full && len(s.Pending()) >= 4*window {
			break
		}
		s.Submit(cluster.JobID(i), &jobs[i])
		if p, ok := s.BestFit(cluster.JobID(i), nil); ok && !full {
			must.Do(tb, tx.Place(cluster.JobID(i), p))
		}
	}
	tx.End()
	s.Advance(s.Now() + time.Hour)
	return s
}

// eight returns typical candidates: to start one of several jobs, alone or with half of each GPU, to wait, or to stop another job
// for it.
func eight(s *cluster.State) (list []candidates.Candidate) {
	tx, kind := s.Txn(), candidates.Own
	start := func(p cluster.Placement, ok bool, id cluster.JobID) {
		if mark := tx.Mark(); ok && len(list) < 6 && tx.Place(id, p) == nil {
			list = append(list, candidates.Candidate{Kind: kind, Job: id, Ops: []cluster.Proposal{tx.Ops()[mark].Proposal()}})
			tx.Rollback(mark)
			kind = candidates.Begin
		}
	}
	for _, id := range slices.Sorted(slices.Values(s.Pending())) {
		p, ok := s.BestFit(id, nil)
		start(p, ok, id)
		a := s.Spec(id).Request
		a.GPUMilli = 500
		p, ok = s.BestFitAlone(id, s.Spec(id).Workers, a, nil)
		start(p, ok, id)
	}
	first := list[0].Job
	stopped := stop(int(slices.Min(s.Running())))
	return append(list, candidates.Candidate{Kind: candidates.Wait, Job: first, Wait: time.Hour},
		candidates.Candidate{Kind: candidates.Preempt, Job: first, Ops: append([]cluster.Proposal{stopped}, list[0].Ops...)})
}

func BenchmarkEncode(b *testing.B) {
	for _, c := range []struct {
		name                  string
		servers, window, free int
	}{
		{"16x32", 16, 32, 16}, {"64x32 in use", 64, 32, 64}, {"64x32 half free", 64, 32, 256}, {"1024x48 in use", 1024, 48, 1024},
		{"1024x48 half free", 1024, 48, 4096},
	} {
		s := contended(b, c.servers, c.window, c.free)
		tx := s.Begin(nil)
		list := eight(s)
		for _, n := range []int{0, len(list)} {
			e, o := &observe.Standard{Window: c.window}, &observe.Observation{}
			must.Do(b, e.Encode(tx, list, o))
			b.Run(fmt.Sprintf("%s %d candidates", c.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					must.Do(b, e.Encode(tx, list[:n], o))
				}
				b.ReportMetric(float64(len(s.Running())), "running")
				b.ReportMetric(float64(len(s.Pending())), "pending")
			})
		}
	}
}

// BenchmarkEncodeBeliefs compares the uncertain encoder with the standard one where the state shows beliefs.
func BenchmarkEncodeBeliefs(b *testing.B) {
	s := contended(b, 64, 32, 64)
	s.Begin(nil)
	s = newBeliever().show(s)
	tx := s.Txn()
	list := eight(s)
	for _, name := range []string{observe.StandardName, observe.UncertainName} {
		e := must.Get(observe.Named(name, 32))(b)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var o observe.Observation
			for b.Loop() {
				must.Do(b, e.Encode(tx, list, &o))
			}
		})
	}
}

// BenchmarkEncodeCosts compares the encoder with an objective with the one without.
func BenchmarkEncodeCosts(b *testing.B) {
	s := contended(b, 64, 32, 64)
	tx := s.Begin(nil)
	list := eight(s)
	small := must.Get(objectives.Open("small-first"))(b)
	for name, e := range map[string]*observe.Standard{
		"without": {Window: 32}, "small-first": {Window: 32, Objective: small}, "eight terms": {Window: 32, Objective: objective(b, all)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var o observe.Observation
			for b.Loop() {
				must.Do(b, e.Encode(tx, list, &o))
			}
		})
	}
}

func TestEncodeAllocatesNothing(t *testing.T) {
	s := contended(t, 16, 16, 16)
	model, err := physics.Parse("gpu-type * cpu-mem * sharing(1) * scaling") // no network: the race detector empties its sync.Pool
	if err != nil {
		t.Fatal(err)
	}
	s.SetProfile(model)
	tx := s.Begin(nil)
	list := candidatesIn(s, rand.New(rand.NewPCG(1, 4)), 8)
	for _, e := range []*observe.Standard{{Window: 16}, {Window: 16, Objective: objective(t, all)}, {Window: 16, Uncertainty: true}} {
		if e.Uncertainty {
			s = newBeliever().show(s)
			tx = s.Txn()
		}
		for _, list := range [][]candidates.Candidate{nil, list} {
			var o observe.Observation
			run := func() { must.Do(t, e.Encode(tx, list, &o)) }
			run()
			if n := testing.AllocsPerRun(100, run); n != 0 {
				t.Errorf("%v allocations with %d candidates, uncertainty %v", n, len(list), e.Uncertainty)
			}
		}
	}
}

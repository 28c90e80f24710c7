package placement_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// skip starts the waiting jobs that fit, shortest first, and checks the transaction after each.
type skip struct {
	placer placement.Placer
	check  func(tx *cluster.Txn)
}

func (k *skip) Name() string            { return "skip" }
func (k *skip) Reset(seed uint64) error { k.placer.Reset(seed); return nil }
func (k *skip) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	refused := map[placement.Kind]bool{}
	for _, id := range ordered(s) {
		if kind := k.placer.Kind(s, id); !refused[kind] {
			before := tx.Mark()
			ok, err := k.placer.Place(tx, id)
			if err != nil {
				return err
			}
			if !ok && tx.Mark() != before {
				return fmt.Errorf("job %d was refused after %d operations", id, tx.Mark()-before)
			}
			refused[kind] = !ok
		}
	}
	if err := placement.Finish(k.placer, tx); err != nil {
		return err
	}
	if k.check != nil {
		k.check(tx)
	}
	return nil
}

// outages draws failures of servers and GPUs.
func outages(t *rapid.T, cfg *sim.Config) {
	for i := range cfg.Cluster.Servers {
		if rapid.Bool().Draw(t, "fails") {
			from := time.Duration(rapid.IntRange(0, 60).Draw(t, "from")) * time.Second
			cfg.Outages = append(cfg.Outages, sim.Outage{
				From: from, To: from + time.Duration(rapid.IntRange(1, 60).Draw(t, "for"))*time.Second, Server: cluster.ServerID(i),
				GPU: rapid.Int32Range(-1, cfg.Cluster.Servers[i].GPUs-1).Draw(t, "GPU"),
			})
		}
	}
}

// TestPlacersFinishEveryJob checks that every job ends that the empty cluster can hold, despite outages, that no operation
// fails, that a run depends only on what the placer sees, and that no job holds less GPU memory than it asked for.
func TestPlacersFinishEveryJob(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, &cfg.Cluster, rapid.IntRange(1, 15).Draw(t, "jobs"))
		outages(t, &cfg)
		p := &skip{placer: flexible(t)}
		run := func() []string {
			s := must.Get(sim.New(cfg, jobs))(t)
			p.check = func(tx *cluster.Txn) {
				for _, id := range tx.View().Running() {
					for _, q := range tx.View().Placement(id) {
						if q.GPUMemMiB != tx.View().Spec(id).Request.GPUMemMiB {
							t.Fatalf("job %d holds %+v, want the GPU memory of %+v", id, q, tx.View().Spec(id).Request)
						}
					}
				}
			}
			must.Do(t, s.Run(t.Context(), p, 1))
			if !s.Outcome().Terminated {
				t.Fatalf("outcome %+v, want every job finished", s.Outcome())
			}
			var lines []string
			for i := range s.Log().Records {
				lines = append(lines, fmt.Sprintf("%+v", s.Log().Records[i]))
			}
			return lines
		}
		if first, again := run(), run(); !slices.Equal(first, again) {
			t.Fatalf("schedule\n%q, after Reset\n%q", first, again)
		}
	})
}

// TestPlacersStartOnEmptyCluster checks that on an empty cluster every job starts that it can hold, even if waiting, or a
// partner, would be better.
func TestPlacersStartOnEmptyCluster(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		s := state(t, &cfg, drawJobs(t, &cfg.Cluster, 1))
		tx := s.Begin(nil)
		if ok, err := flexible(t).Place(tx, 0); !ok || err != nil {
			t.Fatalf("job %+v does not start, error %v", *s.Spec(0), err)
		}
	})
}

// TestPlacersAreBestFit checks that every placer does what BestFit does if there is nothing to choose.
func TestPlacersAreBestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		cfg.Physics = physics.Ideal()
		jobs := drawJobs(t, &cfg.Cluster, rapid.IntRange(1, 15).Draw(t, "jobs"))
		for i := range jobs {
			jobs[i].MinWorkers, jobs[i].MaxWorkers = 0, 0
		}
		starts := func(p placement.Placer) []string {
			s := state(t, &cfg, jobs)
			tx := s.Begin(nil)
			must.Do(t, (&skip{placer: p}).Schedule(tx))
			return operations(tx)
		}
		if got, want := starts(flexible(t)), starts(&placement.BestFit{}); !slices.Equal(got, want) {
			t.Fatalf("operations\n%q, want BestFit's\n%q", got, want)
		}
	})
}

func operations(tx *cluster.Txn) (lines []string) {
	for i := range tx.Ops() {
		o := &tx.Ops()[i]
		lines = append(lines, fmt.Sprint(o.Kind, o.Job, o.Placement(), o.GPUs()))
	}
	return lines
}

// job returns a job that asks for whole GPUs.
func job(model string, workers, cpuMilli int32, estimate time.Duration) trace.Job {
	return trace.Job{Work: estimate, JobSpec: cluster.JobSpec{
		Name: model, Model: model, Workers: workers, Estimate: estimate,
		Request: cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: cpuMilli},
	}}
}

// rule is a profile written by hand: a speed for each model as a function of the CPU per worker, times another factor for each
// job that shares one of its GPUs.
type rule struct {
	cpu    map[string]func(cores float64) float64
	beside map[string]float64 // by model: remaining speed beside another job
	cap    bool               // shares limit the speed
}

func (r *rule) Speed(s *cluster.View, id cluster.JobID) float64 {
	p, spec := s.Placement(id), s.Spec(id)
	v := float64(p.Workers()) / float64(spec.Workers)
	if f := r.cpu[spec.Model]; f != nil {
		v *= f(float64(p[0].CPUMilli) / 1000)
	}
	if r.cap {
		v *= p.GPUs() / float64(p.Workers()) / spec.GPUs() * float64(spec.Workers)
	}
	if slices.ContainsFunc(s.Running(), func(o cluster.JobID) bool { return o != id && together(s, id, o) }) {
		v *= r.beside[spec.Model]
	}
	return v
}

func together(s *cluster.View, a, b cluster.JobID) bool {
	for _, q := range s.Placement(a) {
		for _, g := range s.GPUsOn(a, q.Server) {
			if slices.Contains(s.GPUsOn(b, q.Server), g) {
				return true
			}
		}
	}
	return false
}

func (r *rule) Coupled(s *cluster.View, p cluster.Placement, dst []cluster.JobID) []cluster.JobID {
	for i := range p {
		dst = append(dst, s.Residents(p[i].Server)...)
	}
	return dst
}

// prepared returns a cluster of the given number of servers, with 2 GPUs and the given cores each, with the jobs pending and the
// profile r.
func prepared(t *testing.T, servers int, cores int64, r cluster.Profile, jobs ...trace.Job) *cluster.State {
	cfg := sim.Config{Cluster: cluster.Uniform(servers, 2), Physics: physics.Ideal()}
	cfg.Cluster.PerGPU = 2
	for i := range cfg.Cluster.Servers {
		cfg.Cluster.Servers[i].CPUMilli = 1000 * cores
		cfg.Cluster.Servers[i].GPUMemMiB = 16
	}
	s := state(t, &cfg, jobs)
	s.SetProfile(r)
	return s
}

// start places jobs one after the other, finishes, and returns what each got.
func start(t *testing.T, s *cluster.State, p placement.Placer, ids ...cluster.JobID) (got []string) {
	tx := s.Begin(nil)
	for _, id := range ids {
		must.Get(p.Place(tx, id))(t)
	}
	must.Do(t, placement.Finish(p, tx))
	for _, id := range ids {
		line := "waits"
		if s.Phase(id) == cluster.Running {
			line = ""
			for _, q := range s.Placement(id) {
				line += fmt.Sprintf("%d on %d: GPUs %v cpu %d; ", q.Workers, q.Server, s.GPUsOn(id, q.Server), q.CPUMilli)
			}
		}
		got = append(got, line)
	}
	tx.End()
	return got
}

package elastic_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// drawEpisode draws a cluster with features of real ones (GPU types, quotas, little CPU and memory, failures, an inference pool)
// and jobs that its training servers can hold, half of them elastic.
func drawEpisode(t *rapid.T) (sim.Config, []trace.Job) {
	cfg := sim.Config{
		Cluster: cluster.Uniform(rapid.IntRange(1, 4).Draw(t, "servers"), rapid.IntRange(1, 5).Draw(t, "GPUs a server")),
		Physics: rapid.SampledFrom([]physics.Model{
			physics.Ideal(), physics.Compose(physics.InterServer{Penalty: 0.5}, physics.Sharing{Strength: 1}, physics.GPUType{}),
		}).Draw(t, "physics"),
		Restart: sim.Pause(simtest.Seconds(t, "overhead", 0, 5)),
	}
	c := &cfg.Cluster
	types := rapid.Bool().Draw(t, "types")
	for i := range c.Servers {
		if types {
			c.Servers[i].GPUType = rapid.SampledFrom([]string{"V100", "T4"}).Draw(t, "type")
		}
		if rapid.IntRange(0, 2).Draw(t, "small server") == 0 {
			c.Servers[i].CPUMilli, c.Servers[i].MemMiB = 6, 6
		}
	}
	c.PerGPU = int32(rapid.IntRange(0, 2).Draw(t, "jobs a GPU"))
	c.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}, {Tenant: "b", GPUs: 3}}
	jobs := make([]trace.Job, rapid.IntRange(1, 15).Draw(t, "jobs"))
	for i := range jobs {
		drawJob(t, c, &jobs[i])
		jobs[i].Name = fmt.Sprint(i)
	}
	jobs = slices.DeleteFunc(jobs, func(j trace.Job) bool { return j.Workers == 0 }) // too large for any server
	simtest.Lend(t, &cfg, 3)
	for i := range c.Servers {
		if types && c.Servers[i].Pool == cluster.Inference {
			c.Servers[i].GPUType = "T4"
		}
	}
	simtest.Break(t, &cfg)
	return cfg, jobs
}

func drawJob(t *rapid.T, c *cluster.Spec, j *trace.Job) {
	j.Submit = time.Duration(rapid.IntRange(0, 60).Draw(t, "submit")) * time.Second
	j.Work = time.Duration(rapid.IntRange(1, 50).Draw(t, "work")) * time.Second
	j.Estimate = time.Duration(rapid.IntRange(1, 50).Draw(t, "estimate")) * time.Second
	j.Tenant = rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "tenant")
	j.Model = rapid.SampledFrom([]string{"", "ResNet-50 (batch size 64)"}).Draw(t, "model")
	j.Mixed = rapid.Bool().Draw(t, "mixed")
	j.GPUType = rapid.SampledFrom([]string{"", "", "V100|T4", "V100"}).Draw(t, "GPU type")
	j.Request = cluster.Amount{
		GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 600, 250}).Draw(t, "GPU milli"),
		CPUMilli: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "CPU milli"),
		MemMiB:   rapid.SampledFrom([]int32{0, 0, 2}).Draw(t, "MiB"),
	}
	if rapid.IntRange(0, 4).Draw(t, "tensor parallel") == 0 {
		j.Tensor = 2
	}
	n := int32(min(int64(rapid.IntRange(1, 6).Draw(t, "workers")), c.Capacity(&j.JobSpec)))
	j.Workers = n - n%j.Together()
	if j.Tensor == 0 && n > 0 && rapid.Bool().Draw(t, "elastic") {
		j.MinWorkers = rapid.Int32Range(1, n).Draw(t, "least")
		j.MaxWorkers = n + rapid.Int32Range(0, 8).Draw(t, "more")
	}
}

func drawConfig(t *rapid.T) elastic.Config {
	on := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return elastic.Config{
		Epoch:   time.Duration(rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "epoch")) * time.Second,
		Special: on("special"), Gather: on("gather"),
		Pause:   time.Duration(rapid.SampledFrom([]int{0, 0, 1, 60}).Draw(t, "pause of a resize")) * time.Second,
		Slowest: rapid.SampledFrom([]float64{0, 0, 0.5, 1}).Draw(t, "slowest"),
	}
}

// wild is a policy that wants random numbers of workers in random order.
type wild struct{ r *rand.Rand }

func (*wild) Name() string         { return "wild" }
func (w *wild) Reset(seed uint64)  { w.r = rand.New(rand.NewPCG(seed, 0)) }
func (*wild) NeedsEstimates() bool { return false }

func (w *wild) Allocate(s *cluster.View, jobs []elastic.Job) {
	for i := range jobs {
		a, b := jobs[max(i-1, 0)].ID, jobs[i].ID
		if cmp.Or(cmp.Compare(s.Spec(a).Submit, s.Spec(b).Submit), cmp.Compare(a, b)) >= 0 && i > 0 || jobs[i].Want != 0 {
			panic(fmt.Sprintf("job %d of %+v: want none wanted and all in the order of submission", i, jobs))
		}
	}
	w.r.Shuffle(len(jobs), func(i, k int) { jobs[i], jobs[k] = jobs[k], jobs[i] })
	for i := range jobs {
		if jobs[i].Want = 0; w.r.IntN(3) > 0 {
			jobs[i].Want = w.r.Int32N(jobs[i].Most + 2)
		}
	}
}

// lending borrows every server offered and returns those owed before the scheduler decides.
func lending(sched cluster.Scheduler) cluster.Scheduler {
	return loan.New(sched.Name(), sched, loan.Default())
}

// guard returns an error if the scheduler does something that it promises not to do.
type guard struct {
	cluster.Scheduler
	apart bool // base and flexible workers must be on separate servers
}

func (g guard) Schedule(tx *cluster.Txn) error {
	first := len(tx.Ops())
	if err := g.Scheduler.Schedule(tx); err != nil {
		return err
	}
	resized := map[cluster.JobID]int{}
	for _, o := range tx.Ops()[first:] {
		spec, n := tx.View().Spec(o.Job), o.Placement().Workers()
		switch {
		case o.Kind == cluster.OpResize && spec.Least() == spec.Most():
			return fmt.Errorf("job %d is resized, which is not elastic", o.Job)
		case o.Kind == cluster.OpResize && n == o.Before().Workers():
			return fmt.Errorf("job %d is resized from %d workers to as many", o.Job, n)
		case o.Kind != cluster.OpResize && o.Kind != cluster.OpPlace:
			return fmt.Errorf("%v of job %d", o.Kind, o.Job)
		case n < spec.Least() || n > spec.Most():
			return fmt.Errorf("job %d gets %d workers, want %d to %d", o.Job, n, spec.Least(), spec.Most())
		}
		if o.Kind == cluster.OpResize {
			if resized[o.Job]++; resized[o.Job] > 1 {
				return fmt.Errorf("job %d is resized twice", o.Job)
			}
		}
		if g.apart {
			if err := apart(tx.View(), &o); err != nil {
				return err
			}
		}
	}
	return nil
}

// based reports whether base workers run on a server. The base of a job is its first workers, as many as its least.
func based(s *cluster.View, v cluster.ServerID) bool {
	return slices.ContainsFunc(s.Residents(v), func(id cluster.JobID) bool {
		left := s.Spec(id).Least()
		for _, p := range s.Placement(id) {
			if p.Server == v {
				return left > 0
			}
			left -= p.Workers
		}
		return false
	})
}

// apart returns an error if flexible workers were put beside base workers on a server on loan although another server on loan,
// with GPUs of that type and no base workers, has room for one.
func apart(s *cluster.View, o *cluster.Op) error {
	for _, p := range o.Placement() {
		had := slices.IndexFunc(o.Before(), func(q cluster.Piece) bool { return q.Server == p.Server })
		grew := o.Kind == cluster.OpResize && (had < 0 || o.Before()[had].Workers < p.Workers)
		if !grew || !s.OnLoan(p.Server) || !based(s, p.Server) {
			continue
		}
		for i := range s.Servers() {
			v := cluster.ServerID(i)
			own := slices.ContainsFunc(o.Placement(), func(q cluster.Piece) bool { return q.Server == v })
			if s.OnLoan(v) && !own && !based(s, v) && s.SameType(o.Job, v, p.Server) && s.Fits(v, o.Job, s.Spec(o.Job).Request) > 0 {
				return fmt.Errorf("job %d grows on server %d, where bases are, and server %d has room", o.Job, p.Server, v)
			}
		}
	}
	return nil
}

func run(
	t *rapid.T, cfg sim.Config, jobs []trace.Job, sched cluster.Scheduler, seed uint64,
) (lines []string, end sim.Outcome) {
	t.Helper()
	s := must.Get(sim.New(cfg, jobs))(t)
	must.Do(t, s.Run(t.Context(), sched, seed))
	return simtest.Lines(s.Log()), s.Outcome()
}

// TestLyraFinishesAllJobs checks, with any options, that Lyra finishes every job that the cluster can hold, stops none, and
// resizes only elastic jobs, within their bounds. It gives the same schedule again after a Reset in mid-episode.
func TestLyraFinishesAllJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawEpisode(t)
		c := drawConfig(t)
		p := elastic.NewLyra()
		sched := lending(guard{elastic.New("lyra", p, c), c.Special && !c.Gather})
		cut := cfg
		cut.Horizon = time.Duration(rapid.IntRange(1, 90).Draw(t, "horizon")) * time.Second
		run(t, cut, jobs, sched, 1)
		first, end := run(t, cfg, jobs, sched, 2)
		if !end.Terminated {
			t.Fatalf("outcome %+v, want every job finished", end)
		}
		if again, _ := run(t, cfg, jobs, sched, 2); !slices.Equal(first, again) {
			t.Fatalf("schedule\n%q, after Reset\n%q", first, again)
		}
	})
}

// TestSchedulerBearsAnyPolicy checks that, whatever a policy wants, the transaction accepts all of the scheduler's operations,
// and the scheduler keeps its promises.
func TestSchedulerBearsAnyPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawEpisode(t)
		c := drawConfig(t)
		sched := guard{elastic.New("wild", &wild{}, c), c.Special && !c.Gather}
		run(t, cfg, jobs, lending(sched), rapid.Uint64().Draw(t, "seed"))
	})
}

// TestSchedulerTakesOver checks that a scheduler can take over a cluster from another one. Its decisions follow from the state
// alone, so they equal those of a scheduler that has been there all the time.
func TestSchedulerTakesOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawEpisode(t)
		c := drawConfig(t)
		c.Epoch = 0
		cfg.Horizon = time.Duration(rapid.IntRange(1, 90).Draw(t, "until")) * time.Second
		ran := rapid.SampledFrom([]elastic.Policy{&wild{}, elastic.NewLyra()}).Draw(t, "who ran it")
		s := must.Get(sim.New(cfg, jobs))(t)
		must.Do(t, s.Run(t.Context(), lending(elastic.New("ran", ran, c)), 1))
		var text bytes.Buffer
		must.Do(t, s.State().WriteSnapshot(&text))
		decide := func(sched cluster.Scheduler, times int) string {
			var ops string
			for range times {
				state := must.Get(cluster.ReadSnapshot(bytes.NewReader(text.Bytes())))(t)
				tx := state.Begin(state.Introduce())
				must.Do(t, sched.Schedule(tx))
				ops = ""
				for _, o := range tx.Ops() {
					ops += fmt.Sprintln(o.Kind, o.Job, o.Placement(), o.GPUs())
				}
			}
			return ops
		}
		lyra := func() cluster.Scheduler {
			p := guard{elastic.New("lyra", elastic.NewLyra(), c), false}
			must.Do(t, p.Reset(1))
			return p
		}
		if once, thrice := decide(lyra(), 1), decide(lyra(), 3); once != thrice {
			t.Fatalf("a new scheduler proposes\n%s, one that has decided before\n%s", once, thrice)
		}
	})
}

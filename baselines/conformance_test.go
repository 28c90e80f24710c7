package baselines

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/placement"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

type job = trace.Job

// mix gives some servers little CPU and memory, and makes some jobs ask for shares, CPU and memory, within the cluster's limits.
func mix(t *rapid.T, cfg *sim.Config, jobs []job) {
	for i := range cfg.Cluster.Servers {
		if v := &cfg.Cluster.Servers[i]; rapid.Bool().Draw(t, "small server") {
			v.CPUMilli, v.MemMiB = 6, 6
		}
	}
	for i := range jobs {
		j := &jobs[i]
		j.Request = cluster.Amount{
			GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 600, 250}).Draw(t, "GPU milli"),
			CPUMilli: rapid.SampledFrom([]int32{0, 0, 3}).Draw(t, "CPU milli"),
			MemMiB:   rapid.SampledFrom([]int32{0, 0, 2}).Draw(t, "MiB"),
		}
		j.Workers = int32(min(int64(j.Workers), cfg.Cluster.Capacity(&j.JobSpec)))
	}
}

// harden adds features of real clusters: GPU types, quotas, an inference pool, failures.
func harden(t *rapid.T, cfg *sim.Config, jobs []job) {
	if rapid.Bool().Draw(t, "types") {
		for i := range cfg.Cluster.Servers {
			cfg.Cluster.Servers[i].GPUType = rapid.SampledFrom([]string{"V100", "T4"}).Draw(t, "type")
		}
		for i := range jobs {
			jobs[i].Mixed = rapid.Bool().Draw(t, "mixed")
			jobs[i].GPUType = rapid.SampledFrom([]string{"", "V100|T4", cfg.Cluster.Servers[0].GPUType}).Draw(t, "types")
		}
	}
	if rapid.Bool().Draw(t, "bound to servers") {
		first, even := cluster.NewServerSet(64), cluster.NewServerSet(64)
		first.Add(0)
		for i := 0; i < 64; i += 2 {
			even.Add(cluster.ServerID(i))
		}
		for i := range jobs {
			jobs[i].Where = rapid.SampledFrom([]*cluster.ServerSet{nil, nil, first, even}).Draw(t, "servers")
			if cfg.Cluster.Capacity(&jobs[i].JobSpec) == 0 {
				jobs[i].Where = nil
			}
		}
	}
	if rapid.Bool().Draw(t, "quotas") {
		cfg.Cluster.Quotas = []cluster.Quota{{Tenant: "a", GPUs: 1}, {Tenant: "b", GPUs: 3}}
		for i := range jobs {
			jobs[i].Tenant = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "tenant")
		}
	}
	if rapid.Bool().Draw(t, "rich") {
		enrich(t, cfg, jobs)
	}
	for i := range jobs {
		if jobs[i].Stages < 2 {
			jobs[i].Workers = int32(min(int64(jobs[i].Workers), cfg.Cluster.Capacity(&jobs[i].JobSpec)))
		}
	}
	simtest.Lend(t, cfg, 2)
	simtest.Break(t, cfg)
}

// enrich adds what physics depends on: models, effective CPU and memory, GPUs that jobs may share, elastic jobs, pipelines.
func enrich(t *rapid.T, cfg *sim.Config, jobs []job) {
	model, err := physics.Parse(rapid.SampledFrom([]string{
		"gpu-type * cpu-mem * sharing(1) * scaling * network(12.5,1.25,5)", "cpu-mem * sharing(0.3)", "sharing(1) * diminishing(0.5)",
	}).Draw(t, "physics of models"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Physics = model
	cfg.Cluster.PerGPU = rapid.Int32Range(0, 2).Draw(t, "jobs per GPU")
	for i := range cfg.Cluster.Servers {
		v := &cfg.Cluster.Servers[i]
		v.CPUMilli = rapid.SampledFrom([]int64{6000, 24_000}).Draw(t, "CPU milli of a server")
		v.MemMiB = rapid.SampledFrom([]int64{40_000, cluster.Unlimited}).Draw(t, "MiB of a server")
		v.GPUMemMiB = rapid.SampledFrom([]int32{0, 16_000}).Draw(t, "MiB of a GPU")
		v.Rack = rapid.Int32Range(0, 2).Draw(t, "rack")
	}
	for i := range jobs {
		j := &jobs[i]
		j.Model = rapid.SampledFrom(append(profile.Names()[:6], "gpt2-1.5b", "")).Draw(t, "model")
		j.User = rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user")
		j.Request = cluster.Amount{
			GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 500}).Draw(t, "GPU milli"),
			CPUMilli: rapid.SampledFrom([]int32{0, 500, 4000}).Draw(t, "CPU milli"),
			MemMiB:   rapid.SampledFrom([]int32{0, 10_000}).Draw(t, "MiB"),
		}
		if f := profile.Lookup(j.Model); f != nil && rapid.Bool().Draw(t, "GPU memory counts") {
			j.Request.GPUMemMiB = min(f.GPUMemMiB(1), 16_000)
		}
		j.Workers = int32(min(int64(j.Workers), cfg.Cluster.Capacity(&j.JobSpec)))
		switch most := cfg.Cluster.Capacity(&j.JobSpec); rapid.IntRange(0, 3).Draw(t, "kind of job") {
		case 0:
			j.MinWorkers, j.MaxWorkers = (j.Workers+1)/2, int32(min(int64(2*j.Workers), most))
		case 1:
			if j.Workers%2 == 0 {
				j.Stages = 2
			}
		}
	}
}

// TestBaselines checks that every baseline finishes every job that the cluster can hold, without an error, and that the same
// seed gives the same schedule for a fresh scheduler and after a Reset in mid-episode.
func TestBaselines(t *testing.T) {
	for _, name := range variants() {
		t.Run(name, func(t *testing.T) {
			fresh := func() cluster.Scheduler {
				return must.Get(tested().New(name))(t)
			}
			if p := fresh(); p.Name() != name {
				t.Errorf("name %q, want %q", p.Name(), name)
			}
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(0, 15).Draw(t, "jobs"))
				if rapid.Bool().Draw(t, "mix") {
					mix(t, &cfg, jobs)
				}
				if rapid.Bool().Draw(t, "hard") {
					harden(t, &cfg, jobs)
				}
				seed := rapid.Uint64().Draw(t, "seed")
				p := fresh()
				cut := cfg
				cut.Horizon = time.Duration(rapid.IntRange(1, 90).Draw(t, "horizon")) * time.Second
				run(t, cut, jobs, p, seed+1)
				l := run(t, cfg, jobs, p, seed)
				if !l.Outcome.Terminated {
					t.Fatalf("outcome %+v, want every job finished", l.Outcome)
				}
				first := events(l)
				if again := events(run(t, cfg, jobs, p, seed)); !slices.Equal(first, again) {
					t.Fatalf("schedule\n%q, after Reset\n%q", first, again)
				}
				if again := events(run(t, cfg, jobs, fresh(), seed)); !slices.Equal(first, again) {
					t.Fatalf("schedule\n%q, anew\n%q", first, again)
				}
			})
		})
	}
}

// variants returns the names of all baselines, with and without suffixes where they take them, and of every placer with an order
// that waits and one that preempts.
func variants() (names []string) {
	for _, p := range placers {
		names = append(names, "sjfskip:place="+p.name, "srtf:place="+p.name)
	}
	names = append(names, "fifo:backfill=easy", "sjf:backfill=easy+menu+move+loan+know",
		"qssf:backfill=easy+know:time=history:by=mean")
	for _, b := range tested().All() {
		names = append(names, b.Name, b.Name+LoanSuffix, b.Name+MoveSuffix, b.Name+KnowSuffix)
		if b.Orders() {
			names = append(names, b.Name+MenuSuffix, b.Name+MenuSuffix+LoanSuffix, b.Name+MenuSuffix+MoveSuffix+LoanSuffix+KnowSuffix)
		}
	}
	return names
}

// TestBaselinesFromSnapshot checks that every baseline can take over a cluster from another scheduler, and that srtf's fast path
// then decides as its plan does.
func TestBaselinesFromSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 15).Draw(t, "jobs"))
		if rapid.Bool().Draw(t, "mix") {
			mix(t, &cfg, jobs)
		}
		cfg.Horizon = time.Duration(rapid.IntRange(1, 90).Draw(t, "until")) * time.Second
		s := must.Get(sim.New(cfg, jobs))(t)
		who := made(t, rapid.SampledFrom(tested().Names()).Draw(t, "who ran it"))
		must.Do(t, s.Run(t.Context(), who, 1))
		var text bytes.Buffer
		must.Do(t, s.State().WriteSnapshot(&text))
		ops := func(p cluster.Scheduler) string {
			state := must.Get(cluster.ReadSnapshot(bytes.NewReader(text.Bytes())))(t)
			must.Do(t, p.Reset(1))
			tx := state.Begin(state.Introduce())
			must.Do(t, p.Schedule(tx))
			var b strings.Builder
			for _, o := range tx.Ops() {
				fmt.Fprintln(&b, o.Kind, o.Job, o.Placement(), o.GPUs())
			}
			return b.String()
		}
		for _, name := range tested().Names() {
			ops(made(t, name))
		}
		if got, want := ops(plainSRTF()), ops(newPlain()); got != want {
			t.Fatalf("srtf proposes\n%s, want\n%s\nin\n%s", got, want, text.String())
		}
	})
}

// watch returns an error if a scheduler stops jobs and starts none.
type watch struct{ cluster.Scheduler }

func (w watch) Schedule(tx *cluster.Txn) error {
	err := w.Scheduler.Schedule(tx)
	stops, starts := 0, 0
	for _, o := range tx.Ops() {
		switch o.Kind {
		case cluster.OpPreempt:
			stops++
		case cluster.OpPlace:
			starts++
		}
	}
	if err == nil && stops > 0 && starts == 0 {
		err = fmt.Errorf("%d jobs stopped for nobody", stops)
	}
	return err
}

// TestStopsForSomebody checks that no job is stopped in vain, even if the free GPUs are on different servers.
func TestStopsForSomebody(t *testing.T) {
	for _, name := range []string{"srtf", "srsf", "las", "gittins", "serverfilling", "synergy", "srtf+menu", "las+menu", "srsf:place=pack",
		"srsf:evict=true", "las:evict=true+menu"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 15).Draw(t, "jobs"))
				for i := range jobs {
					jobs[i].Work *= 100 // past the bound of las
				}
				mix(t, &cfg, jobs)
				p := must.Get(tested().New(name))(t)
				run(t, cfg, jobs, watch{p}, 1)
			})
		})
	}
}

// TestRandomDrawsFromItsSeed checks that random's choices follow from its seed.
func TestRandomDrawsFromItsSeed(t *testing.T) {
	var jobs []job
	for i := range 20 {
		jobs = append(jobs, job{Work: time.Second, JobSpec: cluster.JobSpec{
			Name: fmt.Sprint(i), Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}})
	}
	orders := map[string]bool{}
	for seed := range uint64(5) {
		cfg := sim.Config{Cluster: cluster.Uniform(1, 1)}
		one, two := events(run(t, cfg, jobs, &random{place: &placement.BestFit{}}, seed)), events(run(t, cfg, jobs, &random{place: &placement.BestFit{}}, seed))
		if !slices.Equal(one, two) {
			t.Errorf("seed %d: schedule %q, then %q", seed, one, two)
		}
		orders[fmt.Sprint(one)] = true
	}
	if len(orders) != 5 {
		t.Errorf("5 seeds gave %d schedules", len(orders))
	}
}

// TestNoEstimates checks that the error of a baseline that needs estimates names the job without one.
func TestNoEstimates(t *testing.T) {
	jobs := []job{{Work: time.Second, JobSpec: cluster.JobSpec{
		Name: "a", Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}}}
	for _, b := range tested().All() {
		s, err := sim.New(sim.Config{Cluster: cluster.Uniform(1, 1)}, jobs)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Run(t.Context(), made(t, b.Name), 1)
		needs := strings.HasPrefix(b.Needs, needsEstimates)
		if needs != (err != nil && strings.Contains(err.Error(), "job a has no estimate")) {
			t.Errorf("%s: error %v", b.Name, err)
		}
	}
}

// events returns all records except submissions.
func events(l *sim.Log) (lines []string) {
	for i := range l.Records {
		if r := &l.Records[i]; r.Kind != sim.Submit {
			lines = append(lines, fmt.Sprintf("%v %v %d", r.At, r.Kind, r.Job))
		}
	}
	return lines
}

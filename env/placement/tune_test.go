package placement_test

import (
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

// hunger is a profile by CPU cores per worker: a donor needs 1 core, a hungry job gains from each up to 8, and a meek one gains
// half as much.
var hunger = &rule{cpu: map[string]func(float64) float64{
	"donor":  func(c float64) float64 { return min(c, 1) },
	"hungry": func(c float64) float64 { return min(c, 8) / 4 },
	"meek":   func(c float64) float64 { return min(c+4, 12) / 8 },
}}

func TestTune(t *testing.T) {
	var tests = []struct {
		name  string
		cores int64
		jobs  []trace.Job
		want  []string
	}{
		{"a donor gives back what does not make it faster", 16,
			[]trace.Job{job("donor", 1, 4000, time.Hour)}, []string{"1 on 0: GPUs [0] cpu 1000; "}},
		{"a hungry job grows to its knee, the least that gives 97.5 % of what 16 cores give, in 64ths of these", 16,
			[]trace.Job{job("hungry", 1, 4000, time.Hour)}, []string{"1 on 0: GPUs [0] cpu 8000; "}},
		{"two share what is left: 2 steps of 1 core go to the one that gains more", 10,
			[]trace.Job{job("meek", 1, 4000, time.Hour), job("hungry", 1, 4000, time.Hour)},
			[]string{"1 on 0: GPUs [0] cpu 4000; ", "1 on 0: GPUs [1] cpu 5906; "}},
		{"what the donor gives back lets another start", 5,
			[]trace.Job{job("donor", 1, 4000, time.Hour), job("hungry", 1, 4000, time.Hour)},
			[]string{"1 on 0: GPUs [0] cpu 1000; ", "1 on 0: GPUs [1] cpu 4000; "}},
		{"where CPU is short it makes do with 95 % of it, the floor without memory", 6,
			[]trace.Job{job("meek", 1, 2187, time.Hour), job("hungry", 1, 4000, time.Hour)},
			[]string{"1 on 0: GPUs [0] cpu 2187; ", "1 on 0: GPUs [1] cpu 3813; "}},
		{"with less than the floor it waits", 5,
			[]trace.Job{job("meek", 1, 2250, time.Hour), job("hungry", 1, 4000, time.Hour)},
			[]string{"1 on 0: GPUs [0] cpu 4844; ", "waits"}},
		{"a job that asked for no CPU does not mind", 4,
			[]trace.Job{job("hungry", 1, 0, time.Hour)}, []string{"1 on 0: GPUs [0] cpu 0; "}},
		{"an unknown model gets what it asks for", 16,
			[]trace.Job{job("", 1, 4000, time.Hour)}, []string{"1 on 0: GPUs [0] cpu 4000; "}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := placement.DefaultTune()
			c.Reserve = 0
			s := prepared(t, 1, test.cores, hunger, test.jobs...)
			if got := start(t, s, placement.NewTune(c), ids(test.jobs)...); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func ids(jobs []trace.Job) []cluster.JobID {
	all := make([]cluster.JobID, len(jobs))
	for i := range all {
		all[i] = cluster.JobID(i)
	}
	return all
}

// TestTuneConsolidates checks that a gang that asks for more CPU than a server has, and needs less, stays on one server.
func TestTuneConsolidates(t *testing.T) {
	jobs := []trace.Job{job("donor", 2, 4000, time.Hour)}
	s := prepared(t, 2, 6, hunger, jobs...)
	if got, want := start(t, s, placement.NewTune(placement.DefaultTune()), 0), "2 on 0: GPUs [0 1] cpu 1000; "; got[0] != want {
		t.Errorf("got %q, want %q", got[0], want)
	}
}

// TestTuneGivesIdleMemory checks that with Idle a worker gets what nobody uses of a GPU's part of its server's memory, though no
// profile says that it becomes faster, and that jobs which start together share what is left.
func TestTuneGivesIdleMemory(t *testing.T) {
	tests := []struct {
		name   string
		idle   bool
		asked  []int32 // MiB of each job, of one worker
		server int64   // MiB, of 2 GPUs
		want   []int32
	}{
		{"as requested without", false, []int32{1000}, 20000, []int32{1000}},
		{"a GPU's part", true, []int32{1000}, 20000, []int32{10000}},
		{"no less than requested", true, []int32{12000}, 20000, []int32{12000}},
		{"the first that start take what is left", true, []int32{1000, 18500}, 20000, []int32{1500, 18500}},
		{"none where memory was not requested", true, []int32{0}, 20000, []int32{0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			jobs := make([]trace.Job, len(test.asked))
			for i, mem := range test.asked {
				jobs[i] = job("donor", 1, 1000, time.Hour)
				jobs[i].Request.MemMiB = mem
			}
			cfg := sim.Config{Cluster: cluster.Uniform(1, 2), Physics: physics.Ideal()}
			cfg.Cluster.Servers[0].CPUMilli, cfg.Cluster.Servers[0].MemMiB = 64000, test.server
			s := state(t, &cfg, jobs)
			s.SetProfile(hunger)
			c := placement.DefaultTune()
			c.Reserve, c.Idle = 0, test.idle
			start(t, s, placement.NewTune(c), ids(jobs)...)
			for i, want := range test.want {
				if got := s.Placement(cluster.JobID(i))[0].MemMiB; got != want {
					t.Errorf("job %d has %d MiB, want %d", i, got, want)
				}
			}
		})
	}
}

// slowFirst is hunger with a first server of slow GPUs: a gang that is not on that server alone is five times as fast.
type slowFirst struct{ *rule }

func (r slowFirst) Speed(s *cluster.View, id cluster.JobID) float64 {
	if p := s.Placement(id); len(p) > 1 {
		return 5 * r.rule.Speed(s, id)
	}
	return r.rule.Speed(s, id)
}

// TestTuneConsolidatesWithSense checks that a gang does not go on one server if it is slower there.
func TestTuneConsolidatesWithSense(t *testing.T) {
	jobs := []trace.Job{job("donor", 2, 4000, time.Hour)}
	s := prepared(t, 2, 6, slowFirst{hunger}, jobs...)
	want := "1 on 0: GPUs [0] cpu 1000; 1 on 1: GPUs [0] cpu 1000; "
	if got := start(t, s, placement.NewTune(placement.DefaultTune()), 0); got[0] != want {
		t.Errorf("got %q, want %q", got[0], want)
	}
}

// TestTuneKeepsOtherOperations checks that Tune keeps the scheduler's operations from before jobs started.
func TestTuneKeepsOtherOperations(t *testing.T) {
	s := prepared(t, 1, 16, hunger, job("hungry", 2, 4000, time.Hour), job("hungry", 1, 4000, time.Hour))
	p := placement.NewTune(placement.DefaultTune())
	start(t, s, p, 0)
	tx := s.Begin(nil)
	must.Do(t, tx.Preempt(0))
	if ok, err := p.Place(tx, 1); !ok || err != nil {
		t.Fatal(ok, err)
	}
	must.Do(t, p.Finish(tx))
	if ops := tx.Ops(); len(ops) != 2 || ops[0].Kind != cluster.OpPreempt || ops[1].Placement()[0].CPUMilli <= 4000 {
		t.Errorf("operations %v, want a preemption and a start with more than 4000", operations(tx))
	}
}

// TestTuneReserves checks that free GPUs keep their part of the CPU that is left.
func TestTuneReserves(t *testing.T) {
	jobs := []trace.Job{job("hungry", 1, 4000, time.Hour)}
	c := placement.DefaultTune()
	c.Reserve = 1
	s := prepared(t, 1, 12, hunger, jobs...)
	// 6 of 12 cores are reserved for the other GPU; the knee is 7875 (42 64ths of 12); 2 of 4 steps lead to 5937.
	if got, want := start(t, s, placement.NewTune(c), 0), "1 on 0: GPUs [0] cpu 5937; "; got[0] != want {
		t.Errorf("got %q, want %q", got[0], want)
	}
}

// TestTuneResizes checks that a running job gets more only if Resize is set and it gains enough.
func TestTuneResizes(t *testing.T) {
	for _, test := range []struct {
		resize bool
		gain   float64
		want   int32
	}{{false, 0.1, 4000}, {true, 0.1, 8000}, {true, 3, 4000}} {
		jobs := []trace.Job{job("hungry", 1, 4000, time.Hour), job("donor", 1, 1000, time.Hour)}
		s := prepared(t, 1, 16, hunger, jobs...)
		tx := s.Begin(nil)
		must.Do(t, tx.Place(0, cluster.Placement{{Workers: 1, Amount: jobs[0].Request}}))
		tx.End()
		c := placement.DefaultTune()
		c.Reserve, c.Resize, c.Gain = 0, test.resize, test.gain
		start(t, s, placement.NewTune(c), 1)
		if got := s.Placement(0)[0].CPUMilli; got != test.want {
			t.Errorf("resize %v, gain %v: %d, want %d", test.resize, test.gain, got, test.want)
		}
	}
}

// TestTuneIsNoSlower checks that Tune never predicts a job to be more than a thousandth slower than with what it asked for where
// BestFit puts it.
func TestTuneIsNoSlower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		name := rapid.SampledFrom([]string{"cpu-mem", "cpu-mem * inter-server(0.5)", "cpu-mem * scaling * gpu-type"}).Draw(t, "parts")
		cfg.Physics = must.Get(physics.Parse(name))(t)
		jobs := drawJobs(t, &cfg.Cluster, rapid.IntRange(1, 8).Draw(t, "jobs"))
		s := state(t, &cfg, jobs)
		tx, p, bestFit := s.Begin(nil), placement.NewTune(placement.DefaultTune()), &placement.BestFit{}
		fair := map[cluster.JobID]float64{}
		for _, id := range ordered(&s.View) {
			mark := tx.Mark()
			ok := must.Get(bestFit.Place(tx, id))(t)
			if ok {
				fair[id] = s.Profile().Speed(&s.View, id)
				tx.Rollback(mark)
			}
			if started, err := p.Place(tx, id); err != nil || ok && !started {
				t.Fatalf("job %d: started %v, BestFit %v, error %v", id, started, ok, err)
			}
		}
		must.Do(t, p.Finish(tx))
		for _, id := range s.Running() {
			if v := s.Profile().Speed(&s.View, id); v < fair[id]*(1-1.1e-3) {
				t.Fatalf("job %d: speed %v, want %v or more", id, v, fair[id])
			}
		}
	})
}

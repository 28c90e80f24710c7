package loan_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/loan"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// watch wraps the inner scheduler and checks that the orchestrator's events report what it did.
type watch struct {
	cluster.Scheduler
	c      loan.Config
	scaled []cluster.JobID // jobs scaled in at the last call
	asked  time.Duration   // instant that the scheduler requested; 0 for none
}

func (w *watch) Reset(seed uint64) error {
	w.scaled, w.asked = nil, 0
	return w.Scheduler.Reset(seed)
}

func (w *watch) Schedule(tx *cluster.Txn) error {
	s, told := tx.View(), tx.Events()
	tells := func(kind cluster.EventKind, job cluster.JobID) bool {
		return slices.Contains(told, cluster.Event{Kind: kind, Job: job})
	}
	for _, id := range w.scaled {
		if s.Phase(id) == cluster.Running && !tells(cluster.Respeed, id) {
			return fmt.Errorf("not told that job %d has a new rate", id)
		}
	}
	w.scaled = w.scaled[:0]
	back := map[cluster.ServerID]bool{}
	for _, o := range tx.Ops() {
		if o.Kind == cluster.OpReclaim {
			back[o.Server] = true
		}
	}
	for _, o := range tx.Ops() {
		left := slices.DeleteFunc(slices.Clone(o.Before()), func(p cluster.Piece) bool { return back[p.Server] })
		switch o.Kind {
		case cluster.OpPreempt:
			if len(left) == len(o.Before()) || w.c.Flexible && left.Workers() >= s.Spec(o.Job).Least() {
				return fmt.Errorf("job %d on %v is stopped for the return of %v", o.Job, o.Before(), back)
			}
			if !tells(cluster.Interrupted, o.Job) {
				return fmt.Errorf("not told that job %d is stopped", o.Job)
			}
		case cluster.OpResize:
			if !w.c.Flexible || !slices.Equal(o.Placement(), left) || left.Workers() < s.Spec(o.Job).Least() {
				return fmt.Errorf("job %d goes from %v to %v for the return of %v", o.Job, o.Before(), o.Placement(), back)
			}
			if !tells(cluster.Respeed, o.Job) {
				return fmt.Errorf("not told that job %d is smaller", o.Job)
			}
			w.scaled = append(w.scaled, o.Job)
		}
	}
	if owed, _ := s.Owed(); owed > 0 {
		return fmt.Errorf("%d servers are owed, and nothing happens", owed)
	}
	if tells(cluster.Woke, 0) != (w.asked > 0 && w.asked <= s.Now()) {
		return fmt.Errorf("at %v: asked for %v, told %v", s.Now(), w.asked, told)
	}
	if w.asked <= s.Now() {
		w.asked = 0
	}
	err := w.Scheduler.Schedule(tx)
	if at, ok := tx.Wake(); ok && (w.asked == 0 || at < w.asked) {
		w.asked = at
	}
	return err
}

// TestSchedulersThatBorrow checks, with any options, that every scheduler that borrows finishes every job that the training
// servers can hold, without an error. Servers that are owed go back in time, unless no time is given. What the orchestrator does
// to jobs is necessary, leaves each its least workers, and is reported by events. The same seed gives the same schedule for a
// fresh scheduler and after a Reset in mid-episode.
func TestSchedulersThatBorrow(t *testing.T) {
	for _, name := range inners() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg, jobs := drawEpisode(t)
				c := drawOptions(t)
				fresh := func() cluster.Scheduler {
					return loan.New(name+"+loan", &watch{Scheduler: inner(name), c: c}, c)
				}
				seed := rapid.Uint64().Draw(t, "seed")
				p := fresh()
				cut := cfg
				cut.Horizon = simtest.Seconds(t, "horizon", 1, 90)
				play(t, cut, jobs, p, seed+1)
				l := play(t, cfg, jobs, p, seed)
				if !l.Outcome.Terminated {
					t.Fatalf("outcome %+v, want every job finished", l.Outcome)
				}
				if n := count(l, sim.Seize); cfg.Grace > 0 && n > 0 {
					t.Fatalf("%d servers are taken by force", n)
				}
				first := timeline(l)
				if again := timeline(play(t, cfg, jobs, p, seed)); !slices.Equal(first, again) {
					t.Fatalf("schedule\n%q, after Reset\n%q", first, again)
				}
				if again := timeline(play(t, cfg, jobs, fresh(), seed)); !slices.Equal(first, again) {
					t.Fatalf("schedule\n%q, anew\n%q", first, again)
				}
			})
		})
	}
}

// TestTakesOver checks that schedulers can take over a running cluster with servers on loan, some of which may be owed.
func TestTakesOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, jobs := drawEpisode(t)
		cfg.Horizon = simtest.Seconds(t, "until", 1, 60)
		s := must.Get(sim.New(cfg, jobs))(t)
		must.Do(t, s.Run(t.Context(), loan.New("before", grower{}, loan.Default()), 1))
		var text bytes.Buffer
		must.Do(t, s.State().WriteSnapshot(&text))
		c := drawOptions(t)
		for _, name := range inners() {
			state := must.Get(cluster.ReadSnapshot(bytes.NewReader(text.Bytes())))(t)
			state.SetOffer(rapid.Int32Range(0, state.Offer()).Draw(t, "offer"), state.Now())
			p := loan.New(name, &watch{Scheduler: inner(name), c: c}, c)
			must.Do(t, p.Reset(1))
			if err := p.Schedule(state.Begin(state.Introduce())); err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, text.String())
			}
			if owed, _ := state.Owed(); owed > 0 {
				t.Fatalf("%s: %d servers are still owed at the deadline", name, owed)
			}
		}
	})
}

// pool returns a cluster with the given numbers of training and inference servers, of four GPUs each.
func pool(training, inference int) cluster.Spec {
	spec := cluster.Uniform(training+inference, 4)
	for i := range inference {
		spec.Servers[training+i].Pool = cluster.Inference
	}
	return spec
}

func whole(name string, submit, work int, workers, least, most int32) trace.Job {
	return trace.Job{Work: time.Duration(work) * time.Second, JobSpec: cluster.JobSpec{
		Name: name, Submit: time.Duration(submit) * time.Second, Workers: workers, MinWorkers: least, MaxWorkers: most,
		Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
	}}
}

func offers(all ...[2]int) (demand []sim.Demand) {
	for _, d := range all {
		demand = append(demand, sim.Demand{At: time.Duration(d[0]) * time.Second, Offer: int32(d[1])})
	}
	return demand
}

func TestEpisodes(t *testing.T) {
	for _, c := range []struct {
		name    string
		cluster cluster.Spec
		demand  []sim.Demand
		jobs    []trace.Job
		want    string
	}{
		{"a job is scaled in, a rigid one stays", pool(1, 2), offers([2]int{0, 2}, [2]int{10, 1}),
			[]trace.Job{whole("a", 0, 30, 4, 2, 8), whole("b", 0, 20, 4, 4, 4), whole("c", 12, 5, 4, 4, 4)},
			"0s loan server 1, 0s loan server 2, 0s start a 0:4, 0s start b 1:4, 0s resize a 0:4 2:4, 10s resize a 0:4, " +
				"10s reclaim server 2, 20s finish a, 20s finish b, 20s start c 0:4, 25s finish c"},
		{"the job on two servers is stopped for both", pool(1, 3), offers([2]int{0, 3}, [2]int{10, 1}),
			[]trace.Job{whole("x", 0, 40, 4, 0, 0), whole("a", 0, 30, 8, 0, 0), whole("b", 0, 20, 4, 0, 0)},
			"0s loan server 1, 0s loan server 2, 0s loan server 3, 0s start x 0:4, 0s start a 1:4 2:4, 0s start b 3:4, " +
				"10s preempt a, 10s reclaim server 1, 10s reclaim server 2, 20s finish b, 40s finish x, 40s start a 0:4 3:4, " +
				"1m0s finish a"},
		{"a job that other servers host too costs less", pool(1, 2), offers([2]int{0, 2}, [2]int{10, 1}),
			[]trace.Job{whole("f", 0, 1, 4, 0, 0), whole("y", 0, 20, 4, 0, 0), whole("x", 1, 15, 8, 0, 0)},
			"0s loan server 1, 0s loan server 2, 0s start f 0:4, 0s start y 1:4, 1s finish f, 1s start x 0:4 2:4, " +
				"10s preempt x, 10s reclaim server 2, 20s finish y, 20s start x 0:4 1:4, 26s finish x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := sim.Config{Cluster: c.cluster, Demand: c.demand, Grace: 6 * time.Second}
			got := timeline(play(t, cfg, c.jobs, loan.New("grower", &watch{Scheduler: grower{}, c: loan.Default()}, loan.Default()), 1))
			if text := strings.Join(got, ", "); text != c.want {
				t.Errorf("schedule\n%s, want\n%s", text, c.want)
			}
		})
	}
}

// TestResetRefuses checks that Reset returns an error that names an option out of range.
func TestResetRefuses(t *testing.T) {
	c := loan.Default()
	c.Policy = "best"
	if err := loan.New("x", grower{}, c).Reset(1); err == nil || !strings.Contains(err.Error(), `policy "best"`) {
		t.Errorf("error %v, want one about the policy", err)
	}
}

package baselines

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestBaselinesWithoutPreemption checks that every baseline finishes every job on a cluster that forbids preemption, and that it
// starts each job once, unless failures stop it, and never changes it after the instant of its start.
func TestBaselinesWithoutPreemption(t *testing.T) {
	for _, name := range variants() {
		if strings.Contains(name, LoanSuffix) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(0, 15).Draw(t, "jobs"))
				if rapid.Bool().Draw(t, "mix") {
					mix(t, &cfg, jobs)
				}
				if rapid.Bool().Draw(t, "rich") {
					enrich(t, &cfg, jobs)
				}
				simtest.Break(t, &cfg)
				cfg.Cluster.NoPreemption = true
				p := must.Get(tested().New(name))(t)
				l := run(t, cfg, jobs, p, 1)
				if !l.Outcome.Terminated {
					t.Fatalf("outcome %+v, want every job finished", l.Outcome)
				}
				started := map[cluster.JobID]sim.Record{}
				for _, r := range l.Records {
					switch first, runs := started[r.Job]; r.Kind {
					case sim.Start:
						if runs {
							t.Fatalf("job %d starts at %v and again at %v", r.Job, first.At, r.At)
						}
						started[r.Job] = r
					case sim.Interrupt:
						delete(started, r.Job)
					case sim.Preempt, sim.Migrate, sim.Resize:
						if !runs || r.At != first.At {
							t.Fatalf("%v of job %d at %v, which started at %v", r.Kind, r.Job, r.At, first.At)
						}
					}
				}
			})
		})
	}
}

// TestOrdersWithoutPreemption checks that preemptive orders are, without preemption, those of waiting jobs that pass over jobs
// that do not fit.
func TestOrdersWithoutPreemption(t *testing.T) {
	for preemptive, order := range map[string]string{"srtf": "sjfskip", "las": "fjf"} {
		rapid.Check(t, func(t *rapid.T) {
			cfg := drawConfig(t)
			jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(0, 15).Draw(t, "jobs"))
			slices.SortFunc(jobs, func(a, b job) int { return cmp.Compare(a.Submit, b.Submit) }) // ties by id are then ties by time
			want := must.Get(New(order))(t)
			lines := timeline(t, cfg, jobs, want)
			cfg.Cluster.NoPreemption = true
			got := must.Get(New(preemptive))(t)
			if again := timeline(t, cfg, jobs, got); !slices.Equal(again, lines) {
				t.Fatalf("%s:\n%q\n%s:\n%q", preemptive, again, order, lines)
			}
		})
	}
}

// TestNoQuantumWithoutPreemption checks that the cost of restarts after failures does not change an order where nobody can stop
// jobs.
func TestNoQuantumWithoutPreemption(t *testing.T) {
	work := cluster.JobSpec{Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}
	for _, forbidden := range []bool{false, true} {
		spec := cluster.Uniform(1, 2)
		spec.NoPreemption = forbidden
		s := must.Get(cluster.NewState(spec, 2))(t)
		s.Submit(0, &work)
		s.Submit(1, &work)
		q := quantum{times: 4, gain: 4}
		q.reset()
		tx := s.Begin(nil)
		must.Do(t, tx.Place(0, cluster.Placement{{Workers: 1, Amount: work.Request}}))
		q.note(tx)
		tx.End()
		s.SetProgress(0, 0, time.Minute, 1) // a restart
		s.Advance(2 * time.Minute)
		q.see(&s.View)
		if extra := q.extra(&s.View, 1); forbidden != (extra == 0) {
			t.Errorf("preemption forbidden: %v, a waiting job counts as taking %v longer", forbidden, extra)
		}
	}
}

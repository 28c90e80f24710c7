package baselines

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
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
				breakDown(t, &cfg)
				cfg.Cluster.NoPreemption = true
				p, err := New(name)
				if err != nil {
					t.Fatal(err)
				}
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
			want, err := New(order)
			if err != nil {
				t.Fatal(err)
			}
			lines := timeline(t, cfg, jobs, want)
			cfg.Cluster.NoPreemption = true
			got, err := New(preemptive)
			if err != nil {
				t.Fatal(err)
			}
			if again := timeline(t, cfg, jobs, got); !slices.Equal(again, lines) {
				t.Fatalf("%s:\n%q\n%s:\n%q", preemptive, again, order, lines)
			}
		})
	}
}

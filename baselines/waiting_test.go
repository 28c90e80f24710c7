package baselines

import (
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// sorted is list implemented by sorting all waiting jobs at every decision point.
type sorted struct{ list }

func (p *sorted) Schedule(tx *cluster.Txn) error {
	var all []ticket
	for _, id := range tx.View().Pending() {
		key, err := p.order(tx.View(), id)
		if err != nil {
			return err
		}
		all = append(all, ticket{key: key, job: id})
	}
	slices.SortFunc(all, ticket.compare)
	for _, next := range all {
		started, err := p.start(tx, next.job)
		if err != nil || !started && !p.skip {
			return err
		}
	}
	return nil
}

// TestListsEqualSortedQueue checks that the lists give the same schedule as one sorted queue, record by record.
func TestListsEqualSortedQueue(t *testing.T) {
	for _, name := range []string{"fifo", "fjf", "sjf", "sjfskip"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := drawConfig(t)
				jobs := drawJobs(t, cfg.Cluster.GPUs(), rapid.IntRange(1, 25).Draw(t, "jobs"))
				mix(t, &cfg, jobs)
				if rapid.Bool().Draw(t, "hard") {
					harden(t, &cfg, jobs)
				}
				p := must.Get(tested().New(name))(t)
				got, want := timeline(t, cfg, jobs, p), timeline(t, cfg, jobs, &sorted{*p.(*list)})
				if !slices.Equal(got, want) {
					t.Fatalf("schedule\n%q, want\n%q", got, want)
				}
			})
		})
	}
}

// TestLASWakesAtTheBound checks las with one bound. A job on two GPUs reaches the bound of 3,200 GPU-seconds after 1,600 s, and one on
// half a GPU after 6,400 s; las wakes up at that instant to start waiting jobs before it.
func TestLASWakesAtTheBound(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers int32
		milli   int32
		want    []string
	}{
		{"two GPUs", 2, 1000, []string{"0s start 0", "26m40s preempt 0", "26m40s start 1", "28m20s finish 1", "28m20s start 0",
			"1h55m0s finish 0", "1h55m0s end 0"}},
		{"half of two GPUs", 2, 500, []string{"0s start 0", "53m20s preempt 0", "53m20s start 1", "55m0s finish 1",
			"55m0s start 0",
			"1h55m0s finish 0", "1h55m0s end 0"}},
		{"three tenths of two GPUs", 2, 300, []string{"0s start 0", "1h28m53.333333334s preempt 0", "1h28m53.333333334s start 1",
			"1h30m33.333333334s finish 1", "1h30m33.333333334s start 0", "1h55m0s finish 0", "1h55m0s end 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var jobs = make([]job, 2)
			jobs[0].Name, jobs[0].Workers, jobs[0].Work = "long", c.workers, 6800*time.Second
			jobs[0].Request.GPUMilli = c.milli
			jobs[1].Name, jobs[1].Workers, jobs[1].Work, jobs[1].Submit = "late", 2, 100*time.Second, 1000*time.Second
			jobs[1].Request.GPUMilli = cluster.WholeGPU
			p := must.Get(New("las:levels=single:quantum=0"))(t)
			if got := events(run(t, sim.Config{Cluster: cluster.Uniform(1, 2)}, jobs, p, 1)); !slices.Equal(got, c.want) {
				t.Errorf("schedule %q, want %q", got, c.want)
			}
		})
	}
}

package asrpt

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"pgregory.net/rapid"
)

// TestBackfill uses 8 GPUs in projected order. Job 2 comes first in the order from 1 s on, and does not fit until job 1 ends at
// 20 s.
func TestBackfill(t *testing.T) {
	const s = time.Second
	// Job 1 leaves one GPU free. Job 3 would end at 11 s, job 4 at 22 s.
	after := func(head int32) []trace.Job {
		return named(whole(0, 20*s, 7), whole(s, s, head), whole(2*s, 9*s, 1), whole(12*s, 10*s, 1))
	}
	// Job 1 leaves three GPUs free, and job 2 leaves one. Jobs 3 and 4 would end at 42 s.
	both := named(whole(0, 20*s, 5), whole(s, s, 7), whole(2*s, 40*s, 1), whole(2*s, 40*s, 1))
	for _, c := range []struct {
		name     string
		backfill Backfill
		jobs     []trace.Job
		want     string
	}{
		{"none", noBackfill, after(8), "0s 1, 20s 2, 21s 3, 21s 4"},
		{"all that fit", anyBackfill, after(8), "0s 1, 2s 3, 12s 4, 22s 2"},
		{"those that end in time", easyBackfill, after(8), "0s 1, 2s 3, 20s 2, 21s 4"},
		{"those that leave enough GPUs", easyBackfill, after(7), "0s 1, 2s 3, 12s 4, 20s 2"},
		{"those that leave enough GPUs together", easyBackfill, both, "0s 1, 2s 3, 20s 2, 21s 4"},
	} {
		config := Default()
		config.Predictor, config.Start, config.Backfill = told{1}, projectedOrder, c.backfill
		l := run(t, sim.Config{Cluster: cluster.Uniform(2, 4)}, c.jobs, New("a-srpt", config), 1)
		if got := order(l); got != c.want {
			t.Errorf("%s: starts %s, want %s", c.name, got, c.want)
		}
	}
}

// order returns the starts of jobs in order of time.
func order(l *sim.Log) string {
	var all []string
	for i := range l.Records {
		if r := &l.Records[i]; r.Kind == sim.Start {
			all = append(all, r.At.String()+" "+l.Jobs[r.Job].Name)
		}
	}
	return strings.Join(all, ", ")
}

// promises wraps a scheduler. For the first job that waits after a decision, it records when enough GPUs would have been free if
// no job behind it had started.
type promises struct {
	*scheduler
	works map[cluster.JobID]time.Duration
	until map[cluster.JobID]time.Duration // the earliest promise
	kept  int                             // number of jobs that started behind one that waits
}

func (p *promises) Schedule(tx *cluster.Txn) error {
	before := slices.Clone(tx.View().Running())
	if err := p.scheduler.Schedule(tx); err != nil {
		return err
	}
	s := tx.View()
	if len(p.queue) == 0 {
		return nil
	}
	head := p.queue[0]
	works := maps.Clone(p.works)
	for _, id := range s.Running() {
		if p.jobs[id].rank > p.jobs[head].rank && !slices.Contains(before, id) {
			works[id] = 0 // as if it were over
			p.kept++
		}
	}
	at, _ := (&plain{least: works}).promise(s, head)
	if known, ok := p.until[head]; !ok || at < known {
		p.until[head] = at
	}
	return nil
}

// TestEasyDelaysNobodyInFront checks, with exact predictions, that the first job in the queue starts by the time at which it could
// have started if no other job had been started before it.
func TestEasyDelaysNobodyInFront(t *testing.T) {
	kept := 0
	check := func(t *rapid.T) {
		cfg := sim.Config{Cluster: cluster.Uniform(rapid.IntRange(1, 3).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs a server"))}
		jobs := drawJobs(t, cfg.Cluster.GPUs(), 25)
		p := &promises{works: map[cluster.JobID]time.Duration{}, until: map[cluster.JobID]time.Duration{}}
		for i := range jobs {
			j := &jobs[i]
			j.Model, j.Stages, j.Submit, j.Estimate = "", 0, j.Submit/4, j.Work
			p.works[cluster.JobID(i)] = j.Work
		}
		c := Default()
		c.Predictor, c.Backfill = told{1}, easyBackfill
		p.scheduler = New("a-srpt", c).(*scheduler)
		l := run(t, cfg, jobs, p, 1)
		for i := range l.Records {
			r := &l.Records[i]
			if until, promised := p.until[r.Job]; promised && r.Kind == sim.Start && r.At > until {
				t.Fatalf("job %d starts at %v, but could have started at %v", r.Job, r.At, until)
			}
		}
		kept += p.kept
	}
	for range 10 {
		rapid.Check(t, check)
	}
	t.Logf("%d jobs started behind one that waits", kept)
	if kept == 0 {
		t.Error("no job was ever started behind one that waited")
	}
}

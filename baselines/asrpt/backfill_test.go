package asrpt

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
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

package baselines

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// TestScores compares the formulas with values worked out by hand, for jobs whose powers, roots and logarithms are whole numbers.
func TestScores(t *testing.T) {
	formulas, tried := map[string]score{"wfp3": wfp3, "unicep": unicep, "f1": f1, "f2": f2, "f3": f3, "f4": f4}, map[string]bool{}
	for _, c := range []struct {
		name       string
		r, n, w, s float64
		want       float64
	}{
		{"wfp3", 100, 8, 300, 1, -6},               // the cube root of -(3^3 x 8)
		{"wfp3", 100, 1, 0, 1, 0},                  //
		{"unicep", 100, 8, 600, 1, -2},             // -600 / (3 x 100)
		{"unicep", 100, 1, 600, 1, -4e9 - 6},       // ahead of all jobs on more GPUs
		{"f1", 1000, 8, 5, 100, 24 + 1740},         // 3 x 8 + 870 x 2
		{"f2", 900, 8, 5, 100, 240 + 51200},        // 30 x 8 + 25,600 x 2
		{"f3", 900, 8, 5, 10, 7200 + 6860000},      // 900 x 8 + 6,860,000
		{"f4", 900, 16, 5, 1000, 3600 + 3*530_000}, // 900 x 4 + 530,000 x 3
		{"f4", 900, 16, 5, 1, 3600},                //
	} {
		tried[c.name] = true
		if got := formulas[c.name](c.r, c.n, c.w, c.s); got-c.want > 1e-9 || c.want-got > 1e-9 {
			t.Errorf("%s of r=%v n=%v w=%v s=%v: %v, want %v", c.name, c.r, c.n, c.w, c.s, got, c.want)
		}
	}
	if len(tried) != len(scored()) {
		t.Errorf("%d formulas tried, want all %d", len(tried), len(scored()))
	}
}

// TestScoredOrders plays 8 GPUs that job 0 holds until 100s. Then job 1 (8 GPUs, 100 s, submitted at 1s), job 2 (4 GPUs, 400 s, at
// 2s), job 3 (1 GPU, 900 s, at 3s) and job 4 (2 GPUs, 10 s, at 90s) wait. The expected starts follow from the formulas by hand.
func TestScoredOrders(t *testing.T) {
	const s = time.Second
	var jobs []job
	for _, j := range []struct {
		submit, work time.Duration
		workers      int32
	}{{0, 100 * s, 8}, {s, 100 * s, 8}, {2 * s, 400 * s, 4}, {3 * s, 900 * s, 1}, {90 * s, 10 * s, 2}} {
		made := job{Work: j.work}
		made.Submit, made.Workers, made.Estimate, made.Request.GPUMilli = j.submit, j.workers, j.work, cluster.WholeGPU
		jobs = append(jobs, made)
	}
	for name, want := range map[string]string{
		"fifo":                 "0s 0, 100s 1, 200s 2, 200s 3, 200s 4",
		"wfp3":                 "0s 0, 100s 1, 200s 4, 200s 2, 200s 3",   // roots at 100s: 1.98, 0.39, 0.11, 1.26
		"unicep":               "0s 0, 100s 3, 100s 4, 1000s 1, 1100s 2", // at 100s: 3 first, then 1, 0.33, 0.12
		"f1":                   "0s 0, 100s 1, 200s 2, 200s 3, 200s 4",   // 16, 272, 418, 1703
		"f3":                   "0s 0, 100s 1, 200s 2, 200s 3, 200s 4",   // the submission decides
		"unicep:backfill=easy": "0s 0, 100s 3, 100s 4, 100s 2, 1000s 1",  // 2 ends before 3 leaves room for 1
		"f4:backfill=easy":     "0s 0, 100s 1, 200s 2, 200s 3, 200s 4",
	} {
		p := must.Get(New(name))(t)
		var got []string
		log := run(t, sim.Config{Cluster: cluster.Uniform(1, 8)}, jobs, p, 1)
		for i := range log.Records {
			if r := &log.Records[i]; r.Kind == sim.Start {
				got = append(got, fmt.Sprintf("%.0fs %d", r.At.Seconds(), r.Job))
			}
		}
		if all := strings.Join(got, ", "); all != want {
			t.Errorf("%s: starts %s, want %s", name, all, want)
		}
	}
}

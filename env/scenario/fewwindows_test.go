package scenario

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const cutInFew = `
name: few-v1
cluster: {servers: 2, gpus_per_server: 4}
workload: {trace: t.csv}
window: {arrivals: 20, train: [0, 0.5], validation: [0.5, 0.6], test: [0.6, 1]}
`

// steady returns a trace of n jobs, one every ten seconds.
func steady(n int) string {
	at := make([]int, n)
	for i := range at {
		at[i] = 10 * i
	}
	return arrivals(at...)
}

// TestFew checks what is said of splits with few windows.
func TestFew(t *testing.T) {
	for _, c := range []struct {
		jobs  int
		sets  []string
		split Split
		want  string
	}{
		{400, nil, Test, "The test split of few-v1 has 8 windows, so intervals over them say little. For 10 windows of 20 jobs t needs 500 jobs, and has 400."},
		{500, nil, Test, ""},
		{400, []string{"window.arrivals=40"}, Validation, "The validation split of few-v1 has 1 window, so the choice of weights is mostly luck. " +
			"For 4 windows of 40 jobs t needs 1600 jobs, and has 400."},
		{300, nil, Train, "The train split of few-v1 has 7 windows, so there is little to learn from. For 10 windows of 20 jobs t needs 400 jobs, and has 300."},
		{1000, []string{"window.arrivals=90"}, Test, "The test split of few-v1 has 4 windows, so intervals over them say little. " +
			"For 10 windows of 90 jobs t needs 2250 jobs, and has 1000: or set window.arrivals to 40."},
		{400, []string{"window.resample.test=12"}, Test, "The test split of few-v1 has 12 windows, drawn from arrivals for 8, so intervals over them say little. " +
			"For 10 windows of 20 jobs t needs 500 jobs, and has 400."},
		{400, []string{"window.arrivals=0", "window.duration=1h", "window.train=[0, 0.2]", "window.validation=[]", "window.test=[0.2, 1]"}, Test, ""},
		{4000, []string{"window.arrivals=0", "window.duration=2h", "window.validation=[]"}, Test, "The test split of few-v1 has 2 windows, so intervals over them say little. " +
			"For 10 windows of 2h0m0s t must last 50h0m0s, and lasts 11h0m0s: or set window.duration to less."},
	} {
		src, err := tryTrace(t, steady(c.jobs), cutInFew, c.sets...)
		if err != nil {
			if c.want != "" || !strings.Contains(err.Error(), "want at least one window of 1h0m0s") || !strings.Contains(err.Error(), "t must last 50h0m0s") {
				t.Errorf("%d jobs, %v: %v", c.jobs, c.sets, err)
			}
			continue
		}
		if got := src.Few(c.split); got != c.want {
			t.Errorf("%d jobs, %v: %q, want %q", c.jobs, c.sets, got, c.want)
		}
	}
}

// TestAsManyJobsAsFewSaysAreEnough checks that a trace with the number of jobs that Few names has enough windows.
func TestAsManyJobsAsFewSaysAreEnough(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := Windows{Arrivals: rapid.IntRange(1, 9).Draw(r, "arrivals"), Warm: rapid.IntRange(0, 3).Draw(r, "warm"),
			Stride: rapid.IntRange(0, 5).Draw(r, "stride"), Train: []float64{0, .3}, Validation: []float64{.3, .4}, Test: []float64{.4, 1}}
		split := rapid.SampledFrom(splits()).Draw(r, "split")
		pool := func(n int) *pool {
			p := &pool{arrivals: make([]int32, n)}
			p.workload.Name = "t"
			return p
		}
		var needs, has int
		text := w.more(pool(3), split)
		if _, err := fmt.Sscanf(text[strings.Index(text, "needs"):], "needs %d jobs, and has %d", &needs, &has); err != nil || has != 3 {
			r.Fatalf("%s: %v", text, err)
		}
		if n := len(w.spans(pool(needs), split)); n < enough(split) {
			r.Fatalf("%s: %d windows", text, n)
		}
		if n := len(w.spans(pool(needs-12), split)); n > enough(split) { // 12: rounding and a split's shares
			r.Fatalf("%s: %d windows with 12 jobs less", text, n)
		}
	})
}

// TestReadNotes checks that a scenario says what was left out of its trace.
func TestReadNotes(t *testing.T) {
	src := openTrace(t, steady(500)+"x,1,0,0\ny,0,0,5\n", cutInFew)
	want := "t: 1 of 502 rows ran for no time and are set aside\nt: 1 of 502 rows ask for no GPU and are set aside"
	if got := strings.Join(src.ReadNotes(), "\n"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const philly = "timestamp,duration,num_gpus,gpu_time,cluster\n"
	src = openTrace(t, philly+strings.Repeat("2026-10-09 07:01:55,66.0,1,66.0,a\n", 500)+"2026-10-09 07:01:55,66.0,0,0,a\n", cutInFew)
	if got := src.ReadNotes(); len(got) > 0 {
		t.Errorf("of a public trace: %q", got)
	}
}

// TestATraceOfOthersIsToBeImported checks that the error about a trace in no known format names the command that converts it.
func TestATraceOfOthersIsToBeImported(t *testing.T) {
	_, err := tryTrace(t, "id,gpus,submitted,elapsed\n1,1,0,5\n", cutInFew)
	want := "did you mean --columns job_id=id,num_gpu=gpus,submit_time=submitted,duration=elapsed?; scenarios read what clustergym trace import writes"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

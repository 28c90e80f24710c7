package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/train"
)

// trainRun trains a small run in a folder, which shares its labels with other folders. If stopped is true, the run ends before its
// first update; the next call goes on with it.
func trainRun(t *testing.T, dir string, seed uint64, stopped bool) {
	t.Helper()
	s, err := scenario.Load("embedded-small-v1", "window.arrivals=40", "workload.jobs=600")
	if err != nil {
		t.Fatal(err)
	}
	cfg := train.DefaultConfig()
	cfg.Seed, cfg.Updates, cfg.Window, cfg.Choices, cfg.Batch, cfg.Every, cfg.Validation = seed, 2, 8, 64, 32, 1, 1
	cfg.Size.Width, cfg.Size.Hidden = 8, 4
	_, began := os.Stat(dir)
	opt := train.Options{
		Dir: dir, Resume: began == nil, Labels: "labels", Scenarios: []*scenario.Scenario{s}, Clock: time.Now,
	}
	if stopped {
		stop := make(chan struct{})
		close(stop)
		opt.Stop = stop
	}
	if _, _, err := train.Run(t.Context(), cfg, opt); err != nil {
		t.Fatal(err)
	}
}

// TestCompareShowsRuns checks the table and the JSON of two runs, one of which was interrupted and resumed, and that a third, which
// is not finished, is marked.
func TestCompareShowsRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	trainRun(t, "runs/one", 1, false)
	trainRun(t, "runs/two", 2, true)
	trainRun(t, "runs/three", 2, true)
	trainRun(t, "runs/two", 2, false)
	if text, err := os.ReadFile("runs/two/timing.jsonl"); err != nil || strings.Count(string(text), `"resumed":true`) != 1 {
		t.Errorf("timing.jsonl does not tell once, in the first line after it, that the run was resumed (%v)\n%s", err, text)
	}
	if err := os.Mkdir("runs/eval", 0o777); err != nil {
		t.Fatal(err)
	}
	s := must(t, "compare", "runs/one", "runs/two", "runs/three", "runs/eval")
	contains(t, s.talk, "warning: runs/eval: no run")
	contains(t, s.out, "run    seed    done", "one    1     2 of 2", "three  2     0 of 2", "one, two  1, 2", "Not finished: three.",
		"clustergym eval --scenario runs/one --policies prior,runs/one,runs/two --baseline prior")
	var got struct {
		Settings []string
		Runs     []struct {
			Run     string
			Updates int
			Seconds *float64
		}
	}
	if err := json.Unmarshal([]byte(must(t, "compare", "runs/one", "runs/two", "--json").out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Settings) != 1 || len(got.Runs) != 2 || got.Runs[1].Updates != 2 || got.Runs[1].Seconds == nil {
		t.Errorf("as JSON: %+v", got)
	}
	contains(t, must(t, "compare", "runs/one", "runs/two", "--markdown").out, "| run | seed | done |", "| one | 1 | 2 of 2 |")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, cmdline.CodeUsage, "requires at least 1 arg"},
		{[]string{"runs/none"}, cmdline.CodeNoRun, "runs/none: no run"},
		{[]string{"runs/one", "runs/none"}, cmdline.CodeNoRun, "runs/none: no run"},
		{[]string{"runs"}, cmdline.CodeNoRun, "runs: no run"},
		{[]string{"runs/one", "runs/one/"}, cmdline.CodeError, "given twice"},
	} {
		s := command(t, append([]string{"compare"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s", c.args, s.code, c.code, c.want, s.talk)
		}
	}
}

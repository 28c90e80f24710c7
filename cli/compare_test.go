package cli

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestCompareShowsRuns checks the table, the JSON and the plot of two runs, one of which was interrupted and resumed, and that a
// third, which is not finished, is marked.
func TestCompareShowsRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, dir := range []string{"runs/two", "runs/three"} {
		if s := commandWith(ctx, "", tiny(dir, "--seed", "2", "--labels", "runs/one/labels")...); s.code != cmdline.CodeInterrupted {
			t.Fatalf("interrupted: exit code %d\n%s", s.code, s.talk)
		}
	}
	must(t, "train", "--resume", "--dir", "runs/two", "--labels", "runs/one/labels")
	if n := strings.Count(read(t, "runs/two/timing.jsonl"), `"resumed":true`); n != 1 {
		t.Errorf("%d lines of timing.jsonl tell that the run was resumed, want the first after it\n%s", n, read(t, "runs/two/timing.jsonl"))
	}

	if err := os.Mkdir("runs/eval", 0o777); err != nil {
		t.Fatal(err)
	}
	s := must(t, "compare", "runs/one", "runs/two", "runs/three", "runs/eval", "--plot", "curves.svg")
	contains(t, s.talk, "warning: runs/eval: no run")
	contains(t, s.out, "run    seed    done", "one    1     2 of 2", "three  2     0 of 2", "one, two  1, 2", "Not finished: three.",
		"clustergym eval --scenario runs/one --policies prior,runs/one,runs/two --baseline prior")
	contains(t, read(t, "curves.svg"), "<svg", ">one<", ">two<")
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
}

// TestCompareRefusals checks the exit codes.
func TestCompareRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	commandWith(ctx, "", tiny("runs/one")...)
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
		{[]string{"runs/one", "--plot", "curves.gif"}, cmdline.CodeUsage, "svg, png"},
		{[]string{"runs/one", "--plot", "curves.svg"}, cmdline.CodeError, "no run has validated"},
	} {
		s := command(t, append([]string{"compare"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s", c.args, s.code, c.code, c.want, s.talk)
		}
	}
}

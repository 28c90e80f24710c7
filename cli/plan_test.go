package cli

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

var updatePlans = flag.Bool("update-plans", false, "rewrite testdata/plan and what commands print in docs/what-if.md")

// TestPlansOfTheExample checks that the plans for the example equal those in testdata/plan.
func TestPlansOfTheExample(t *testing.T) {
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	for _, policy := range []string{"fifo", "las", "sjfskip", "srtf"} {
		path := filepath.Join("testdata", "plan", policy+".txt")
		got := must(t, "plan", "--snapshot", snapshot, "--policy", policy).out
		golden(t, path, got, *updatePlans)
	}
	if s := commandWith(t.Context(), read(t, snapshot), "plan", "--snapshot", "-", "--policy", "prior", "--json"); s.code != cmdline.CodeOK {
		t.Errorf("a snapshot on standard input: exit code %d\n%s", s.code, s.talk)
	}
}

// golden checks that a text equals that of a file. With update it writes the file first.
func golden(t *testing.T, path, got string, update bool) {
	t.Helper()
	if update {
		require.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.Do(t, os.WriteFile(path, []byte(got), 0o666))
	}
	if want := read(t, path); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
	}
}

func TestPlanExplainsOneJob(t *testing.T) {
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	ask := func(policy, job string, more ...string) said {
		return command(t, append([]string{"plan", "--snapshot", snapshot, "--policy", policy, "--job", job}, more...)...)
	}
	contains(t, ask("fifo", "bert-large").out, "needs 8 GPUs on one server; largest hole 6; fits only spread over 2",
		"a hole in about 20.0min, when eval-nightly (2 GPUs on server-3) ends", "server-0  0 of 8  0      no GPU is free for it")
	contains(t, ask("sjfskip", "gan-ablation").out, "start  server-3:2,3,4,5", "server-3  6 of 8  6      chosen for 4")
	contains(t, ask("fifo", "pretrain-7b").out, "goes on running on server-0:0,1,2,3,4,5,6,7 server-1:0,1,2,3,4,5,6,7")
	contains(t, ask("srtf", "pretrain-7b").out, "preempt  -  gives its GPUs", "wait  needs 16 GPUs; 12 fit")
	if s := ask("fifo", "bert-larg"); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, `did you mean "bert-large"?`) {
		t.Errorf("a job that is not there: exit code %d\n%s", s.code, s.talk)
	}

	// Scripts read these keys: new ones are allowed, but none may disappear.
	want := []string{"job", "now_s", "ops", "policy", "runs_on", "servers"}
	if got := keys(t, ask("srtf", "bert-large", "--json").out); !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	var p struct {
		Ops []struct {
			Code   string
			Why    string
			Runner *struct {
				Server string `json:"server"`
				Left   int    `json:"free_gpus_left"`
			} `json:"runner_up"`
			Passed *struct{ Earliest, Shortest string } `json:"passed_over"`
		}
		Waiting []struct {
			Code     string
			Fits     int `json:"fits"`
			Hole     int `json:"largest_hole"`
			Free     int `json:"free_gpus"`
			Taking   int `json:"servers_taking"`
			Excluded []struct {
				Reason  string
				Servers int
			} `json:"servers_excluded"`
			Room *struct {
				In  float64 `json:"in_s"`
				Job string
			}
		}
	}
	text := must(t, "plan", "--snapshot", snapshot, "--policy", "sjfskip", "--json").out
	require.Do(t, json.Unmarshal([]byte(text), &p))
	if o := p.Ops[0]; o.Code != "started" || o.Why == "" || o.Runner.Server != "server-3" || o.Runner.Left != 5 ||
		o.Passed.Earliest != "bert-large" || o.Passed.Shortest != "bert-large" {
		t.Errorf("first operation: %+v", o)
	}
	if w := p.Waiting[1]; w.Code != "no-room" || w.Fits != 4 || w.Hole != 2 || w.Free != 4 || w.Taking != 2 ||
		len(w.Excluded) != 1 || w.Excluded[0].Reason != "gpus" || w.Excluded[0].Servers != 2 || w.Room.In != 1200 ||
		w.Room.Job != "tokenizer-test" {
		t.Errorf("second job that waits: %+v", w)
	}
}

func TestPlanAssumesEstimates(t *testing.T) {
	unknown := file(t, "unknown.json", strings.ReplaceAll(must(t, "plan", "--example").out, `"estimate_s":18000,`, ""))
	ask := func(more ...string) said {
		return command(t, append([]string{"plan", "--snapshot", unknown, "--policy", "sjf"}, more...)...)
	}
	if s := ask(); s.code != cmdline.CodeError || !strings.Contains(s.talk, "bert-large") {
		t.Errorf("without an estimate: exit code %d\n%s", s.code, s.talk)
	}
	s := ask("--assume", "5h")
	contains(t, s.talk, "1 job without an estimate: assumed to run 5h0m0s")
	if whole := must(t, "plan", "--snapshot", file(t, "known.json", must(t, "plan", "--example").out), "--policy", "sjf"); s.out != whole.out {
		t.Errorf("the plan is\n%s\nwant that with the estimate in the snapshot\n%s", s.out, whole.out)
	}
	if s := ask("--assume", "-1s"); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "--assume") {
		t.Errorf("a negative estimate: exit code %d\n%s", s.code, s.talk)
	}
}

// TestPlanLimitsPreemptions checks that a limit holds stops back and says so, and that --objective tells what restarts cost.
func TestPlanLimitsPreemptions(t *testing.T) {
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	ask := func(more ...string) string {
		return must(t, append([]string{"plan", "--snapshot", snapshot, "--policy", "srtf"}, more...)...).out
	}
	contains(t, ask("--restart", "30m", "--objective", "keep-work"), "preempt  pretrain-7b", "  lost_gpu_time       32 ", "srtf, nothing now")
	if free := ask("--preemptions", "9"); free != ask() {
		t.Errorf("with a limit that is not reached:\n%s\nwithout:\n%s", free, ask())
	}
	none := ask("--preemptions", "0", "--restart", "30m")
	contains(t, none, "held by --preemptions: pretrain-7b", "start")
	if strings.Contains(none, "preempt ") {
		t.Errorf("with no preemptions allowed:\n%s", none)
	}
	if s := command(t, "plan", "--snapshot", snapshot, "--policy", "srtf", "--preemptions", "-2"); s.code != cmdline.CodeUsage {
		t.Errorf("exit code %d: %s", s.code, s.talk)
	}
}

// TestPlanForecastsStarts checks that plan says when waiting jobs start, and that equal command lines say the same.
func TestPlanForecastsStarts(t *testing.T) {
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	args := []string{"plan", "--snapshot", snapshot, "--policy", "sjfskip", "--starts"}
	first := must(t, args...).out
	contains(t, first, "is expected to start", "bert-large    in about", "finetune-70b  in about", "in 9 of 10 cases within")
	if again := must(t, args...).out; again != first {
		t.Errorf("first\n%s\nthen\n%s", first, again)
	}
	var out struct {
		Starts []struct {
			Job    string   `json:"job"`
			Median *float64 `json:"median_s"`
			P90    *float64 `json:"p90_s"`
		} `json:"starts"`
	}
	require.Do(t, json.Unmarshal([]byte(must(t, append(args, "--json")...).out), &out))
	if len(out.Starts) != 2 || out.Starts[0].Median == nil || *out.Starts[0].P90 < *out.Starts[0].Median {
		t.Errorf("%+v, want the two jobs that wait", out.Starts)
	}
	contains(t, must(t, "plan", "--snapshot", snapshot, "--policy", "srtf", "--starts").out, "preempt  pretrain-7b", "\npretrain-7b   in about")
	if s := command(t, "plan", "--snapshot", snapshot, "--policy", "srtf", "--starts=-1s"); s.code != cmdline.CodeUsage {
		t.Errorf("a negative time: exit code %d: %s", s.code, s.talk)
	}
}

// TestForecastsOfStartsEnd checks that plan says what the time for forecasts did not suffice for, that it prints the rest, and that
// an interrupt ends it.
func TestForecastsOfStartsEnd(t *testing.T) {
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	args := []string{"plan", "--snapshot", snapshot, "--policy", "sjfskip", "--starts=1ns"}
	const none = "no start is forecast: 0 of 20 futures were played in 1ns, want at least 5: --starts=10ns gives more time"
	short := must(t, args...).out
	contains(t, short, "bert-large", none)
	if strings.Contains(short, "is expected to start") {
		t.Errorf("forecasts in no time:\n%s", short)
	}
	contains(t, must(t, append(args, "--json")...).out, `"unfinished": "`+none+`"`)
	ctx, end := context.WithCancel(t.Context())
	end()
	for _, args := range [][]string{args, args[:len(args)-1]} {
		if s := commandWith(ctx, "", args...); s.code != cmdline.CodeInterrupted || s.out != "" {
			t.Errorf("%v: exit code %d: %s%s", args, s.code, s.talk, s.out)
		}
	}
}

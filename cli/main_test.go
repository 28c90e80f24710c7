package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/cmdline/cmdlinetest"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
)

// said is the result of a command line: its exit code and its output.
type said struct {
	code int
	out  string
	talk string
}

// command runs a command line in this process.
func command(t *testing.T, args ...string) said {
	t.Helper()
	return commandWith(t.Context(), "", args...)
}

func commandWith(ctx context.Context, in string, args ...string) said {
	var out, talk bytes.Buffer
	code := run(ctx, cmdline.New(strings.NewReader(in), &out, &talk), args)
	return said{code, out.String(), talk.String()}
}

// must runs a command line, which must succeed.
func must(t *testing.T, args ...string) said {
	t.Helper()
	s := command(t, args...)
	if s.code != cmdline.CodeOK {
		t.Fatalf("clustergym %s: exit code %d\n%s", strings.Join(args, " "), s.code, s.talk)
	}
	return s
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.Do(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

const jobs = `job_id,num_gpu,submit_time,duration
1,2,0,100
2,2,10,50
3,4,20,5
4,1,30,10.5
`

func TestEveryMistakeIsAnsweredWithItsPlaceAndACode(t *testing.T) {
	t.Chdir(t.TempDir())
	good, bad := file(t, "jobs.csv", jobs), file(t, "bad.csv", jobs+"5,x,40,10\n")
	foreign := file(t, "foreign.csv", "a,b\n1,2\n")
	empty := t.TempDir()
	snapshot := file(t, "cluster.json", `{"version":1,"now_s":0,"servers":[{"name":"a","gpus":-1}],"jobs":[]}`)
	scenario := file(t, "mine.yaml", "name: mine-v1\nclustre:\n  servers: 1\n")
	log := file(t, "log.jsonl", "{}\n")
	simulate := func(more ...string) []string {
		return append([]string{"simulate", "--servers", "2", "--gpus-per-server", "4"}, more...)
	}
	for _, c := range []struct {
		name string
		args []string
		code int
		want []string // parts of the error message
	}{
		{"no such command", []string{"simulat"}, cmdline.CodeUsage, []string{`unknown command "simulat"`, `did you mean "simulate"?`}},
		{"no such subcommand", []string{"trace", "stat"}, cmdline.CodeUsage, []string{`did you mean "stats"?`}},
		{"no such flag", []string{"eval", "--policy", "fifo"}, cmdline.CodeUsage, []string{"unknown flag: --policy", "clustergym eval --help"}},
		{"a flag is missing", []string{"simulate", "--trace", good}, cmdline.CodeUsage, []string{"gpus-per-server", "policy", "servers"}},
		{"a flag is no number", simulate("--seed", "x"), cmdline.CodeUsage, []string{`"x"`, "--seed"}},
		{"an argument too many", []string{"doctor", "now"}, cmdline.CodeUsage, []string{`"now"`}},
		{"no such file", simulate("--trace", "absent.csv", "--policy", "fifo"), cmdline.CodeError, []string{"absent.csv", "no such file"}},
		{"a bad row", simulate("--trace", bad, "--policy", "fifo"), cmdline.CodeError, []string{bad + ":6", `"num_gpu"`, `"x"`, "whole number"}},
		{"a trace without a job", simulate("--trace", file(t, "none.csv", "job_id,num_gpu,submit_time,duration\n"), "--policy", "fifo"),
			cmdline.CodeError, []string{"none.csv: no job: no row after the header"}},
		{"statistics of a trace without a job", []string{"trace", "stats", file(t, "none.csv", "job_id,num_gpu,submit_time,duration\n\n")},
			cmdline.CodeError, []string{"none.csv: no job"}},
		{"a trace of which every job is too large", []string{"simulate", "--trace", file(t, "large.csv", "job_id,num_gpu,submit_time,duration\n1,9,0,5\n"),
			"--servers", "2", "--gpus-per-server", "4", "--policy", "fifo", "--oversize", "drop"}, cmdline.CodeError, []string{"large: no job fits the cluster"}},
		{"a scenario without a job", []string{"eval", "-p", "fifo", "-s", "embedded-small-v1", "--set", "workload.trace=" + file(t, "none.csv",
			"job_id,num_gpu,submit_time,duration\n"), "--set", "workload.jobs=0", "--set", "workload.load=0"}, cmdline.CodeError, []string{"scenario embedded-small-v1", "none.csv: no job"}},
		{"a window without a job", []string{"trace", "stats", good, "--from", "10h"}, cmdline.CodeError, []string{"has 0 in its time"}},
		{"no trace at all", simulate("--trace", foreign, "--policy", "fifo"), cmdline.CodeError, []string{foreign + ":1", "native wants"}},
		{"no such policy", simulate("--trace", good, "--policy", "sjfskp"), cmdline.CodeUsage, []string{`did you mean "sjfskip"?`}},
		{"no such policy folder", simulate("--trace", good, "--policy", "runs/x"), cmdline.CodeNoRun, []string{"runs/x"}},
		{"a folder without a policy", simulate("--trace", good, "--policy", empty), cmdline.CodeNoRun, []string{empty}},
		{"a policy that is a file", simulate("--trace", good, "--policy", good), cmdline.CodeUsage, []string{good}},
		{"no such format", []string{"trace", "stats", good, "--format", "nativ"}, cmdline.CodeUsage, []string{`did you mean "native"?`}},
		{"a job too large", []string{"simulate", "--trace", good, "--servers", "1", "--gpus-per-server", "2", "--policy", "fifo"},
			cmdline.CodeError, []string{"job 3", "4 workers", "--oversize"}},
		{"no such physics", simulate("--trace", good, "--policy", "fifo", "--physics", "warp"), cmdline.CodeUsage, []string{`"warp"`, "ideal"}},
		{"no such restart", simulate("--trace", good, "--policy", "fifo", "--restart", "scrach"), cmdline.CodeUsage, []string{`"scratch"`}},
		{"a negative overhead", simulate("--trace", good, "--policy", "fifo", "--preempt-overhead", "-1s"), cmdline.CodeUsage, []string{"-1s"}},
		{"no servers", []string{"simulate", "--trace", good, "--servers", "0", "--gpus-per-server", "2", "--policy", "fifo"},
			cmdline.CodeUsage, []string{"0 servers"}},
		{"no such scenario", []string{"eval", "-s", "embedded-smal-v1", "-p", "fifo"}, cmdline.CodeUsage, []string{`"embedded-small-v1"`}},
		{"an unknown key of a scenario", []string{"scenario", "describe", scenario}, cmdline.CodeError,
			[]string{scenario + ":2:1", `"clustre"`, `did you mean "cluster"?`}},
		{"an unknown key in --set", []string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--set", "cluster.server=3"}, cmdline.CodeError,
			[]string{`"cluster.server"`, `did you mean "cluster.servers"?`}},
		{"an unknown key of training", []string{"train", "-s", "embedded-small-v1", "--set", "train.rat=3"}, cmdline.CodeError,
			[]string{`"train.rat"`, `did you mean "train.rate"?`}},
		{"an unknown key of a trained scenario", []string{"train", "-s", "embedded-small-v1", "--set", "scenario.horizn=3h"}, cmdline.CodeError,
			[]string{`"horizn"`, `did you mean "horizon"?`}},
		{"training on nothing", []string{"train"}, cmdline.CodeUsage, []string{"--scenario"}},
		{"resuming nothing", []string{"train", "--resume", "--dir", "runs/none"}, cmdline.CodeNoRun, []string{"runs/none"}},
		{"no such split", []string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--split", "tset"}, cmdline.CodeUsage, []string{`"test"`}},
		{"more windows than there are", []string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--windows", "99"}, cmdline.CodeUsage,
			[]string{"99", "12"}},
		{"a policy twice", []string{"eval", "-s", "embedded-small-v1", "-p", "fifo,fifo"}, cmdline.CodeUsage, []string{`two policies have the name "fifo"`}},
		{"exporting nothing", []string{"export", "--run", "runs/none"}, cmdline.CodeNoRun, []string{"runs/none"}},
		{"a snapshot without a policy", []string{"plan", "--snapshot", snapshot}, cmdline.CodeUsage, []string{"policy"}},
		{"a bad snapshot", []string{"plan", "--snapshot", snapshot, "--policy", "fifo"}, cmdline.CodeError, []string{snapshot, "servers[0].gpus", "-1"}},
		{"no log", []string{"replay", log}, cmdline.CodeError, []string{log}},
		{"a split without windows", []string{"env", "check", "-s", "embedded-small-v1", "--split", "x"}, cmdline.CodeUsage, []string{`"x"`}},
		{"a prior that is none", []string{"env", "check", "-s", "embedded-small-v1", "--prior", "x"}, cmdline.CodeUsage, []string{"--prior", `"x"`}},
		{"an agreement that is none", []string{"env", "check", "-s", "embedded-small-v1", "--agree", "al"}, cmdline.CodeUsage, []string{`"al"`, "all"}},
		{"no window", []string{"env", "describe", "-s", "embedded-small-v1", "--window", "0"}, cmdline.CodeUsage, []string{"--window 0"}},
		{"no such parameters", []string{"trace", "gen", "--jobs", "3", "--params", "absent.yaml"}, cmdline.CodeError, []string{"absent.yaml"}},
		{"a load without GPUs", []string{"trace", "gen", "--jobs", "3", "--load", "1"}, cmdline.CodeUsage, []string{"gpus"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := command(t, c.args...)
			if s.code != c.code {
				t.Errorf("exit code %d, want %d", s.code, c.code)
			}
			if s.out != "" {
				t.Errorf("a result: %q", s.out)
			}
			for _, part := range c.want {
				if !strings.Contains(s.talk, part) {
					t.Errorf("complaint lacks %q:\n%s", part, s.talk)
				}
			}
			var answer struct {
				Error string
				Code  int
			}
			s = command(t, append(c.args, "--json", "--quiet")...)
			if err := json.Unmarshal([]byte(s.talk), &answer); err != nil || answer.Code != c.code || answer.Error == "" || s.code != c.code {
				t.Errorf("with --json: exit code %d, %q: %v", s.code, s.talk, err)
			}
		})
	}
}

func TestHelpIsComplete(t *testing.T) { cmdlinetest.Help(t, newRootCmd(&app{})) }

func TestDocsAreReproducible(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	must(t, "gen-docs", a)
	must(t, "gen-docs", b)
	pages, err := filepath.Glob(filepath.Join(a, "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	for _, page := range pages {
		x := require.Get(os.ReadFile(page))(t)
		y := require.Get(os.ReadFile(filepath.Join(b, filepath.Base(page))))(t)
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs", filepath.Base(page))
		}
	}
}

// TestTrainExplainsItsSettings checks that train --explain names every setting, within 80 columns, and trains nothing.
func TestTrainExplainsItsSettings(t *testing.T) {
	t.Chdir(t.TempDir())
	s := must(t, "train", "--explain")
	for line := range strings.Lines(s.out) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	if want := "train.rate            0.002\n    Adam's learning rate at the first update."; !strings.Contains(s.out, want) {
		t.Errorf("no %q in\n%s", want, s.out)
	}
	var all []explained
	if err := json.Unmarshal([]byte(must(t, "train", "--explain", "--json").out), &all); err != nil || len(all) < 40 {
		t.Errorf("%d settings, %v", len(all), err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

// TestCompletionOffersNames checks that shells offer names as completions, and in a list only names that are not in it yet.
func TestCompletionOffersNames(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", "--scenario", ""}, "embedded-small-v1"},
		{[]string{"eval", "--policies", ""}, "sjfskip"},
		{[]string{"plan", "--policy", ""}, "prior"},
		{[]string{"trace", "stats", "--format", ""}, "helios"},
		{[]string{"scenario", "describe", ""}, "venus-contended-v1"},
		{[]string{"baselines", ""}, "lyra"},
		{[]string{"whatif", "--against", ""}, "srtf"},
		{[]string{"eval", "--policies", "fifo,las,"}, "fifo,las,sjfskip"},
		{[]string{"eval", "--set", ""}, "cluster.servers="},
		{[]string{"train", "--set", ""}, "scenario.cluster.servers="},
		{[]string{"train", "--set", "train.k"}, "train.keep=\tHow many checkpoints stay on disk."},
		{[]string{"scenario", "describe", "--set", ""}, "estimates.kind="},
		{[]string{"eval", "--scenario", "venus-contended-v1,loan"}, "venus-contended-v1,loaning-small-v1"},
		{[]string{""}, "whatif\tPlay a cluster on in two ways, and say what differs"},
	} {
		if s := must(t, append([]string{"__complete"}, c.args...)...); !strings.Contains(s.out, c.want+"\n") {
			t.Errorf("%v: no %s in\n%s", c.args, c.want, s.out)
		}
	}
	if out := must(t, "__complete", "eval", "--policies", "fifo,las,").out; strings.Contains(out, "fifo,las,las\n") {
		t.Errorf("a policy is offered twice:\n%s", out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if s := must(t, "completion", shell); !strings.Contains(s.out, "clustergym") {
			t.Errorf("%s: no completion", shell)
		}
	}
}

func TestAnInterruptEndsTheCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		{"eval", "-s", "embedded-small-v1", "-p", "fifo"},
		{"train", "-s", "embedded-small-v1", "--dir", "runs/a"},
	} {
		if s := commandWith(ctx, "", args...); s.code != cmdline.CodeInterrupted {
			t.Errorf("%v: exit code %d, want %d\n%s", args, s.code, cmdline.CodeInterrupted, s.talk)
		}
	}
}

// TestSimulateReproducesTheGoldenSchedules checks that simulate reproduces the published schedules byte for byte, except for the
// header.
func TestSimulateReproducesTheGoldenSchedules(t *testing.T) {
	dir := sharedtest.Dir(t, "golden")
	for _, c := range []struct {
		policy string
		sum    float64
	}{{"fifo", 46838988}, {"fjf", 36717282}, {"sjf", 12633307}, {"sjfskip", 12422344}, {"srtf", 8503502}, {"srsf", 7837632}} {
		out := filepath.Join(t.TempDir(), "jobs.csv")
		s := must(t, "simulate", "--trace", filepath.Join(dir, "philly_w1k.csv"), "--servers", "1", "--gpus-per-server", "64",
			"--preempt-overhead", "0s", "--policy", c.policy, "--jobs-out", out, "--json")
		var r simulation
		require.Do(t, json.Unmarshal([]byte(s.out), &r))
		if r.SumJCT != c.sum || r.Policy != c.policy || r.Finished != 961 {
			t.Errorf("%s: sum of JCT %v over %d jobs, want %v over 961", c.policy, r.SumJCT, r.Finished, c.sum)
		}
		want := require.Get(os.ReadFile(filepath.Join(dir, "expected_64gpu_"+c.policy+".csv")))(t)
		got := require.Get(os.ReadFile(out))(t)
		_, want, _ = bytes.Cut(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")), []byte("\n"))
		header, got, _ := bytes.Cut(got, []byte("\n"))
		if string(header) != "job_id,submit_s,start_s,end_s,jct_s" || !bytes.Equal(want, got) {
			t.Errorf("%s: jobs.csv is not the published schedule", c.policy)
		}
	}
}

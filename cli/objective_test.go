package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// TestObjectives checks the commands about objectives, and what they say of files that are none.
func TestObjectives(t *testing.T) {
	dir := t.TempDir()
	mine, wrong := filepath.Join(dir, "mine.yaml"), filepath.Join(dir, "wrong.yaml")
	for path, text := range map[string]string{
		mine:  "name: mine\nterms:\n  - {cost: wait, over: 10m, price: 1/min}\n",
		wrong: "name: mine\nterms:\n  - {cost: wait, over: soon, price: 1/min}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"objective", "ls"}, 0, "small-first"},
		{[]string{"objective", "describe", "gangs"}, 0, "8/h wait, until the job has run for 1m, beyond 1h; jobs with GPUs from 8"},
		{[]string{"objective", "describe", "gangs", "--yaml"}, 0, "name: gangs\n"},
		{[]string{"objective", "check", mine}, 0, "mine, 1 terms"},
		{[]string{"objective", "check", "--schema"}, 0, `"$schema"`},
		{[]string{"objective", "check"}, cmdline.CodeUsage, "no file, want at least one, or --schema"},
		{[]string{"objective", "check", mine, wrong}, cmdline.CodeUsage, wrong + `: objective: line 3: "soon", want a time`},
		{[]string{"objective", "describe", "all"}, cmdline.CodeUsage, `objective "all", want a YAML file or one of completion,`},
		{[]string{"objective", "check", filepath.Join(dir, "none.yaml")}, cmdline.CodeNoRun, "no such file"},
		{[]string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--objective", "tail," + wrong}, cmdline.CodeUsage, "line 3"},
		{[]string{"eval", "-s", "embedded-small-v1", "-p", "fifo", "--objective", "tail,tail"}, cmdline.CodeUsage, `two are called "tail"`},
		{[]string{"env", "describe", "-s", "embedded-small-v1", "--objective", "tail", "--reward", "hour"}, cmdline.CodeUsage, "want one"},
	} {
		s := command(t, c.args...)
		if s.code != c.code || !strings.Contains(s.talk+s.out, c.want) {
			t.Errorf("%v: exit code %d\n%s%s\nwant %d and %q", c.args, s.code, s.talk, s.out, c.code, c.want)
		}
	}
}

// TestEvalByObjectives checks that an evaluation ranks by the first objective, that index decides by it, and that parts sum to the
// whole.
func TestEvalByObjectives(t *testing.T) {
	dir := t.TempDir()
	args := []string{
		"eval", "-s", "embedded-small-v1", "--set", "workload.jobs=6000", "--seeds", "1", "-p", "srsf,index", "--objective", "small-first,tail",
		"--figures", "none", "--baseline", "srsf",
	}
	s := command(t, append(args, "--out", filepath.Join(dir, "a"))...)
	if s.code != 0 || !strings.Contains(s.out, "lowest small-first first") || !strings.Contains(s.out, "Who pays by small-first, minutes") {
		t.Fatalf("exit code %d\n%s%s", s.code, s.talk, s.out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "a", "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		var r struct {
			Policy string
			Costs  []struct {
				Objective string
				Total     float64
				Terms     []objectives.Share
				BySize    []objectives.Share `json:"by_size"`
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || len(r.Costs) != 2 {
			t.Fatalf("%s: %v", line, err)
		}
		for _, c := range r.Costs {
			terms, sizes := 0.0, 0.0
			for _, x := range c.Terms {
				terms += x.Cost
			}
			for _, x := range c.BySize {
				sizes += x.Cost
			}
			if d := 1e-9 * max(c.Total, 1); terms-c.Total > d || c.Total-terms > d || sizes-c.Total > d || c.Total-sizes > d {
				t.Errorf("%s, %s: total %v, terms %v, sizes %v", r.Policy, c.Objective, c.Total, terms, sizes)
			}
			sums[r.Policy+" "+c.Objective] += c.Total
		}
	}
	if !(sums["index small-first"] < sums["srsf small-first"]/2) {
		t.Errorf("costs %v, want index at less than half of srsf by small-first", sums)
	}
}

// TestRewardsOfOldConfigurations checks that a configuration for a reward is refused with what takes its place.
func TestRewardsOfOldConfigurations(t *testing.T) {
	config := file(t, "old.yaml", "scenario: embedded-small-v1\ntrain:\n  reward: p99:power=5\n")
	for _, words := range [][]string{{"--config", config}, {"-s", "embedded-small-v1", "--set", "train.reward=makespan"}} {
		s := command(t, append([]string{"train", "--dir", t.TempDir()}, words...)...)
		if s.code == 0 || !strings.Contains(s.talk, "train.objective replaces it: see clustergym objective ls") {
			t.Errorf("%q: exit code %d\n%s", words, s.code, s.talk)
		}
	}
}

// TestTuneCommand checks that tune prints the best rule, and writes what it found; with workers, too, and of a trace of the user's
// own, of which it makes a scenario for other commands.
func TestTuneCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(mainVariable, "1") // for the workers
	tune := []string{"tune", "--objective", "small-first", "--rules", "fifo,srsf,index", "--out"}
	own := []string{"--trace", "Own Jobs.csv", "--servers", "4", "--gpus-per-server", "8"}
	require.Do(t, os.WriteFile("Own Jobs.csv", []byte(must(t, "trace", "gen", "--jobs", "900", "--load", "1.2", "--gpus", "32").out), 0o666))
	for name, words := range map[string][]string{"small": {"-s", "embedded-small-v1", "--set", "workload.jobs=6000"}, "own": own} {
		s := must(t, slices.Concat(tune, []string{name}, words)...)
		contains(t, s.out, "best: index, chosen in", "evaluate: clustergym eval --scenario")
		result := read(t, name+"/result.json")
		contains(t, result, `"best": "index"`)
		must(t, slices.Concat(tune, []string{name + "-pooled"}, words, []string{"--workers", "2"})...)
		if pooled := read(t, name+"-pooled/result.json"); pooled != result {
			t.Errorf("%s: with workers\n%s\nwithout\n%s", name, pooled, result)
		}
	}
	scenario := read(t, "own/scenario.yaml")
	contains(t, scenario, "name: own-jobs-v1", "arrivals: 15")
	contains(t, must(t, "eval", "-s", "own/scenario.yaml", "-p", "fifo", "--windows", "1", "--out", "evaluated").out, "fifo")
	must(t, slices.Concat(tune, []string{"own"}, own)...) // goes on from what there is
	require.Do(t, os.WriteFile("own/scenario.yaml", []byte(scenario+"horizon: 9h\n"), 0o666))
	for _, c := range []struct {
		want  string
		words []string
	}{
		{"own/scenario.yaml is another one than --trace would make", append([]string{"--out", "own"}, own...)},
		{"--scenario and --trace: want one", append([]string{"-s", "embedded-small-v1"}, own...)},
		{"want --servers and --gpus-per-server", own[:2]},
		{"are for --trace", []string{"-s", "embedded-small-v1", "--servers", "4"}},
	} {
		if s := command(t, append([]string{"tune", "--objective", "small-first"}, c.words...)...); s.code != cmdline.CodeUsage ||
			!strings.Contains(s.talk, c.want) {
			t.Errorf("%q: exit code %d\n%s", c.words, s.code, s.talk)
		}
	}
}

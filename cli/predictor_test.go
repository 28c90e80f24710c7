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
	require "github.com/clustergym/clustergym/internal/must"
)

// smallScenario are flags that make embedded-small-v1 quick to play.
var smallScenario = []string{"--scenario", "embedded-small-v1", "--set", "workload.jobs=800", "--set", "window.arrivals=50"}

// TestPredictorFit checks that equal command lines write equal bytes, and that policies can use the file.
func TestPredictorFit(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.predictor"), filepath.Join(t.TempDir(), "b.predictor")
	var files [][]byte
	for _, out := range []string{a, b} {
		s := must(t, append([]string{"predictor", "fit", "--out", out}, smallScenario...)...)
		if want := out + ": forest, by 480 jobs of the training split of embedded-small-v1"; !strings.Contains(s.out, want) {
			t.Errorf("fit says\n%s, want %q", s.out, want)
		}
		file := require.Get(os.ReadFile(out))(t)
		files = append(files, file)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings alike write other bytes")
	}
	must(t, "simulate", "--trace", file(t, "jobs.csv", jobs), "--servers", "1", "--gpus-per-server", "4", "--policy", "a-srpt:predictor="+a)
	var fitted predictorFitted
	s := must(t, append([]string{"predictor", "fit", "--kind", "group-median", "--json", "--out", b}, smallScenario...)...)
	if err := json.Unmarshal([]byte(s.out), &fitted); err != nil || fitted.Predictor != "group-median" || fitted.Jobs != 480 {
		t.Errorf("fit --json says\n%s, %v", s.out, err)
	}
	s = must(t, append([]string{"predictor", "fit", "--kind", "group-mean", "--out", "-"}, smallScenario...)...)
	if !strings.HasPrefix(s.out, `{"format":"clustergym-predictor","version":2,`) {
		t.Errorf("fit to standard output writes %.40q", s.out)
	}
}

// TestEvalFitsPredictors checks that eval fits the policies that ask for it, that it plays them as it does with the file that
// predictor fit writes, and that the folder does not depend on the number of workers.
func TestEvalFitsPredictors(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, append([]string{"predictor", "fit", "--out", "x.predictor"}, smallScenario...)...)
	run := func(dir, workers string) said {
		return must(t, append([]string{"eval", "--seeds", "1", "--figures", "none", "--out", dir, "--cores", workers, "--markdown",
			"--baseline", "a-srpt:predictor=fitted", "--policies", "file=a-srpt:predictor=x.predictor,a-srpt:predictor=fitted:backfill=easy"},
			smallScenario...)...)
	}
	s := run("one", "1")
	contains(t, s.out, "| a-srpt:predictor=fitted |", "| file | +0.0 [+0.0, +0.0] |", "| a-srpt:predictor=fitted:backfill=easy |")
	run("two", "2")
	sameFiles(t, evaluation(t, "one"), evaluation(t, "two"))
}

// TestFittedMistakes checks what commands say about policies that they cannot fit.
func TestFittedMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	const name = "a-srpt:predictor=fitted"
	trace := file(t, "jobs.csv", jobs)
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	const noScenario = `option predictor: this needs a scenario and its training split, which are known only in eval; otherwise` +
		` want a file`
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"eval", "-s", "embedded-small-v1", "-p", name, "--set", "window.train=[]"}, cmdline.CodeUsage,
			"fit policy " + name + " on the training split of embedded-small-v1: the scenario has no training split (window.train)"},
		{[]string{"eval", "-s", "embedded-small-v1", "-p", name, "--set", "workload.jobs=450", "--set", "window.arrivals=30",
			"--set", "window.train=[0,0.2]", "--windows", "1"}, cmdline.CodeError, "fit a random forest on 90 jobs: want at least 100"},
		{[]string{"eval", "-s", "embedded-small-v1", "-p", name, "--split", "train"}, cmdline.CodeMismatch,
			"policy " + name + " was trained or chosen on jobs of train of embedded-small-v1"},
		{[]string{"eval", "-s", "embedded-small-v1", "-p", name + ":tau=long"}, cmdline.CodeUsage, "option tau"},
		{[]string{"simulate", "--trace", trace, "--servers", "1", "--gpus-per-server", "4", "--policy", name}, cmdline.CodeUsage, noScenario},
		{[]string{"plan", "--snapshot", snapshot, "--policy", name}, cmdline.CodeUsage, noScenario},
		{[]string{"whatif", "--snapshot", snapshot, "--policy", name}, cmdline.CodeUsage, noScenario},
	} {
		s := command(t, c.args...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d; %q, want %q in it", c.args, s.code, c.code, s.talk, c.want)
		}
	}
}

func TestPredictorMistakes(t *testing.T) {
	dir := t.TempDir()
	out, none, broken := filepath.Join(dir, "x.predictor"), filepath.Join(dir, "none.predictor"), filepath.Join(dir, "broken.predictor")
	require.Do(t, os.WriteFile(broken, []byte("no"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fit", "--out", out}, cmdline.CodeUsage, `no scenario: name one with --scenario`},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", "x.bin"}, cmdline.CodeUsage, `want a name that ends in .predictor`},
		{[]string{"fit", "--scenario", "embedded-smal-v1", "--out", out}, cmdline.CodeUsage, "embedded-small-v1"},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", out, "--kind", "lstm"}, cmdline.CodeUsage, `predictor "lstm": want one of`},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", out, "--kind", none}, cmdline.CodeNoRun, "open predictor"},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", out, "--kind", broken}, cmdline.CodeMismatch, "not a predictor that can be read"},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", out, "--set", "window.train=[]"}, cmdline.CodeUsage, "has no train split"},
	} {
		s := command(t, append([]string{"predictor"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d; %q, want %q in it", c.args, s.code, c.code, s.talk, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := commandWith(ctx, "", append([]string{"predictor", "fit", "--out", out}, smallScenario...)...)
	if s.code != cmdline.CodeInterrupted {
		t.Errorf("interrupted: exit code %d, want %d\n%s", s.code, cmdline.CodeInterrupted, s.talk)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a training that did not begin left a file")
	}
}

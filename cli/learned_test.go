package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/folderlock"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/tbevent"
)

// tiny returns a command line for a training that takes less than a second.
func tiny(dir string, more ...string) []string {
	return append([]string{
		"train", "-s", "embedded-small-v1", "--dir", dir, "--updates", "2", "--set", "scenario.window.arrivals=40",
		"--set", "train.window=8", "--set", "train.choices=64", "--set", "train.batch=32", "--set", "train.size.width=8",
		"--set", "train.size.hidden=4", "--set", "train.every=1",
	}, more...)
}

func train2(t *testing.T, dir string) {
	t.Helper()
	must(t, tiny(dir)...)
}

// tree returns the content of every file in a folder, without those of wall-clock times.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "timing.jsonl" || strings.HasPrefix(d.Name(), tbevent.Prefix) {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files[rel] = read(t, path)
		return err
	})
	require.Do(t, err)
	return files
}

func TestTrainInterruptedAndResumedEqualsTrainInOneGo(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := must(t, tiny("runs/whole")...)
	contains(t, whole.out, "2 of 2 updates", "clustergym eval --scenario embedded-small-v1", "clustergym export --run runs/whole")
	contains(t, whole.talk, "train  2/2 it", "labels saves", "job-hours a choice", "validation")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := commandWith(ctx, "", tiny("runs/parts")...); s.code != cmdline.CodeInterrupted {
		t.Fatalf("interrupted: exit code %d\n%s", s.code, s.talk)
	}
	if s := command(t, tiny("runs/parts")...); s.code != cmdline.CodeError || !strings.Contains(s.talk, "resume") {
		t.Errorf("a second run in one folder: exit code %d\n%s", s.code, s.talk)
	}
	if s := command(t, tiny("runs/parts", "--resume", "--seed", "7")...); s.code != cmdline.CodeMismatch || !strings.Contains(s.talk, "seed: 7") {
		t.Errorf("resumed with another seed: exit code %d, want %d\n%s", s.code, cmdline.CodeMismatch, s.talk)
	}
	must(t, "train", "--resume", "--dir", "runs/parts", "--cores", "1")

	a, b := tree(t, "runs/whole"), tree(t, "runs/parts")
	for name, text := range a {
		if b[name] != text {
			t.Errorf("%s differs", name)
		}
	}
	if len(b) < len(a) || len(a) < 4 {
		t.Errorf("%d and %d files", len(a), len(b))
	}
}

// TestTrainOnSeveralScenarios checks that a run on several scenarios can be resumed without naming them, and that its policy gets
// the name of its folder.
func TestTrainOnSeveralScenarios(t *testing.T) {
	t.Chdir(t.TempDir())
	both := "embedded-small-v1,loaning-small-v1"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := commandWith(ctx, "", tiny("runs/both", "-s", both)...); s.code != cmdline.CodeInterrupted {
		t.Fatalf("interrupted: exit code %d\n%s", s.code, s.talk)
	}
	contains(t, must(t, "train", "--resume", "--dir", "runs/both").out, "2 of 2 updates on "+both)
	contains(t, must(t, "export", "--run", "runs/both").out, "policy both")
	if s := command(t, tiny("runs/none", "-s", "embedded-small-v1,nothing-v1")...); s.code == cmdline.CodeOK || !strings.Contains(s.talk, "nothing-v1") {
		t.Errorf("one of two scenarios is unknown: exit code %d\n%s", s.code, s.talk)
	}
}

func TestQuickstartGoesThroughEverything(t *testing.T) {
	if testing.Short() {
		t.Skip("trains and evaluates")
	}
	t.Chdir(t.TempDir())
	s := must(t, "quickstart", "--updates", "1", "--dir", "runs/quick")
	contains(t, s.talk, "1/4 train", "2/4 export", "3/4 compare", "4/4 ask")
	contains(t, s.out, "runs/quick: 1 of 1 updates", "Difference from prior", "learned at", "policy learned: runs/quick/policy")
	if s := command(t, "quickstart", "--updates", "1", "--dir", "runs/quick"); s.code == cmdline.CodeOK || !strings.Contains(s.talk, "--dir") {
		t.Errorf("a second one in the same folder: exit code %d\n%s", s.code, s.talk)
	}
}

// TestAFolderInUseIsLeftAlone checks that commands that would interfere with a run in progress fail, with an error that names the
// process of that run.
func TestAFolderInUseIsLeftAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	release := require.Get(folderlock.Acquire("runs/one"))(t)
	before := tree(t, "runs/one")
	for _, args := range [][]string{
		{"train", "--resume", "--dir", "runs/one"},
		{"eval", "-s", "embedded-small-v1", "--windows", "1", "-p", "fifo", "--out", "runs/one"},
	} {
		s := command(t, args...)
		if s.code != cmdline.CodeError {
			t.Errorf("%s: exit code %d, want %d", args[0], s.code, cmdline.CodeError)
		}
		contains(t, s.talk, fmt.Sprintf("runs/one is in use by process %d on ", os.Getpid()))
	}
	if after := tree(t, "runs/one"); !maps.Equal(after, before) {
		t.Errorf("the run was changed: %d files, before %d", len(after), len(before))
	}
	must(t, "export", "--run", "runs/one") // reading is allowed
	release()
	must(t, "train", "--resume", "--dir", "runs/one")
}

func TestLearnedPoliciesAreExportedComparedAndAsked(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	contains(t, must(t, "export", "--run", "runs/one", "--name", "mine").out, "policy mine: runs/one/policy")

	// The exported policy decides as the run does.
	args := []string{"eval", "-s", "embedded-small-v1", "--windows", "2", "--seeds", "1", "-p", "prior,run=runs/one,runs/one/policy"}
	contains(t, must(t, args...).out, "run", "mine", "prior", "sjfskip")
	type line struct {
		Policy string  `json:"policy"`
		SumJCT float64 `json:"sum_jct_s"`
	}
	sums := map[string][]float64{}
	for text := range strings.Lines(read(t, "runs/eval-embedded-small-v1/results.jsonl")) {
		var l line
		require.Do(t, json.Unmarshal([]byte(text), &l))
		sums[l.Policy] = append(sums[l.Policy], l.SumJCT)
	}
	if len(sums["mine"]) != 2 || !slices.Equal(sums["mine"], sums["run"]) {
		t.Errorf("the exported policy gives %v, the run %v", sums["mine"], sums["run"])
	}

	// Figures contain the name that the user gave.
	must(t, "eval", "-s", "embedded-small-v1", "--windows", "1", "--seeds", "1", "-p", "run=runs/one", "--out", "named")
	contains(t, read(t, "named/figures/embedded-small-v1-gantt.svg"), ">run<")
	contains(t, read(t, "named/figures/learning.svg"), ">run<")

	require.Do(t, os.WriteFile("cluster.json", []byte(must(t, "plan", "--example").out), 0o666))
	contains(t, must(t, "plan", "--snapshot", "cluster.json", "--policy", "runs/one/policy").out, "mine at", "the prior")
	contains(t, must(t, "simulate", "--trace", file(t, "jobs.csv", jobs), "--servers", "2", "--gpus-per-server", "4", "--policy",
		"runs/one/policy").out, "mine", "4, 4 finished")

	// Evaluating a policy on its training jobs fails, unless the user allows it.
	own := []string{"eval", "-s", "embedded-small-v1", "--split", "train", "--windows", "1", "--seeds", "1", "-p", "runs/one/policy"}
	if s := command(t, own...); s.code != cmdline.CodeMismatch || !strings.Contains(s.talk, "trained or chosen on jobs of train") {
		t.Errorf("evaluated on its training windows: exit code %d, want %d\n%s", s.code, cmdline.CodeMismatch, s.talk)
	}
	must(t, append(own, "--allow-overlap")...)
	// It also fails for the same jobs in the test windows of another split of the trace, and for the validation jobs.
	for _, cut := range [][]string{
		{"--set", "window.train=[]", "--set", "window.validation=[]", "--set", "window.test=[0.1, 1]"}, {"--split", "validation"},
	} {
		s := command(t, append([]string{"eval", "-s", "embedded-small-v1", "-p", "runs/one/policy", "--windows", "1"}, cut...)...)
		if s.code != cmdline.CodeMismatch || !strings.Contains(s.talk, "trained or chosen on jobs") {
			t.Errorf("%v: exit code %d, want %d\n%s", cut, s.code, cmdline.CodeMismatch, s.talk)
		}
	}

	// A damaged policy is refused.
	for _, name := range []string{"policy.onnx", "weights.safetensors"} {
		part := filepath.Join("runs", "one", "policy", name)
		text := read(t, part)
		require.Do(t, os.WriteFile(part, []byte(text[:len(text)-1]), 0o666))
		if s := command(t, "plan", "--snapshot", "cluster.json", "--policy", "runs/one/policy"); s.code != cmdline.CodeError ||
			!strings.Contains(s.talk, "damaged") || !strings.Contains(s.talk, name) {
			t.Errorf("damaged %s: exit code %d\n%s", name, s.code, s.talk)
		}
		require.Do(t, os.WriteFile(part, []byte(text), 0o666))
	}
}

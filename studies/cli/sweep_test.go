package cli

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/studies/sweep"
	"github.com/clustergym/clustergym/train"
)

// tinySweep returns a command line for a sweep of two points and two seeds that takes about a second.
func tinySweep(dir string, more ...string) []string {
	return append([]string{
		"sweep", "-s", "embedded-small-v1", "--dir", dir, "--vary", "train.rate=1e-3,3e-2", "--seeds", "2", "--updates", "2",
		"--halving", "2", "--set", "scenario.window.arrivals=40", "--set", "scenario.workload.jobs=600", "--set", "train.window=8",
		"--set", "train.choices=64", "--set", "train.batch=32", "--set", "train.size.width=8", "--set", "train.size.hidden=4",
		"--set", "train.every=1", "--set", "train.validation=1",
	}, more...)
}

// TestSweepTellsWhatToDo checks the table, the files, the other formats and the commands that it prints.
func TestSweepTellsWhatToDo(t *testing.T) {
	t.Chdir(t.TempDir())
	s := must(t, tinySweep("s/a")...)
	contains(t, s.talk, "2 points x 2 seeds: 2 to update 1, 1 to update 2", "rung 2/2", "6/6 it")
	contains(t, s.out, "point  rate  seeds  updates  rung  validation", "p1     1e-3", "1/2", "2/2", "The best of 2 points is optimistic")
	contains(t, read(t, "s/a/results.csv"), "point,train.rate,seeds,updates,rung,validation,min,max\n", "p2-rate-3e-2,3e-2,2,")
	const best = "s/a/runs/p1-rate-1e-3-s1"
	contains(t, s.out, "clustergym eval --scenario embedded-small-v1 --set scenario.window.arrivals=40 --set scenario.workload.jobs=600 "+
		"--policies prior,"+best+",s/a/runs/p1-rate-1e-3-s2 --baseline prior\n", "clustergym export --run "+best)
	if _, err := train.ReadFolder(best); err != nil {
		t.Error(err)
	}
	before := tree(t, "s/a")
	again := must(t, "sweep", "--dir", "s/a", "--json", "--quiet")
	var told swept
	if err := json.Unmarshal([]byte(again.out), &told); err != nil || len(told.Points) != 2 || told.Points[0].Updates != 2 ||
		len(told.Points[0].Runs) != 2 || told.Table != "s/a/results.csv" {
		t.Errorf("--json says\n%s, error %v", again.out, err)
	}
	contains(t, must(t, append(tinySweep("s/a"), "--markdown")...).out, "| point | rate | seeds |", "| p1 | 1e-3 | 2 | 2 | 2/2 |")
	if diff := cmp.Diff(before, tree(t, "s/a")); diff != "" {
		t.Errorf("a finished sweep changed its folder:\n%s", diff)
	}
}

// TestSweepInterruptedAndResumed checks that an interrupted sweep tells how to continue it, and ends as an undisturbed one.
func TestSweepInterruptedAndResumed(t *testing.T) {
	t.Chdir(t.TempDir())
	whole := must(t, tinySweep("whole")...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := commandWith(ctx, tinySweep("parts")...)
	if s.code != cmdline.CodeInterrupted || s.out != "" {
		t.Errorf("interrupted: exit code %d, output %q", s.code, s.out)
	}
	contains(t, s.talk, "stopped after 0 of 6 updates of all runs: go on with clustergym-studies sweep --dir parts")
	parts := must(t, "sweep", "--dir", "parts", "--parallel", "2")
	if strings.ReplaceAll(parts.out, "parts/", "whole/") != whole.out {
		t.Errorf("resumed:\n%s\nundisturbed:\n%s", parts.out, whole.out)
	}
	if diff := cmp.Diff(tree(t, "whole"), tree(t, "parts")); diff != "" {
		t.Errorf("the resumed sweep differs:\n%s", diff)
	}
}

func TestSweepMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	config := file(t, "sweep.yaml",
		"scenario: embedded-small-v1\nseeds: 2\nvary:\n  - train.rate=1e-3,2e-3\ntrain:\n  updates: 2\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := commandWith(ctx, "sweep", "--config", config); s.code != cmdline.CodeInterrupted {
		t.Fatalf("exit code %d\n%s", s.code, s.talk)
	}
	contains(t, read(t, filepath.Join("sweeps", "embedded-small-v1", "sweep.yaml")), "- train.rate=1e-3,2e-3", "updates: 2", "seeds: 2")
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--config", config, "--seeds", "3"}, cmdline.CodeMismatch, []string{"another sweep", `seeds: the folder has "2", asked for "3"`}},
		{[]string{}, cmdline.CodeUsage, []string{"--scenario"}},
		{[]string{"--dir", "none"}, cmdline.CodeNoRun, []string{"none", "no sweep", "--scenario"}},
		{[]string{"-s", "embedded-small-v1", "--vary", "train.rat=1,2"}, cmdline.CodeError, []string{`"train.rat"`, `"train.rate"`}},
		{[]string{"-s", "embedded-small-v1", "--set", "train.rat=1"}, cmdline.CodeError, []string{`"train.rat"`, `"train.rate"`}},
		{[]string{"-s", "embedded-smal-v1"}, cmdline.CodeUsage, []string{"embedded-small-v1"}},
		{[]string{"-s", "embedded-small-v1", "--parallel", "0"}, cmdline.CodeUsage, []string{"--parallel 0"}},
		{[]string{"-s", "embedded-small-v1", "--dir", "a=b"}, cmdline.CodeUsage, []string{`"a=b"`, "equals signs"}},
		{[]string{"--config", file(t, "bad.yaml", "vari: []\n")}, cmdline.CodeError, []string{`"vari"`, `"vary"`}},
	} {
		s := command(t, append([]string{"sweep"}, c.args...)...)
		if s.code != c.code || s.out != "" {
			t.Errorf("%v: exit code %d, want %d; output %q", c.args, s.code, c.code, s.out)
		}
		contains(t, s.talk, c.want...)
	}
	if _, err := os.Stat("none"); err == nil {
		t.Error("a folder that contains no sweep was created")
	}
}

func TestSweepDoubts(t *testing.T) {
	s := &swept{Result: &sweep.Result{Points: []sweep.Row{{Validation: .9}, {Validation: .95}}}}
	if list := s.doubts(); len(list) > 0 {
		t.Errorf("doubts about a clear result: %q", list)
	}
	s.Points, s.Ties = []sweep.Row{{Validation: 1}, {Validation: 1}, {Validation: 1.1}}, []int{1}
	contains(t, strings.Join(s.doubts(), "\n"), "No point is better than the prior", "2 points have the lowest validation",
		"At rung 1 a point stopped that was as good as one that went on")
}

// tree returns the content of every file in a folder, without those of wall-clock times.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != "timing.jsonl" && !strings.HasPrefix(d.Name(), "events.out") {
			files[strings.TrimPrefix(path, dir)] = read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// file writes a file and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

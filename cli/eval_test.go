package cli

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// evaluation returns the files in an evaluation's folder, without the file of wall-clock times.
func evaluation(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "timing.jsonl" {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files[rel] = read(t, path)
		return err
	})
	require.Do(t, err)
	return files
}

func sameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("files %v, want %v", names, slices.Sorted(maps.Keys(want)))
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s differs", name)
		}
	}
}

func TestEvalWritesTheSameAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "-s", "embedded-small-v1,loaning-small-v1", "-p", "fifo,first=srtf", "--windows", "2", "--seeds", "1",
		"--parquet", "--marl-eval", "--figures", "svg,png", "--out"}
	s := must(t, append(args, "one")...)
	contains(t, s.out, "embedded-small-v1, test", "loaning-small-v1, test", "fifo", "first", "sjfskip", "2 windows x 1 seed")
	contains(t, s.talk, "12/12", filepath.Join("one", "report.html"), "a decision")
	must(t, append(args, "two", "--cores", "1", "--quiet")...)
	one := evaluation(t, "one")
	sameFiles(t, evaluation(t, "two"), one)
	for _, name := range []string{"report.html", "results.json", "results.jsonl", "results.parquet", "marl-eval.json", "journal.jsonl",
		"figures/loaning-small-v1-cdf.svg", "figures/embedded-small-v1-gantt.png",
		"figures/embedded-small-v1-differences.svg", "schedules/embedded-small-v1.test-0.first.1.jsonl.gz"} {
		if one[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	contains(t, read(t, filepath.Join("one", "timing.jsonl")), "decision_p99_us")
	must(t, "replay", "--verify", filepath.Join("one", "schedules", "embedded-small-v1.test-0.first.1.jsonl.gz"))

	// Finished cases are not played again; those of an additional policy are played.
	contains(t, must(t, append(args, "one")...).talk, "12 done before")
	contains(t, must(t, append(args, "one", "--policies", "las")...).talk, "12 done before", "16/16")
}

// TestEvalSaysThatWindowsAreResampled checks that the terminal, the page and the JSON all say when windows are resampled.
func TestEvalSaysThatWindowsAreResampled(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "-q", "-s", "embedded-small-v1", "-p", "fifo", "--seeds", "1", "--figures", "none", "--out", "r", "--windows", "2"}
	const note = "The windows of the test split are resampled: 1800 of 1800 jobs are different"
	if out := must(t, args...).out; strings.Contains(out, "resampled") {
		t.Errorf("windows one after the other are called resampled:\n%s", out)
	}
	args = append(args, "--set", "window.resample.test=12")
	contains(t, must(t, args...).out, note)
	contains(t, read(t, filepath.Join("r", "report.html")), note)
	contains(t, read(t, filepath.Join("r", "results.json")), `"windows_note"`)
}

func TestEvalGate(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "-q", "-s", "embedded-small-v1", "-p", "fifo", "--figures", "none", "--gate"}
	gate := func(bound string) string {
		return file(t, "gate.yaml", "bounds:\n  - {policy: fifo, metric: mean_jct_s, why: fifo is slow, "+bound+"}\n")
	}
	contains(t, must(t, append(args, gate("of: relative, at: lo, min: 0"))...).out, "gate: met", "fifo is slow")
	s := command(t, append(args, gate("of: relative, max: 10"))...)
	if s.code != cmdline.CodeGate {
		t.Errorf("a broken bound: exit code %d, want %d\n%s", s.code, cmdline.CodeGate, s.talk)
	}
	contains(t, s.out, "gate: broken: embedded-small-v1 under fifo: mean_jct_s against the baseline, %")
	contains(t, s.talk, "1 of 1 bound broken")
	for bound, want := range map[string]string{"max: low": "gate.yaml", "max: 1, policy: srtf": "gate.yaml", "max: 1, scenario: x": `"x" is not`} {
		if s := command(t, append(args, gate(bound))...); s.code == cmdline.CodeOK || s.code == cmdline.CodeGate || !strings.Contains(s.talk, want) {
			t.Errorf("%s: exit code %d\n%s", bound, s.code, s.talk)
		}
	}
}

// TestEvalComparesWhatDidNotFail checks that if a policy fails in a scenario, because it was made for another cluster, the others are
// compared there, also if it is the baseline, that all that finished is written, and that the error has one line for its cases.
func TestEvalComparesWhatDidNotFail(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "export", "--scenario", "embedded-small-v1", "--prior", "sjfskip", "--model", scorer(t, 0, 8), "--out", "eight")
	larger := file(t, "larger.yaml", must(t, "scenario", "describe", "embedded-small-v1", "--set", "cluster.servers=9",
		"--set", "name=larger-v1").out)
	args := []string{"eval", "-s", "embedded-small-v1," + larger, "-p", "fifo,las,eight", "--windows", "2", "--seeds", "1", "--baseline"}
	s := command(t, append(args, "fifo", "--json", "--out", "one")...)
	if s.code != cmdline.CodeSomeFailed {
		t.Fatalf("exit code %d, want %d\n%s", s.code, cmdline.CodeSomeFailed, s.talk)
	}
	var got evaluated
	require.Do(t, json.Unmarshal([]byte(s.out), &got))
	if n := len(got.Comparisons[1].Policies); n != 2 || len(got.Comparisons[0].Policies) != 3 || len(got.Failed) != 2 {
		t.Errorf("%d policies compared and %d cases failed, want 2 and 2", n, len(got.Failed))
	}
	s = command(t, append(args, "eight", "--out", "two", "--gate", file(t, "gate.yaml",
		"bounds: [{policy: las, metric: mean_jct_s, of: relative, max: 1e9, why: the test}]"))...)
	if s.code != cmdline.CodeSomeFailed || strings.Count(s.talk, "made for 8 servers") != 1 {
		t.Errorf("a baseline that fails: exit code %d, want %d and the reason once\n%s", s.code, cmdline.CodeSomeFailed, s.talk)
	}
	contains(t, s.talk, "2 cases failed", "larger-v1 test-0 under eight, seed 1", "and 1 more of this policy there",
		"larger-v1: the baseline eight failed: policies are compared with fifo", "report: two/report.html")
	contains(t, s.out, "embedded-small-v1, test: means", "larger-v1, test: means", "Difference from eight", "Difference from fifo",
		"gate: met: embedded-small-v1", "gate: broken: larger-v1")
	if n := strings.Count(read(t, "two/results.jsonl"), "\n"); n != 10 {
		t.Errorf("%d results are written, want all 10 that finished", n)
	}
}

// TestEvalRefusesWhoNeedsEstimates checks that eval refuses policies that need estimates where a scenario tells none, in one line and
// before anything is played, and that what it says to type works.
func TestEvalRefusesWhoNeedsEstimates(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "-s", "embedded-small-v1,embedded-small-untold-v1", "--windows", "1", "--seeds", "1", "--figures", "none", "-p"}
	s := command(t, append(args, "fifo,released,mine=srtf,las,prior")...)
	if s.code != cmdline.CodeUsage || s.out != "" || strings.Contains(s.talk, "episodes") || strings.Count(s.talk, "\n") != 1 {
		t.Errorf("exit code %d, want %d and a line\n%s%s", s.code, cmdline.CodeUsage, s.out, s.talk)
	}
	contains(t, s.talk, "needed by released, mine, prior, sjfskip, and not told by embedded-small-untold-v1",
		"take released+know, srtf+know, sjfskip+know", "--baseline")
	if _, err := os.Stat("runs"); err == nil {
		t.Error("something is written")
	}
	must(t, append(args, "fifo,las,srtf+know,released+know", "--baseline", "sjfskip+know", "--allow-overlap")...)
}

func TestEvalPrintsMarkdown(t *testing.T) {
	t.Chdir(t.TempDir())
	out := must(t, "eval", "-q", "-s", "embedded-small-v1", "-p", "fifo,srtf", "--figures", "none", "--markdown").out
	contains(t, out, "| policy | embedded-small-v1, 12 windows |\n|---|---|\n| sjfskip |", " s |\n| fifo | **+")
	refused := command(t, "eval", "-s", "embedded-small-v1", "-p", "fifo", "--metric", "makespan")
	contains(t, refused.talk, `--metric "makespan"`, `"makespan_s"`)
	args := []string{"eval", "-q", "-s", "embedded-small-v1", "-p", "fifo,srtf", "--figures", "none", "--markdown"}
	if other := must(t, append(args, "--metric", "makespan_s")...).out; other == out {
		t.Errorf("the makespan prints as the mean JCT:\n%s", other)
	}
	args = []string{"eval", "-q", "-s", "embedded-small-v1", "-p", "run-1=srtf,run-2=srsf", "--figures", "none", "--over-seeds"}
	contains(t, must(t, append(args, "--markdown")...).out, "| run, 2 seeds | ")
	contains(t, command(t, args...).talk, "--over-seeds: want --markdown, too")
}

// TestEvalKeepsResultsOfOtherCommands checks that another command takes another folder and plays only what is new, that the same
// command writes where it wrote before, and that no figure of an earlier evaluation stays.
func TestEvalKeepsResultsOfOtherCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "-s", "embedded-small-v1", "--windows", "1", "--seeds", "1", "--baseline", "fifo", "-p"}
	const first, second = "runs/eval-embedded-small-v1", "runs/eval-embedded-small-v1-2"
	must(t, append(args, "sjfskip", "--figures", "svg,png")...)
	report := read(t, first+"/report.html")
	s := must(t, append(args, "sjfskip,las")...)
	if want := first + " has the results of another command: --out " + first + " replaces them"; !strings.Contains(s.talk, want) ||
		!strings.Contains(s.talk, "report: "+second) || !strings.Contains(s.talk, "2 done before") {
		t.Errorf("no %q, no %s or all is played again:\n%s", want, second, s.talk)
	}
	if read(t, first+"/report.html") != report {
		t.Error("the report of the first command is replaced")
	}
	must(t, append(args, "sjfskip")...)
	if read(t, first+"/report.html") != report {
		t.Error("the same command writes another report")
	}
	if old, err := filepath.Glob(first + "/figures/*.png"); err != nil || len(old) > 0 {
		t.Errorf("old figures stay: %v %v", old, err)
	}
	if _, err := os.Stat(second + "-3"); err == nil {
		t.Error("a third folder")
	}
}

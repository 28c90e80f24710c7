package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// smallScenario are flags that make embedded-small-v1 quick to play.
var smallScenario = []string{"--scenario", "embedded-small-v1", "--set", "workload.jobs=800", "--set", "window.arrivals=50"}

// TestEvalFitsPredictors checks that eval fits the policies that ask for it, that it plays them as it does with the file of
// such a predictor, and that the folder does not depend on the number of workers.
func TestEvalFitsPredictors(t *testing.T) {
	t.Chdir(t.TempDir())
	scn := require.Get((&flags.Scenario{Name: smallScenario[1], Sets: []string{smallScenario[3], smallScenario[5]}}).Load())(t)
	p := require.Get(predict.New("forest"))(t)
	require.Do(t, predict.Teach(t.Context(), require.Get(flags.SplitJobs(scn, scenario.Train, 1))(t), p, 1, func(int) {}))
	require.Do(t, atomicfile.Write("x.predictor", 0o666, func(w io.Writer) error { return predict.Save(w, p) }))
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

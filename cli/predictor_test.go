package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// smallScenario makes embedded-small-v1 quick to play.
var smallScenario = []string{"--scenario", "embedded-small-v1", "--set", "workload.jobs=800", "--set", "window.arrivals=50"}

// What fit writes, compare reads; equal command lines write equal bytes.
func TestPredictorFitAndCompare(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.predictor"), filepath.Join(t.TempDir(), "b.predictor")
	var files [][]byte
	for _, out := range []string{a, b} {
		s := must(t, append([]string{"predictor", "fit", "--out", out}, smallScenario...)...)
		if want := out + ": forest, by 480 jobs of the training split of embedded-small-v1"; !strings.Contains(s.out, want) {
			t.Errorf("fit says\n%s, want %q", s.out, want)
		}
		file, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two trainings alike write other bytes")
	}
	s := must(t, append([]string{"predictor", "compare", "-p", a + ",granted,noisy(0.5),group-mean"}, smallScenario...)...)
	if !strings.Contains(s.out, "embedded-small-v1, test split; 240 jobs") || strings.Count(s.out, a) != 5 {
		t.Errorf("compare says\n%s", s.out)
	}
	var fitted predictorFitted
	s = must(t, append([]string{"predictor", "fit", "--kind", "group-median", "--json", "--out", b}, smallScenario...)...)
	if err := json.Unmarshal([]byte(s.out), &fitted); err != nil || fitted.Predictor != "group-median" || fitted.Jobs != 480 {
		t.Errorf("fit --json says\n%s, %v", s.out, err)
	}
	s = must(t, append([]string{"predictor", "fit", "--kind", "group-mean", "--out", "-"}, smallScenario...)...)
	if !strings.HasPrefix(s.out, "clustergym predictor 1\n") {
		t.Errorf("fit to standard output writes %.40q", s.out)
	}
}

// All splits together are all jobs of the workload, each once.
func TestPredictorSplits(t *testing.T) {
	jobs := 0
	for _, split := range flags.Splits() {
		var r predictorsCompared
		s := must(t, append([]string{"predictor", "compare", "-p", "group-mean", "--split", split, "--json"}, smallScenario...)...)
		if err := json.Unmarshal([]byte(s.out), &r); err != nil {
			t.Fatal(err)
		}
		jobs += r.Jobs
	}
	if jobs != 800 {
		t.Errorf("the splits have %d jobs, want 800", jobs)
	}
}

// A generated workload says that it is one.
func TestPredictorCompareGenerated(t *testing.T) {
	s := must(t, "predictor", "compare", "--generated", "500", "--recurring", "0.5")
	if !strings.HasPrefix(s.out, "generated: jobs like those of helios-venus, models dealt by GPU-hours, 50 % made runs of") {
		t.Errorf("compare says\n%s", s.out)
	}
	var r predictorsCompared
	s = must(t, "predictor", "compare", "--generated", "500", "--estimates", "profiled", "-p", "granted,forest", "--json")
	if err := json.Unmarshal([]byte(s.out), &r); err != nil || !r.Generated || r.Jobs != 500 || len(r.Rows) != 10 {
		t.Errorf("compare --json says\n%s, %v", s.out, err)
	}
}

func TestPredictorMistakes(t *testing.T) {
	dir := t.TempDir()
	out, none := filepath.Join(dir, "x.predictor"), filepath.Join(dir, "none.predictor")
	broken, jobs := filepath.Join(dir, "broken.predictor"), filepath.Join(dir, "jobs.csv")
	for path, text := range map[string]string{broken: "no", jobs: "job_id,num_gpu,submit_time,duration\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fit", "--out", out}, cmdline.CodeUsage, `required flag(s) "scenario"`},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", "x.bin"}, cmdline.CodeUsage, `want a name that ends in .predictor`},
		{[]string{"fit", "--scenario", "embedded-smal-v1", "--out", out}, cmdline.CodeUsage, "embedded-small-v1"},
		{[]string{"fit", "--scenario", "embedded-small-v1", "--out", out, "--kind", "lstm"}, cmdline.CodeUsage, `predictor "lstm": want one of`},
		{[]string{"compare"}, cmdline.CodeUsage, "at least one of the flags"},
		{[]string{"compare", "--trace", jobs, "--generated", "5"}, cmdline.CodeUsage, "none of the others can be"},
		{[]string{"compare", "--generated", "0"}, cmdline.CodeUsage, "--generated 0, want at least 1"},
		{[]string{"compare", "--generated", "5", "--recurring", "2"}, cmdline.CodeUsage, "recurring 2, want a share"},
		{[]string{"compare", "--generated", "5", "--estimates", "guess"}, cmdline.CodeUsage, `--estimates "guess"`},
		{[]string{"compare", "--generated", "5", "-p", none}, cmdline.CodeNoRun, "open predictor"},
		{[]string{"compare", "--generated", "5", "-p", broken}, cmdline.CodeMismatch, "not a predictor that can be read"},
		{[]string{"compare", "--generated", "5", "-p", "noisy(x)"}, cmdline.CodeUsage, "want noisy(SIGMA)"},
		{[]string{"compare", "--scenario", "embedded-small-v1", "--split", "rest"}, cmdline.CodeUsage, `--split "rest"`},
		{[]string{"compare", "--scenario", "embedded-small-v1", "--set", "window.validation=[]", "--split", "validation"}, cmdline.CodeUsage,
			"has no validation split"},
		{[]string{"compare", "--trace", jobs}, cmdline.CodeError, "jobs"},
	} {
		s := command(t, append([]string{"predictor"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d; %q, want %q in it", c.args, s.code, c.code, s.talk, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{
		append([]string{"predictor", "fit", "--out", out}, smallScenario...), {"predictor", "compare", "--generated", "50"},
	} {
		if s := commandWith(ctx, "", args...); s.code != cmdline.CodeInterrupted {
			t.Errorf("%v: exit code %d, want %d\n%s", args, s.code, cmdline.CodeInterrupted, s.talk)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a training that did not begin left a file")
	}
}

package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// smallScenario are flags for a version of embedded-small-v1 that runs quickly.
var smallScenario = []string{"--scenario", "embedded-small-v1", "--set", "workload.jobs=800", "--set", "window.arrivals=50"}

// TestPredictorCompare checks that the output names a trained predictor by its file.
func TestPredictorCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.predictor")
	p, err := predict.New("group-median")
	if err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(file, 0o666, func(w io.Writer) error { return predict.Save(w, p) }); err != nil {
		t.Fatal(err)
	}
	s := must(t, append([]string{"predictor", "compare", "-p", file + ",granted,noisy(0.5),group-mean"}, smallScenario...)...)
	if !strings.Contains(s.out, "embedded-small-v1, test split; 240 jobs") || strings.Count(s.out, file) != 5 {
		t.Errorf("compare says\n%s", s.out)
	}
}

// TestPredictorSplits checks that all splits together contain all jobs of the workload, each once.
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

// TestPredictorCompareGenerated checks that the output says that a workload is generated.
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
	none, broken, jobs := filepath.Join(dir, "none.predictor"), filepath.Join(dir, "broken.predictor"), filepath.Join(dir, "jobs.csv")
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
	if s := commandWith(ctx, "predictor", "compare", "--generated", "50"); s.code != cmdline.CodeInterrupted {
		t.Errorf("interrupted: exit code %d, want %d\n%s", s.code, cmdline.CodeInterrupted, s.talk)
	}
}

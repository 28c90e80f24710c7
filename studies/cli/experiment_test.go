package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

func TestExperimentsAreListed(t *testing.T) {
	t.Chdir("../..")
	var list []experimentItem
	if err := json.Unmarshal([]byte(must(t, "experiment", "ls", "--json").out), &list); err != nil || len(list) < 8 {
		t.Errorf("%d experiments, %v: want 8 or more", len(list), err)
	}
	for _, e := range list {
		if e.Name == "ablations" && (e.Trainings != 60 || len(e.Tables) != 2) {
			t.Errorf("ablations has %d trainings and the tables %q, want 60, and a table for each of two worlds", e.Trainings, e.Tables)
		}
	}
	if s := must(t, "experiment", "ls", "policies"); !strings.Contains(s.out, "results a-srpt") {
		t.Errorf("experiment ls policies: %q, want the names of its tables", s.out)
	}
}

func TestExperimentsWithoutTracesAreNotChecked(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("CLUSTERGYM_SHARED", t.TempDir())
	t.Setenv("CI", "")
	if s := must(t, "experiment", "check", "policies"); !strings.Contains(s.talk, "policies: no traces in ") {
		t.Errorf("experiment check policies: %q, want that there are no traces", s.talk)
	}
	t.Setenv("CI", "true") // the program is not beside this test
	if s := command(t, "experiment", "check", "policies"); s.code != cmdline.CodeError ||
		!strings.Contains(s.talk, `studies/experiments/policies.yaml:6: table "results": clustergym --quiet eval`) {
		t.Errorf("with CI=true: exit code %d, %q, want an error that names file, line and command", s.code, s.talk)
	}
}

func TestUsageOfExperiments(t *testing.T) {
	t.Chdir("../..")
	for want, args := range map[string][]string{
		`experiment "learnt": want one of ablations, bench-v2, learned`: {"experiment", "run", "learnt"},
		`--tables "("`: {"experiment", "check", "told", "--tables", "("},
		"--workers -1": {"experiment", "check", "told", "--workers", "-1"},
	} {
		if s := command(t, args...); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, want) {
			t.Errorf("%q: exit code %d, %q: want %q", args, s.code, s.talk, want)
		}
	}
	t.Chdir("studies")
	if s := command(t, "experiment", "ls"); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, "want the root folder of the repository") {
		t.Errorf("in another folder: exit code %d, %q", s.code, s.talk)
	}
}

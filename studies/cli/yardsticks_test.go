package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/studies/yardsticks"
)

// TestYardsticks trains a learner briefly, finds it again, and compares it with a baseline and with random choices.
func TestYardsticks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "vdn-1")
	on := []string{"--scenario", "embedded-small-v1", "--set", "workload.jobs=1000", "--set", "window.arrivals=40", "--prior", "sjfskip"}
	learn := append([]string{"yardsticks", "learn", "--learner", "vdn", "--decisions", "600", "--checks", "2", "--dir", dir}, on...)
	first := must(t, learn...)
	if lines := strings.Count(first.out, "\n"); lines != 4 {
		t.Errorf("%d lines, want a header and three points:\n%s", lines, first.out)
	}
	r, err := yardsticks.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r.Learner != yardsticks.VDN || r.Prior != "sjfskip" || len(r.Curve) != 3 || r.CPU <= 0 {
		t.Errorf("the folder has the run %+v", r)
	}
	if again := must(t, learn...); again.out != first.out || !strings.Contains(again.talk, "trained before") {
		t.Errorf("the same command prints\n%s%s", again.talk, again.out)
	}
	if s := command(t, append(learn, "--seed", "2")...); s.code != cmdline.CodeMismatch {
		t.Errorf("another seed in the same folder: exit code %d\n%s", s.code, s.talk)
	}
	compare := append([]string{"yardsticks", "compare", "--json", "random", "srsf", dir}, on...)
	var rows []yardstickRow
	if err := json.Unmarshal([]byte(must(t, compare...).out), &rows); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"sjfskip", "random", "srsf", "vdn-1"} {
		if r := rows[i]; r.Policy != name || r.MeanJCT <= 0 || (r.Relative == nil) != (i == 0) || (r.Decisions > 0) != (i == 3) {
			t.Errorf("row %d is %+v, want that of %s", i, r, name)
		}
	}
}

func TestYardsticksUsage(t *testing.T) {
	for _, args := range [][]string{
		{"learn", "--scenario", "embedded-small-v1", "--dir", "x", "--learner", "dqn"},
		{"learn", "--scenario", "embedded-small-v1", "--dir", "x", "--decisions", "0"},
		{"learn", "--scenario", "embedded-small-v1", "--dir", "x", "--prior", "nobody"},
		{"compare", "--scenario", "embedded-small-v1", "nobody"},
		{"compare", "--scenario", "embedded-small-v1"},
	} {
		if s := command(t, append([]string{"yardsticks"}, args...)...); s.code != cmdline.CodeUsage {
			t.Errorf("%q: exit code %d, want %d\n%s", args, s.code, cmdline.CodeUsage, s.talk)
		}
	}
}

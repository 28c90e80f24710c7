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
)

// TestPredictorFit checks that equal command lines write equal bytes, and that policies can use the file.
func TestPredictorFit(t *testing.T) {
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
	must(t, append([]string{"predictor", "compare", "-p", a}, smallScenario...)...)
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

func TestPredictorFitMistakes(t *testing.T) {
	dir := t.TempDir()
	out, none, broken := filepath.Join(dir, "x.predictor"), filepath.Join(dir, "none.predictor"), filepath.Join(dir, "broken.predictor")
	if err := os.WriteFile(broken, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
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
	s := commandWith(ctx, append([]string{"predictor", "fit", "--out", out}, smallScenario...)...)
	if s.code != cmdline.CodeInterrupted {
		t.Errorf("interrupted: exit code %d, want %d\n%s", s.code, cmdline.CodeInterrupted, s.talk)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a training that did not begin left a file")
	}
}

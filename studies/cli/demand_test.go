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

// TestDemandFitAndCompare checks that compare can read what fit writes, and that equal command lines write equal bytes.
func TestDemandFitAndCompare(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, out := range []string{a, b} {
		s := must(t, "demand", "fit", "--hidden", "2", "--epochs", "1", "--out", out)
		if !strings.Contains(s.out, "best of 1 epochs is") || !strings.Contains(s.out, "clustergym-studies demand compare --series generated --lstm "+out) {
			t.Errorf("fit says\n%s", s.out)
		}
	}
	x, err := os.ReadFile(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.ReadFile(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(x, y) {
		t.Error("two trainings alike write other bytes")
	}
	if s := must(t, "demand", "compare", "--lstm", a); strings.Count(s.out, "\ngenerated ") != 6 {
		t.Errorf("compare says\n%s", s.out)
	}
	var results []demandCompared
	s := must(t, "demand", "compare", "--draws", "2", "--json")
	if err := json.Unmarshal([]byte(s.out), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Draws != 2 || len(results[0].Predictors) != 6 {
		t.Errorf("compare --json says\n%s", s.out)
	}
}

func TestDemandMistakes(t *testing.T) {
	out := filepath.Join(t.TempDir(), "lstm")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fit"}, cmdline.CodeUsage, `required flag(s) "out"`},
		{[]string{"fit", "--out", out, "--hidden", "0"}, cmdline.CodeUsage, "hidden is 0, want 1 to 256"},
		{[]string{"fit", "--out", out, "--draws", "0"}, cmdline.CodeUsage, "--draws 0, want 1 to 1000"},
		{[]string{"fit", "--out", out, "--train-days", "15"}, cmdline.CodeError, "generated: take 15 training days of 14.0"},
		{[]string{"fit", "--out", out, "--series", out}, cmdline.CodeError, "no such file"},
		{[]string{"compare", "--lstm", out}, cmdline.CodeNoRun, "open weights"},
		{[]string{"compare", "--lstm", "demand.go"}, cmdline.CodeError, "demand.go: read LSTM"},
		{[]string{"compare", "--servers", "0"}, cmdline.CodeError, "0 servers, want 1 to"},
	} {
		s := command(t, append([]string{"demand"}, c.args...)...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d; %q, want %q in it", c.args, s.code, c.code, s.talk, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"demand", "fit", "--out", out}, {"demand", "compare"}} {
		if s := commandWith(ctx, args...); s.code != cmdline.CodeInterrupted {
			t.Errorf("%v: exit code %d, want %d\n%s", args, s.code, cmdline.CodeInterrupted, s.talk)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a training that did not begin left a file")
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// reproduceCommand runs a command line of reproduce in this process.
func reproduceCommand(t *testing.T, json bool, args ...string) (out string, err error) {
	t.Helper()
	var b, talk bytes.Buffer
	a := cmdline.New(nil, &b, &talk)
	a.JSON, a.Quiet = json, true
	cmd := newReproduceCmd(&a)
	cmd.SetArgs(args)
	cmd.SetOut(&talk)
	cmd.SetErr(&talk)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(t.Context())
	return b.String(), err
}

func TestReproduceWritesTheSameTwice(t *testing.T) {
	for _, args := range [][]string{
		{"aryl", "--scale", "0.02", "--rows", "fifo,basic", "--seeds", "2"},
		{"a-srpt", "--scale", "0.05", "--rows", "load-0.7/*"},
	} {
		var files, texts []string
		for _, workers := range []string{"1", "2"} {
			file := filepath.Join(t.TempDir(), "out", "table.md")
			out, err := reproduceCommand(t, false, append(args, "--workers", workers, "--out", file)...)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts, files = append(texts, out), append(files, string(b))
		}
		if texts[0] != texts[1] || files[0] != files[1] {
			t.Errorf("%v: other workers, other bytes", args)
		}
		if !strings.Contains(files[0], "## What is run, and what differs from the paper") || !strings.Contains(texts[0], "outcome") {
			t.Errorf("%v:\n%s\n%s", args, texts[0], files[0])
		}
	}
}

func TestReproduceJSON(t *testing.T) {
	out, err := reproduceCommand(t, true, "aryl", "--jobs", "1000", "--rows", "fifo", "--predictor", "lstm")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Rows []struct {
			Key         string             `json:"key"`
			Paper, Mean map[string]float64 // some of the figures
		} `json:"rows"`
		Claims []struct{ Outcome string } `json:"claims"`
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 1 || r.Rows[0].Key != "fifo" || r.Rows[0].Paper["mean_queueing_s"] != 3072 || r.Rows[0].Mean["mean_jct_s"] <= 0 ||
		len(r.Claims) == 0 {
		t.Errorf("--json says\n%s", out)
	}
}

func TestReproduceLists(t *testing.T) {
	out, err := reproduceCommand(t, false, "a-srpt", "--list", "--rows", "tau/*")
	if err != nil || strings.Count(out, "\n") != 6 || !strings.Contains(out, "a-srpt:tau=0.5") {
		t.Errorf("error %v\n%s", err, out)
	}
}

func TestReproduceMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"aryl", "--scale", "0"}, "--scale: scale 0, want 0.01 to 4"},
		{[]string{"aryl", "--jobs", "10"}, "want 0.01 to 4"},
		{[]string{"aryl", "--jobs", "1000", "--scale", "0.1"}, "--jobs and --scale: want one of them"},
		{[]string{"aryl", "--seeds", "0"}, "--seeds 0"},
		{[]string{"aryl", "--predictor", "oracl"}, `did you mean "oracle"?`},
		{[]string{"aryl", "--rows", "basik"}, `did you mean "basic"?`},
		{[]string{"a-srpt", "--rows", "load-9/*"}, `row "load-9/*" of a-srpt`},
		{[]string{"aryl", "more"}, `unknown command "more"`},
	} {
		_, err := reproduceCommand(t, false, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q in it", c.args, err, c.want)
		}
	}
}

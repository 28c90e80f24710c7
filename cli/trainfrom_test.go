package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// further returns a command line for a short training from a policy, on the jobs of another generated trace.
func further(from, dir string, more ...string) []string {
	return append([]string{
		"train", "--from", from, "-s", "embedded-small-v1", "--dir", dir, "--updates", "1", "--set", "scenario.window.arrivals=40",
		"--set", "scenario.workload.seed=5", "--set", "scenario.name=mine-v1", "--set", "train.windows=2", "--set", "train.choices=32",
		"--set", "train.batch=32", "--set", "train.validation=2",
	}, more...)
}

// TestTrainsFromPolicies checks that a run begins from the released policy, from a bundle and from a run; that it resumes without
// the policy; that the card of its policy tells what it began as; and that eval refuses the jobs of all.
func TestTrainsFromPolicies(t *testing.T) {
	p, m, err := agents.LoadFS(released.FS())
	require.Do(t, err)
	seen := m.Training.Seen[0].Trace
	t.Chdir(t.TempDir())
	s := must(t, further("released", "runs/mine")...)
	contains(t, s.talk, "began at ")
	contains(t, s.out, "prior,from="+filepath.Join("runs", "mine", "from", "policy")+",runs/mine --baseline prior")
	text := read(t, "runs/mine/run.yaml")
	contains(t, text, "from:\n  policy: released\n  sha256: ", "trace: "+seen, fmt.Sprintf("margin: %v\n", p.Margin), "prior: "+p.Prior)
	must(t, "export", "--run", "runs/mine")
	contains(t, read(t, "runs/mine/policy/README.md"), "Began as: policy `released` (", "`"+seen+"`")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := commandWith(ctx, "", further("runs/mine/policy", "runs/next", "--set", "train.margin=2", "--set", "train.rate=1e-4")...); s.code != cmdline.CodeInterrupted {
		t.Fatalf("interrupted: exit code %d\n%s", s.code, s.talk)
	}
	contains(t, read(t, "runs/next/run.yaml"), "policy: mine", "margin: 2\n", "rate: 0.0001")
	must(t, "train", "--resume", "--dir", "runs/next")
	s = command(t, "train", "--resume", "--dir", "runs/next", "--from", "released")
	if s.code != cmdline.CodeMismatch {
		t.Errorf("resumed from another policy: exit code %d, want %d", s.code, cmdline.CodeMismatch)
	}
	contains(t, s.talk, "the run began with policy mine (", "asked for policy released (")

	// The jobs of the first run's training are refused for the second run, which has others.
	must(t, tiny("runs/one", "--set", "scenario.workload.seed=9")...)
	must(t, further("runs/one", "runs/other", "--set", "scenario.workload.seed=5")...)
	s = command(t, "eval", "-s", "embedded-small-v1", "--set", "workload.seed=9", "--windows", "1", "--split", "train", "-p", "runs/other",
		"--baseline", "fifo")
	if s.code != cmdline.CodeMismatch {
		t.Errorf("evaluated on the training windows of the policy that it began as: exit code %d\n%s", s.code, s.talk)
	}
}

// TestTrainFromRefusals checks that what cannot be trained further is refused with the reason.
func TestTrainFromRefusals(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	must(t, "export", "--run", "runs/one", "--out", "damaged")
	path := filepath.Join("damaged", "weights.safetensors")
	b := []byte(read(t, path))
	b[len(b)-3] ^= 1
	require.Do(t, os.WriteFile(path, b, 0o666))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{further("fifo", "runs/new"), cmdline.CodeUsage, "--from fifo: want released or the folder"},
		{further("released+loan", "runs/new"), cmdline.CodeUsage, "--from released+loan: want released or the folder"},
		{further("relesed", "runs/new"), cmdline.CodeUsage, `did you mean "released"?`},
		{further("runs/none", "runs/new"), cmdline.CodeNoRun, "no such folder"},
		{further("damaged", "runs/new"), cmdline.CodeError, "damaged"},
		{further("released", "runs/new", "--set", "train.window=8"), cmdline.CodeMismatch, "train.window: 8 does not fit"},
		{further("runs/one", "runs/new", "--set", "train.size.hidden=32"), cmdline.CodeMismatch, "train.size.hidden: 32 does not fit the policy"},
		{tiny("runs/one", "--resume", "--from", "released"), cmdline.CodeMismatch, "the run began untrained, asked for policy released ("},
	} {
		s := command(t, c.args...)
		if s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q\n%s", c.args[:3], s.code, c.code, c.want, s.talk)
		}
	}
	s := must(t, tiny("runs/again", "--from", "runs/one")...)
	contains(t, s.talk, "warning: policy one was trained or chosen on jobs of the validation windows of embedded-small-v1")
}

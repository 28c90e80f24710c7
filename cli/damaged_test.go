package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// damage changes one byte of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	text := []byte(read(t, path))
	text[len(text)-5] ^= 4
	require.Do(t, os.WriteFile(path, text, 0o666))
}

// TestADamagedCheckpointIsToldOf checks that, if the newest checkpoint of a run is damaged, export needs a flag to use an older
// one, and all other commands warn.
func TestADamagedCheckpointIsToldOf(t *testing.T) {
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	damage(t, filepath.Join("runs", "one", "checkpoints", "step-000002", "tensors.safetensors"))
	why := []string{"runs/one", "checkpoint 2", "tensors.safetensors", "SHA-256", "the newest that can is 1"}

	s := command(t, "export", "--run", "runs/one")
	if s.code != cmdline.CodeError {
		t.Errorf("export: exit code %d, want %d", s.code, cmdline.CodeError)
	}
	contains(t, s.talk, append(why, "--allow-older exports checkpoint 1")...)
	if _, err := os.Stat("runs/one/policy"); !os.IsNotExist(err) {
		t.Errorf("export left a policy: %v", err)
	}
	s = must(t, "export", "--run", "runs/one", "--allow-older", "--quiet")
	contains(t, s.talk, append(why, "warning: ")...)
	contains(t, read(t, "runs/one/policy/manifest.json"), `"updates": 1`)

	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	for _, args := range [][]string{
		{"plan", "--snapshot", snapshot, "--policy", "runs/one"},
		{"eval", "-s", "embedded-small-v1", "--windows", "1", "--seeds", "1", "-p", "runs/one", "--figures", "none"},
		{"train", "--resume", "--dir", "runs/one"}, // repairs it
	} {
		if args[0] == "plan" {
			s := must(t, append(args, "--json")...)
			var line struct{ Warning string }
			if err := json.Unmarshal([]byte(s.talk), &line); err != nil {
				t.Errorf("plan --json: %v", err)
			}
			contains(t, line.Warning, why...)
		}
		s := must(t, args...)
		contains(t, s.talk, append(why, "warning: ")...)
		if n := strings.Count(s.talk, "warning: "); n != 1 {
			t.Errorf("%s: %d warnings\n%s", args[0], n, s.talk)
		}
	}
	if s := must(t, "export", "--run", "runs/one"); strings.Contains(s.talk, "warning") {
		t.Errorf("after the damage is mended: %s", s.talk)
	}
}

// TestAChangedJournalIsToldOf checks that a changed digit in the journal of an evaluation changes no result: the case is played
// again, with a warning.
func TestAChangedJournalIsToldOf(t *testing.T) {
	t.Chdir(t.TempDir())
	args := []string{"eval", "-s", "embedded-small-v1", "--windows", "2", "--seeds", "1", "-p", "fifo,srtf", "--figures", "none", "--out", "o"}
	first := must(t, args...)
	before := tree(t, "o")
	journal := before["journal.jsonl"]
	at := strings.Index(journal, `"mean_jct_s":`) + len(`"mean_jct_s":`)
	require.Do(t, os.WriteFile("o/journal.jsonl", []byte(journal[:at]+"9"+journal[at:]), 0o666))
	again := must(t, append(args, "--quiet")...)
	if again.out != first.out {
		t.Errorf("the results changed:\n%s\nwant\n%s", again.out, first.out)
	}
	contains(t, again.talk, "warning: ", "o/journal.jsonl:1: ", "played again")
	for name, text := range tree(t, "o") {
		if before[name] != text {
			t.Errorf("%s changed", name)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrintedCommandsRun checks that the commands that train prints run as printed: for a scenario of the user's own in a path
// with a blank, with changed settings, and after the run was resumed.
func TestPrintedCommandsRun(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("my own.yaml", []byte(must(t, "scenario", "describe", "embedded-small-v1").out), 0o666); err != nil {
		t.Fatal(err)
	}
	small := []string{"train", "--updates", "1", "--set", "train.label=0.01", "--set", "train.validation=1", "--set", "train.windows=1"}
	own := must(t, append(small, "--scenario", "my own.yaml", "--set", "scenario.seeds=[1]", "--dir", "runs/my own")...)
	runPrinted(t, own.out, "evaluate:", "--scenario 'my own.yaml' --set 'seeds=[1]'")
	runPrinted(t, own.out, "export:", "--run 'runs/my own'")
	if s := must(t, "train", "--resume", "--dir", "runs/my own"); strings.Contains(s.out, "evaluate:") {
		t.Errorf("the scenario's file is not known, and yet: %s", s.out)
	}
	must(t, append(small, "--scenario", "embedded-small-v1", "--dir", "runs/one")...)
	runPrinted(t, must(t, "train", "--resume", "--dir", "runs/one").out, "evaluate:", "--scenario embedded-small-v1 ")
}

// runPrinted runs a command that the program printed behind a label, and checks that it contains some text.
func runPrinted(t *testing.T, out, label, want string) {
	t.Helper()
	_, line, ok := strings.Cut(out, label)
	line, _, _ = strings.Cut(strings.TrimSpace(line), "\n")
	if !ok || !strings.HasPrefix(line, "clustergym ") || !strings.Contains(line, want) {
		t.Fatalf("no %q with %q in\n%s", label, want, out)
	}
	var words []string
	for i, part := range strings.Split(strings.TrimPrefix(line, "clustergym "), "'") {
		if i%2 == 1 { // within quotes
			words[len(words)-1] += part
			continue
		}
		if fields := strings.Fields(part); i > 0 && part != "" && part[0] != ' ' {
			words[len(words)-1] += fields[0]
			words = append(words, fields[1:]...)
		} else {
			words = append(words, fields...)
		}
		if strings.HasSuffix(part, " ") {
			words = append(words, "")
		}
	}
	must(t, words...)
}

func TestCalledAs(t *testing.T) {
	here, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(here)
	for arg, want := range map[string]string{
		"clustergym": "clustergym", "bin/clustergym": "bin/clustergym", "./clustergym": "./clustergym",
		filepath.Join(here, "bin", "clustergym"): "./bin/clustergym", "/usr/local/bin/clustergym": "/usr/local/bin/clustergym",
	} {
		if got := calledAs(arg); got != want {
			t.Errorf("%s: %s, want %s", arg, got, want)
		}
	}
}

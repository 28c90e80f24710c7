package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// contains fails the test if a text lacks one of the parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in %q", part, text)
		}
	}
}

// TestForecastsAreMeasured checks the measurement of forecasts on a small scenario: it repeats, and most of the few jobs
// start before their 90th percentile.
func TestForecastsAreMeasured(t *testing.T) {
	args := []string{"starts", "--scenario", "embedded-small-v1", "--policies", "fifo", "--windows", "4"}
	first := must(t, append(args, "--json")...).out
	if again := must(t, append(args, "--json")...).out; again != first {
		t.Errorf("first %s, then %s", first, again)
	}
	var out []checked
	if err := json.Unmarshal([]byte(first), &out); err != nil {
		t.Fatal(err)
	}
	if len(out) != 1 || out[0].Jobs < 50 || out[0].Within < 0.65 || out[0].Within > 0.98 || out[0].Near == 0 || out[0].Before >= out[0].Within {
		t.Errorf("%+v", out)
	}
	contains(t, must(t, args...).out, "before P90", "embedded-small-v1  fifo")
	s := command(t, "starts", "--scenario", "embedded-small-v1,embedded-small-untold-v1", "--policies", "las,srtf")
	if s.code != cmdline.CodeUsage || s.out != "" {
		t.Errorf("without estimates: exit code %d, %s", s.code, s.out)
	}
	contains(t, command(t, "starts", "--scenario", "embedded-small-v1", "--policies", "las,las=fifo").talk, `two policies have the name "las"`)
	contains(t, s.talk, "needed by srtf", "not told by embedded-small-untold-v1", "take srtf+know")
	// So many servers hold all jobs at once: none waits there, and nothing is measured.
	idle := filepath.Join(t.TempDir(), "idle.yaml")
	sc, err := scenario.Load("embedded-small-v1")
	if err != nil {
		t.Fatal(err)
	}
	sc.Name, sc.Cluster.Servers, sc.Workload.Load = "idle-v1", 100, 0.01
	var text bytes.Buffer
	if err := errors.Join(sc.Write(&text), os.WriteFile(idle, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	s = command(t, "starts", "--scenario", idle+",embedded-small-v1", "--policies", "fifo", "--windows", "1")
	if s.code == cmdline.CodeOK {
		t.Error("what fails is not told")
	}
	contains(t, s.out, "embedded-small-v1  fifo")
	contains(t, s.talk, "idle-v1: no job had to wait under fifo")
	if s := command(t, "starts", "--scenario", "embedded-small-v1", "--policies", "fifo", "--every", "0"); s.code != cmdline.CodeUsage {
		t.Errorf("exit code %d: %s", s.code, s.talk)
	}
}

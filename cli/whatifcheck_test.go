package cli

import (
	"encoding/json"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestForecastsAreMeasured checks the measurement of forecasts on a small scenario: it repeats, and most of the few jobs
// start before their 90th percentile.
func TestForecastsAreMeasured(t *testing.T) {
	args := []string{"whatif", "check", "--scenario", "embedded-small-v1", "--policies", "fifo", "--windows", "4"}
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
	s := command(t, "whatif", "check", "--scenario", "embedded-small-v1,embedded-small-untold-v1", "--policies", "las,srtf")
	if s.code != cmdline.CodeUsage || s.out != "" {
		t.Errorf("without estimates: exit code %d, %s", s.code, s.out)
	}
	contains(t, s.talk, "srtf needs an estimate", "embedded-small-untold-v1 tells none", "take srtf+know")
	// So many servers hold all jobs at once: none waits there, and nothing is measured.
	idle := file(t, "idle.yaml", must(t, "scenario", "describe", "embedded-small-v1", "--set", "name=idle-v1", "--set",
		"cluster.servers=100", "--set", "workload.load=0.01").out)
	s = command(t, "whatif", "check", "--scenario", idle+",embedded-small-v1", "--policies", "fifo", "--windows", "1")
	if s.code == cmdline.CodeOK {
		t.Error("what fails is not told")
	}
	contains(t, s.out, "embedded-small-v1  fifo")
	contains(t, s.talk, "idle-v1: no job had to wait under fifo")
	if s := command(t, "whatif", "check", "--scenario", "embedded-small-v1", "--policies", "fifo", "--every", "0"); s.code != cmdline.CodeUsage {
		t.Errorf("exit code %d: %s", s.code, s.talk)
	}
}

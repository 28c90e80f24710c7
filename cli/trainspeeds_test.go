package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestTrainSpeeds checks that the command fits a network which policies can use, and refuses what it cannot do.
func TestTrainSpeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	world := []string{"-s", "embedded-physics-untold-v1", "--set", "scenario.workload.jobs=600", "--set", "scenario.window.arrivals=50"}
	fit := append([]string{"train", "beliefs", "--what", "speeds", "--dir", "net", "--json", "--set", "speeds.clusters=1", "--set",
		"speeds.held=1", "--set", "speeds.windows=2", "--set", "speeds.epochs=1", "--set", "speeds.hidden=4"}, world...)
	s := must(t, fit...)
	var told believedSpeeds
	if err := json.Unmarshal([]byte(s.out), &told); err != nil || len(told.Scores) != 1 || told.Scores[0].Learned.Examples == 0 {
		t.Errorf("--json says\n%s, error %v", s.out, err)
	}
	again := must(t, "train", "beliefs", "--what", "speeds", "--resume", "--dir", "net")
	contains(t, again.out, "embedded-physics-untold-v1, ", "learned 0.", "speed=learned:speeds=net")
	must(t, append([]string{"eval", "--policies", "fjf,srsf+menu+know:seen=training:speed=learned:speeds=net", "--baseline",
		"fjf", "--out", "e", "--figures", "none", "--windows", "1"}, world...)...)
	s = command(t, "train", "beliefs", "--what", "speeds", "--dir", "none", "-s", "embedded-physics-v1")
	if s.code == 0 || !strings.Contains(s.talk, "as in embedded-physics-untold-v1") {
		t.Errorf("speeds of a scenario that tells them: exit code %d\n%s", s.code, s.talk)
	}
	for _, bad := range [][]string{{"--what", "colours"}, {"--what", "speeds"}} {
		if s := command(t, append([]string{"train", "beliefs", "--dir", "none"}, bad...)...); s.code != cmdline.CodeUsage {
			t.Errorf("%v: exit code %d\n%s", bad, s.code, s.talk)
		}
	}
}

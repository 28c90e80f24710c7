package cli

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
)

// TestTrainBeliefs checks that a run which is interrupted and resumed writes what one in one go writes, and that policies can
// use it.
func TestTrainBeliefs(t *testing.T) {
	t.Chdir(t.TempDir())
	tiny := func(dir string, more ...string) []string {
		return append([]string{"train", "beliefs", "--dir", dir, "-s", "embedded-small-v1", "--set", "scenario.workload.jobs=800",
			"--set", "scenario.window.arrivals=50", "--set", "beliefs.hidden=4", "--set", "beliefs.epochs=2"}, more...)
	}
	whole := must(t, tiny("whole")...)
	contains(t, whole.out, "embedded-small-v1, ", "history -", "learned -", "time=learned:from=whole")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := commandWith(ctx, "", tiny("parts")...); s.code != cmdline.CodeInterrupted {
		t.Fatalf("interrupted: exit code %d\n%s", s.code, s.talk)
	}
	if s := command(t, tiny("parts", "--resume", "--seed", "7")...); s.code != cmdline.CodeMismatch {
		t.Errorf("resumed with another seed: exit code %d\n%s", s.code, s.talk)
	}
	s := must(t, "train", "beliefs", "--resume", "--dir", "parts", "--json")
	var told believed
	if err := json.Unmarshal([]byte(s.out), &told); err != nil || len(told.Scores) != 1 || told.Scores[0].Learned.Jobs == 0 {
		t.Errorf("--json says\n%s, error %v", s.out, err)
	}
	if !maps.Equal(tree(t, "whole"), tree(t, "parts")) {
		t.Error("the resumed run wrote other files")
	}
	const learned = "sjfskip+know:time=learned:from=whole"
	play := append([]string{"eval", "--policies", "fjf,mine=" + learned, "--out", "e", "--figures", "none"}, smallScenario...)
	must(t, append([]string{"eval", "--policies", "fjf,sjfskip+know:seen=training:time=learned:from=whole", "--out", "e",
		"--figures", "none"}, smallScenario...)...)
	measure := append([]string{"headroom", "--rivals", "fjf," + learned, "--menu-rivals", "", "--look-ahead", "", "--effort", "0",
		"--windows", "1"}, smallScenario...)
	for _, split := range []string{"train", "validation"} {
		for _, args := range [][]string{play, measure} {
			seen := append(slices.Clone(args), "--split", split)
			s := command(t, seen...)
			if s.code != cmdline.CodeMismatch || !strings.Contains(s.talk, "was trained or chosen on jobs of "+split) {
				t.Errorf("%s on the %s windows that the network was fitted on: exit code %d\n%s", args[0], split, s.code, s.talk)
			}
			if split == "validation" {
				must(t, append(seen, "--allow-overlap")...)
			}
		}
	}
	contains(t, read(t, "e/report.html"), "What mine was trained and chosen on was ")
	if err := os.Remove("whole/run.yaml"); err != nil {
		t.Fatal(err)
	}
	contains(t, must(t, play...).talk, "policy mine does not say which jobs it was trained on")
	if s := command(t, "train", "beliefs", "--dir", "none"); s.code != cmdline.CodeUsage {
		t.Errorf("no scenario: exit code %d\n%s", s.code, s.talk)
	}
	if s := command(t, "train", "beliefs", "--resume", "--dir", "none"); s.code != cmdline.CodeNoRun {
		t.Errorf("no run: exit code %d\n%s", s.code, s.talk)
	}
}

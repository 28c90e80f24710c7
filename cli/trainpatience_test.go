package cli

import "testing"

// TestTrainEndsEarly checks that train says that a run ended early, exits with 0, and that resuming changes nothing.
func TestTrainEndsEarly(t *testing.T) {
	t.Chdir(t.TempDir())
	slow := []string{"--updates", "4", "--set", "train.rate=1e-9", "--set", "train.patience=1"}
	contains(t, must(t, tiny("runs/early", slow...)...).out, "runs/early: 1 of 4 updates", "; ended early, see train.patience\n")
	before := tree(t, "runs/early")
	contains(t, must(t, "train", "--resume", "--dir", "runs/early").out, "1 of 4 updates", "ended early")
	for name, text := range tree(t, "runs/early") {
		if before[name] != text {
			t.Errorf("resuming changed %s", name)
		}
	}
}

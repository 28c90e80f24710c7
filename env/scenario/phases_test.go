package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestPhasesOfAScenario(t *testing.T) {
	plain := builtinSource(t, "embedded-small-v1")
	phased := builtinSource(t, "embedded-small-v1", "phases.every=10m")
	a, b := episode(t, phased, Test, 0, 1), episode(t, phased, Test, 1, 2)
	if f := a.Config.Phases; f.Every != 10*time.Minute || f.Slowest != 0.4 || f != b.Config.Phases {
		t.Errorf("phases %+v and %+v, want 10m, 0.4 and one seed for all windows", f, b.Config.Phases)
	}
	if digestOf(t, plain) == digestOf(t, phased) {
		t.Error("phases do not change the digest")
	}
	for _, bad := range []string{"every=1ms", "every=-1s"} {
		if _, err := Load("embedded-small-v1", "phases."+bad); err == nil || !strings.Contains(err.Error(), "phases.every") {
			t.Errorf("phases.%s: error %v, want one about phases.every", bad, err)
		}
	}
}

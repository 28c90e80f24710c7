package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

func TestReadingsFollowSeedAndWindowAlone(t *testing.T) {
	const interval = "readings.interval=5m"
	none := builtinSource(t, "embedded-physics-v1", "window.warm=50")
	some := builtinSource(t, "embedded-physics-v1", "window.warm=50", interval)
	a, b := episode(t, none, Test, 1, 5), episode(t, some, Test, 1, 5)
	other, window := episode(t, some, Test, 1, 6), episode(t, some, Test, 2, 5)
	got := b.Config.Readings
	if got.Interval != 5*time.Minute || got.Noise != 0.05 || got == other.Config.Readings || got == window.Config.Readings {
		t.Errorf("%+v, with another seed %+v, in another window %+v: want 5m, 0.05 and three seeds", got, other.Config.Readings,
			window.Config.Readings)
	}
	if again := episode(t, some, Test, 1, 5); bytesOf(&again) != bytesOf(&b) {
		t.Error("the same case came out otherwise")
	}
	if a.Config.Readings != (sim.Readings{}) {
		t.Errorf("by default %+v, want none", a.Config.Readings)
	}
	b.Config.Readings = sim.Readings{}
	if bytesOf(&a) != bytesOf(&b) {
		t.Error("readings changed more than readings")
	}
	if d := digestOf(t, none); d == digestOf(t, some) {
		t.Errorf("with and without readings the digest is %s", d)
	}
	zero := builtinSource(t, "embedded-physics-v1", "window.warm=50", "readings.interval=0s")
	if digestOf(t, zero) != digestOf(t, none) {
		t.Error("an interval of 0 is another scenario, want the same")
	}
	for _, bad := range []string{"interval=-1s", "interval=1ms"} {
		if _, err := Load("embedded-physics-v1", "readings."+bad); err == nil || !strings.Contains(err.Error(), "readings.interval") {
			t.Errorf("readings.%s: error %v, want one about readings.interval", bad, err)
		}
	}
}

// TestWarmWindowsBeginWithReadings checks that jobs that already run when a window begins have been measured if they have run for
// long enough and schedulers know that.
func TestWarmWindowsBeginWithReadings(t *testing.T) {
	for _, c := range []struct {
		set  string
		want bool
	}{{"estimates.kind=none", true}, {"estimates.kind=oracle", false}, {"readings.interval=90000h", false}} {
		src := builtinSource(t, "embedded-small-untold-v1", "window.warm=100", c.set)
		e := episode(t, src, Test, 0, 1)
		began := must.Get(e.New())(t)
		measured := 0
		for _, r := range e.Running {
			all := began.State().Readings(r.Job)
			measured += len(all)
			if old := e.Jobs[r.Job].Ran >= e.Config.Readings.Interval; c.want && old != (len(all) == 1) {
				t.Errorf("%s: %d readings of a job that has run for %v", c.set, len(all), e.Jobs[r.Job].Ran)
			}
		}
		if (measured > 0) != c.want || len(e.Running) == 0 {
			t.Errorf("%s: %d readings of %d running jobs", c.set, measured, len(e.Running))
		}
	}
}

package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// TestNoiseFollowsSeedAndWindowAlone checks of readings and of errors of profiles that their seeds follow from the episode's seed and
// its window, that they change nothing else, and that a scenario with neither is the one without these keys.
func TestNoiseFollowsSeedAndWindowAlone(t *testing.T) {
	readings := func(cfg *sim.Config) (any, any) {
		got := cfg.Readings
		cfg.Readings = sim.Readings{}
		return got, sim.Readings{Interval: got.Interval, Noise: got.Noise}
	}
	errors := func(cfg *sim.Config) (any, any) {
		got := cfg.Misprofile
		cfg.Misprofile = physics.Misprofile{}
		return got, physics.Misprofile{Within: got.Within}
	}
	for _, c := range []struct {
		key, set, zero string
		bad            []string
		take           func(*sim.Config) (all, seedless any) // and resets it
		want           any
	}{
		{"readings.interval", "5m", "0s", []string{"-1s", "1ms"}, readings, sim.Readings{Interval: 5 * time.Minute, Noise: 0.05}},
		{"profile_error", "0.3", "0", []string{"-0.1", "11", ".nan"}, errors, physics.Misprofile{Within: 0.3}},
	} {
		open := func(sets ...string) *Source {
			return builtinSource(t, "embedded-physics-v1", append(sets, "window.warm=50")...)
		}
		none, some, zero := open(), open(c.key+"="+c.set), open(c.key+"="+c.zero)
		a, b, again := episode(t, none, Test, 1, 5), episode(t, some, Test, 1, 5), episode(t, some, Test, 1, 5)
		if bytesOf(&again) != bytesOf(&b) {
			t.Errorf("%s: the same case came out otherwise", c.key)
		}
		other, window := episode(t, some, Test, 1, 6), episode(t, some, Test, 2, 5)
		got, seedless := c.take(&b.Config)
		seeded, _ := c.take(&other.Config)
		elsewhere, _ := c.take(&window.Config)
		if seedless != c.want || got == seeded || got == elsewhere {
			t.Errorf("%s: %+v, with another seed %+v, in another window %+v: want %+v and three seeds", c.key, got, seeded, elsewhere, c.want)
		}
		if bytesOf(&a) != bytesOf(&b) {
			t.Errorf("%s changed more than it says", c.key)
		}
		if d := digestOf(t, none); d == digestOf(t, some) || d != digestOf(t, zero) {
			t.Errorf("%s: want another digest, and with %s the same", c.key, c.zero)
		}
		for _, bad := range c.bad {
			if _, err := Load("embedded-physics-v1", c.key+"="+bad); err == nil || !strings.Contains(err.Error(), c.key) {
				t.Errorf("%s=%s: error %v, want one about the key", c.key, bad, err)
			}
		}
	}
}

func digestOf(t *testing.T, s *Source) string {
	t.Helper()
	return must.Get(s.Digest())(t)
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

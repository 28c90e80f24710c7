package scenario

import (
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

func TestErrorsOfProfilesFollowSeedAndWindowAlone(t *testing.T) {
	right := builtinSource(t, "embedded-physics-v1", "window.warm=50")
	wrong := builtinSource(t, "embedded-physics-v1", "window.warm=50", "profile_error=0.3")
	a, b := episode(t, right, Test, 1, 5), episode(t, wrong, Test, 1, 5)
	other, window := episode(t, wrong, Test, 1, 6), episode(t, wrong, Test, 2, 5)
	off := b.Config.Misprofile
	if off.Within != 0.3 || off == other.Config.Misprofile || off == window.Config.Misprofile {
		t.Errorf("%+v, with another seed %+v, in another window %+v: want 0.3 and three seeds",
			off, other.Config.Misprofile, window.Config.Misprofile)
	}
	if again := episode(t, wrong, Test, 1, 5); bytesOf(&again) != bytesOf(&b) {
		t.Error("the same case came out otherwise")
	}
	b.Config.Misprofile = a.Config.Misprofile
	if bytesOf(&a) != bytesOf(&b) {
		t.Error("the error of profiles changed more than profiles")
	}
	if d := digestOf(t, right); d == digestOf(t, wrong) {
		t.Errorf("with and without an error of profiles the digest is %s", d)
	}
	zero := builtinSource(t, "embedded-physics-v1", "window.warm=50", "profile_error=0")
	if digestOf(t, zero) != digestOf(t, right) {
		t.Error("an error of 0 is another scenario, want the same")
	}
	for _, bad := range []string{"-0.1", "11", ".nan"} {
		if _, err := Load("embedded-physics-v1", "profile_error="+bad); err == nil || !strings.Contains(err.Error(), "profile_error") {
			t.Errorf("profile_error %s: %v, want an error that names it", bad, err)
		}
	}
}

func digestOf(t *testing.T, s *Source) string {
	t.Helper()
	return must.Get(s.Digest())(t)
}

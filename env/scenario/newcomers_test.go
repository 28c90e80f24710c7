package scenario

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/names"
)

// TestNewcomers checks that no user, tenant or group of a split occurs in another one, and that nothing else changes.
func TestNewcomers(t *testing.T) {
	sets := []string{"workload.mix.recurring=0.7", "workload.jobs=1500", "window.arrivals=50", "window.warm=20"}
	old := builtinSource(t, "embedded-small-v1", sets...)
	src := builtinSource(t, "embedded-small-v1", append(sets, "workload.newcomers=true")...)
	in := map[string]Split{}
	shared := 0
	for _, split := range splits() {
		users := map[string]bool{}
		for i := range src.Count(split) {
			was, is := episode(t, old, split, i, 1), episode(t, src, split, i, 1)
			for k := range is.Jobs {
				a, b := &was.Jobs[k], &is.Jobs[k]
				for _, name := range []string{"user " + b.User, "group " + b.Group} {
					if other, known := in[name]; name != "group " && known && other != split {
						t.Fatalf("%s is in %s and in %s", name, other, split)
					}
					in[name] = split
				}
				users[a.User] = true
				if _, known := in["user "+a.User]; split != Train && known {
					shared++
				}
				b.User, b.Tenant, b.Group = a.User, a.Tenant, a.Group
			}
			if !reflect.DeepEqual(was.Jobs, is.Jobs) || !reflect.DeepEqual(was.Running, is.Running) {
				t.Errorf("%s %d: more than names change", split, i)
			}
		}
		if len(users) < 2 {
			t.Errorf("%s has %d users", split, len(users))
		}
	}
	if shared == 0 {
		t.Error("no user would have come again")
	}
}

// TestNamesOfNewcomers checks that long names stay valid.
func TestNamesOfNewcomers(t *testing.T) {
	long := strings.Repeat("ä", 128)
	for name, want := range map[string]string{"": "", "ada": "ada@test", long: strings.Repeat("ä", 125) + "@test"} {
		if got := at(name, Test); got != want || !names.OK(got) {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
	_, err := Load("quotas-philly-v1", "workload.newcomers=true")
	if err == nil || !strings.Contains(err.Error(), "workload.newcomers beside") {
		t.Errorf("newcomers with quotas: error %v", err)
	}
}

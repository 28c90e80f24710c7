package scenario

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/must"
)

// TestVary checks that vary replaces all models by variants and changes nothing else about the jobs, and that the built-in scenario
// with variants is hetero-warm-venus-v1 in all else.
func TestVary(t *testing.T) {
	sets := []string{"workload.jobs=600", "window.arrivals=50"}
	old := episode(t, builtinSource(t, "embedded-physics-v1", sets...), Test, 0, 1)
	for _, within := range []string{"0.5", "0.2"} {
		is := episode(t, builtinSource(t, "embedded-physics-v1", append(sets, "workload.vary.within="+within)...), Test, 0, 1)
		for i := range is.Jobs {
			was, j := &old.Jobs[i], &is.Jobs[i]
			if want := was.Model + "~" + within + "~3"; j.Model != want || profile.Lookup(want) == nil {
				t.Fatalf("job %d trains %q, want %q", i, j.Model, want)
			}
			j.Model = was.Model
		}
		if !reflect.DeepEqual(is.Jobs, old.Jobs) {
			t.Error("more than models change")
		}
	}
	varied := must.Get(Load("varied-venus-v1"))(t)
	like := must.Get(Load("hetero-warm-venus-v1"))(t)
	if varied.Workload.Vary != (Vary{0.5}) {
		t.Errorf("vary is %+v", varied.Workload.Vary)
	}
	varied.Workload.Vary = Vary{}
	varied.Name, varied.About, varied.Real, varied.Assumed = like.Name, like.About, like.Real, like.Assumed
	if !reflect.DeepEqual(varied, like) {
		t.Errorf("it is\n%+v, want\n%+v", varied, like)
	}
	for _, set := range []string{"workload.vary.within=2", "workload.vary.within=-1"} {
		if _, err := Load("embedded-physics-v1", set); err == nil || !strings.Contains(err.Error(), "workload.vary.within") {
			t.Errorf("%s: error %v", set, err)
		}
	}
}

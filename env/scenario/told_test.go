package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// untoldName returns the name of the scenario that differs from a built-in one in what is told.
func untoldName(name string) string { return strings.TrimSuffix(name, "-v1") + untold }

// TestEveryBuiltInScenarioHasAnUntoldOne checks that each differs from the scenario that it comes from only in what is told.
func TestEveryBuiltInScenarioHasAnUntoldOne(t *testing.T) {
	for _, name := range All() {
		full := must.Get(Load(name))(t)
		s := must.Get(Load(untoldName(name)))(t)
		if s.Name != untoldName(name) || s.Told != (Told{Speeds: Nothing, Models: Nothing, Groups: FromTrace}) ||
			s.Estimates.Kind != trace.None || s.Readings != (Readings{5 * time.Minute}) {
			t.Errorf("%s: %+v, %+v, %+v", s.Name, s.Told, s.Estimates, s.Readings)
		}
		s.Name, s.About, s.Told, s.Estimates, s.Readings = full.Name, full.About, full.Told, full.Estimates, full.Readings
		var texts [2]strings.Builder
		for i, each := range []*Scenario{full, s} {
			must.Do(t, each.Write(&texts[i]))
		}
		if texts[0].String() != texts[1].String() {
			t.Errorf("%s differs in more than what is told", untoldName(name))
		}
	}
	for _, none := range []string{"nowhere-untold-v1", "embedded-small-untold-untold-v1"} {
		if _, err := Load(none); err == nil {
			t.Errorf("%s is there", none)
		}
	}
	if s, err := Load(untoldName("embedded-small-v1"), "told.models=truth", "told.groups=truth"); err != nil ||
		s.Told != (Told{Speeds: Nothing}) {
		t.Errorf("%+v, %v: want other settings to count", s, err)
	}
}

func TestUnknownTellingsAreRefused(t *testing.T) {
	for _, bad := range []string{"speeds=domain", "models=trace", "groups=domain", "groups=all", "speeds=truthful", "models=domain"} {
		key, _, _ := strings.Cut(bad, "=")
		if _, err := Load("embedded-small-v1", "told."+bad); err == nil || !strings.Contains(err.Error(), "told."+key) {
			t.Errorf("told.%s: error %v, want one about told.%s", bad, err, key)
		}
	}
}

// TestUntoldEpisodes checks that an episode that tells nothing has the jobs, works and placements of one that tells everything,
// and that its simulator shows schedulers neither models nor made-up groups.
func TestUntoldEpisodes(t *testing.T) {
	const warm, recurring = "window.warm=60", "workload.mix.recurring=1"
	full := builtinSource(t, "embedded-physics-v1", warm, recurring)
	hidden := builtinSource(t, untoldName("embedded-physics-v1"), warm, recurring)
	a, b := episode(t, full, Test, 0, 1), episode(t, hidden, Test, 0, 1)
	if len(a.Jobs) != len(b.Jobs) || len(a.Running) != len(b.Running) || len(a.Running) == 0 {
		t.Fatalf("%d jobs and %d running ones, want %d and %d", len(b.Jobs), len(b.Running), len(a.Jobs), len(a.Running))
	}
	slower, groups := 0, 0
	for i := range a.Jobs {
		x, y := &a.Jobs[i], &b.Jobs[i]
		if x.Name != y.Name || x.Work != y.Work || x.Model != y.Model || y.Estimate != 0 || y.Group != "" {
			t.Fatalf("%+v, want %+v without estimate and group", y, x)
		}
		if x.Group != "" {
			groups++
		}
		if y.Ran > 0 {
			slower++
		}
	}
	if slower == 0 || groups == 0 {
		t.Errorf("%d jobs with an age and %d of a group, want some", slower, groups)
	}
	s := must.Get(b.New())(t)
	tx, _ := s.Next()
	for _, id := range tx.View().Running() {
		if spec := tx.View().Spec(id); spec.Model != "" || spec.Trains() != b.Jobs[id].Model || tx.View().PlannedRate(id) != 1 {
			t.Errorf("job %d shows the model %q and the rate %v, and trains %q", id, spec.Model, tx.View().PlannedRate(id), spec.Trains())
		}
	}
	jobs, err := builtinSource(t, "embedded-physics-v1", "told.models=domain", "told.speeds=nothing", "window.train=[0, 0.5]", "window.test=[0.5, 1]",
		"window.validation=[]").Jobs(Train, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range jobs {
		if m := jobs[i].Model; m == "" || profile.Lookup(m) != nil {
			t.Fatalf("a job of the training split has the model %q, want what it is for", m)
		}
	}
}

// TestHiddenNamesDifferFromTrueOnes checks that no name that schedulers are told is one of which they could look up the speed.
func TestHiddenNamesDifferFromTrueOnes(t *testing.T) {
	told := map[string]string{}
	for _, name := range profile.Names() {
		for _, h := range []sim.Hidden{{Speeds: true}, {Speeds: true, Models: sim.Domain}, {Speeds: true, Models: sim.NoName}} {
			spec := cluster.JobSpec{Model: name}
			h.Hide(&spec)
			if profile.Lookup(spec.Model) != nil || spec.Trains() != name {
				t.Errorf("%+v calls %s %q, which trains %s", h, name, spec.Model, spec.Trains())
			}
			if other := told[spec.Model]; h.Models == sim.FullName && other != "" {
				t.Errorf("%s and %s are both called %s", name, other, spec.Model)
			} else if h.Models == sim.FullName {
				told[spec.Model] = name
			}
		}
	}
}

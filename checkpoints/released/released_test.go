package released_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/internal/must"
)

// TestReleasedPolicyLoads checks that the policy in the program is complete, made for this version, and lists the jobs that it
// was trained on.
func TestReleasedPolicyLoads(t *testing.T) {
	p, m, err := agents.LoadFS(released.FS())
	must.Do(t, err)
	if p.Name != released.Name {
		t.Errorf("its name is %q, want %q: export it with --name %s", p.Name, released.Name, released.Name)
	}
	if p.Range == nil || len(m.Training.Seen) == 0 || m.Training.Scenario == "" || m.Training.Validation == 0 {
		t.Errorf("range of %d numbers, training %+v: want all of it", len(p.Range), m.Training)
	}
}

// TestCardNamesScenariosAndPeriods checks that the model card in the program belongs to the policy.
func TestCardNamesScenariosAndPeriods(t *testing.T) {
	p, m, err := agents.LoadFS(released.FS())
	must.Do(t, err)
	text := must.Get(fs.ReadFile(released.FS(), "README.md"))(t)
	want := []string{"# Policy " + released.Name, "`" + p.Prior + "`"}
	for s := range strings.SplitSeq(m.Training.Scenario, ",") {
		want = append(want, "`"+s+"`")
	}
	for _, s := range m.Training.Seen {
		want = append(want, "`"+s.Trace+"`")
	}
	for _, part := range want {
		if !strings.Contains(string(text), part) {
			t.Errorf("the card has no %q", part)
		}
	}
}

// TestReleasedPolicyDecides checks that the policy plays a window of a small scenario to its end.
func TestReleasedPolicyDecides(t *testing.T) {
	p, _, err := agents.LoadFS(released.FS())
	must.Do(t, err)
	e := scenariotest.Episode(t, "embedded-small-v1", "window.arrivals=60")
	log := simtest.Play(t, &e.Episode, agents.NewTeam(p), 1)
	finished := 0
	for _, r := range log.Records {
		if r.Kind == sim.Finish {
			finished++
		}
	}
	if finished != len(e.Jobs) || finished < 60 {
		t.Errorf("%d of %d jobs finished", finished, len(e.Jobs))
	}
}

package agents_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/rng"
)

// TestTeamsThatSeeCosts checks that a team which sees what jobs cost is read back from its bundle as one, needs an objective, and
// asks to decide when a limit of the one that it is given passes, but a team that sees no costs does not.
func TestTeamsThatSeeCosts(t *testing.T) {
	d := agents.Design{Name: "t", Window: 4, Prior: "fifo", Costs: true, Size: agents.DefaultSize()}
	p := must.Get(d.Make(func(s agents.Shape) (agents.Params, error) { return agents.Init(s, rng.Stream(1, "t")), nil }))(t)
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "today", checkpoints.Provenance{}, nil))
	q, _, err := agents.Load(dir)
	must.Do(t, err)
	if !q.Costs || !q.Needs().Objective || q.Digest() != p.Digest() {
		t.Fatalf("read back: costs %t, needs %+v", q.Costs, q.Needs())
	}
	other := *q
	if other.Costs = false; other.Digest() == q.Digest() || other.Needs().Objective {
		t.Error("the digest or the needs do not tell that it sees costs")
	}
	limit := must.Get(objectives.Read(strings.NewReader("name: m\nterms: [{cost: wait, over: 10m, price: 1/min}]")))(t)
	blind := newPolicy(t, 1, "fifo")
	for _, c := range []struct {
		name  string
		team  agents.Policy
		given *objectives.Objective
		want  time.Duration // 0: it does not ask
	}{{"given", *q, limit, 10 * time.Minute}, {"not given", *q, nil, 0}, {"blind", *blind, limit, 0}} {
		c.team.Given.Objective = c.given
		s := must.Get(cluster.NewState(cluster.Uniform(1, 1), 1))(t)
		s.Submit(0, &cluster.JobSpec{
			Name: "a", Workers: 2, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}, Estimate: time.Hour,
		})
		team := agents.NewTeam(&c.team)
		must.Do(t, team.Reset(1))
		tx := s.Begin(s.Introduce())
		must.Do(t, team.Schedule(tx))
		if at, asked := tx.Wake(); asked != (c.want > 0) || asked && at != c.want {
			t.Errorf("%s: asks to decide at %v (%t), want %v", c.name, at, asked, c.want)
		}
	}
}

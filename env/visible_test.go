package env_test

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/game"
)

// racks configures three servers in one rack, two in another, and one without a rack.
func racks(c *env.Config) {
	c.Sim.Cluster = cluster.Uniform(6, 2)
	for i, rack := range []int32{1, 1, 1, 2, 2, 0} {
		c.Sim.Cluster.Servers[i].Rack = rack
	}
}

func TestWhoIsNear(t *testing.T) {
	s, err := cluster.NewState(func() cluster.Spec { var c env.Config; racks(&c); return c.Sim.Cluster }(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		near env.Near
		want []string
	}{
		"rack": {env.SameRack, []string{"111000", "111000", "111000", "000110", "000110", "000000"}},
		"0":    {env.Within(0), []string{"100000", "010000", "001000", "000100", "000010", "000001"}},
		"2":    {env.Within(2), []string{"111000", "111100", "111110", "011111", "001111", "000111"}},
	} {
		for i := range c.want {
			got := ""
			for j := range c.want {
				got += map[bool]string{true: "1", false: "0"}[c.near(&s.View, cluster.ServerID(i), cluster.ServerID(j))]
			}
			if got != c.want[i] {
				t.Errorf("%s: server %d sees %s, want %s", name, i, got, c.want[i])
			}
		}
	}
}

// TestViews checks that an agent sees all that it may see and nothing else.
func TestViews(t *testing.T) {
	v := env.NewVisible(small(t, racks), env.SameRack)
	spec := v.Spec()
	var view env.AgentView
	hidden, seen := 0, 0
	row := func(all []float32, k, width int) []float32 { return all[k*width : (k+1)*width] }
	same := func(t *testing.T, what string, k int, got, want []float32, visible bool) {
		if !visible {
			hidden++
			want = make([]float32, len(want))
		} else {
			seen++
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s %d, to be seen %v, is %v, want %v", what, k, visible, got, want)
		}
	}
	salt := 0
	play(t, v, 1, func(ts *env.TimeStep, joint []game.Action) {
		for agent := range spec.Agents {
			v.View(ts, agent, &view)
			for i := range spec.Agents {
				near := v.Sees(ts, agent, i)
				if near != view.Seen[i] || near != (i == agent || env.SameRack(ts.Cluster, cluster.ServerID(agent), cluster.ServerID(i))) {
					t.Fatalf("agent %d sees %v", agent, view.Seen)
				}
				same(t, "server", i, row(view.Servers, i, len(spec.Server)), row(ts.Servers, i, len(spec.Server)), near)
			}
			if !slices.Equal(view.Self, ts.Server(agent)) || !slices.Equal(view.Global, ts.Global) || !slices.Equal(view.Mask, ts.Legal(agent)) {
				t.Fatalf("agent %d sees itself as %v, want %v", agent, view.Self, ts.Server(agent))
			}
			for n := range spec.Candidates {
				mine := slices.ContainsFunc(ts.Members(game.Action(n)), func(m game.Share) bool { return int(m.Server) == agent })
				same(t, "candidate", n, row(view.Candidates, n, len(spec.Candidate)), row(ts.Candidates, n, len(spec.Candidate)), mine)
				for _, m := range ts.Members(game.Action(n)) {
					if slices.Contains(view.Coalition, m) != mine {
						t.Fatalf("agent %d sees coalitions %v", agent, view.Coalition)
					}
				}
			}
			for k, id := range ts.Ids {
				visible := ts.Cluster.Phase(id) == cluster.Pending
				for _, p := range ts.Cluster.Placement(id) {
					visible = visible || view.Seen[p.Server]
				}
				for n := range ts.List {
					visible = visible || ts.List[n].Job == id && ts.Legal(agent)[n+1]
				}
				same(t, "job", k, row(view.Jobs, k, len(spec.Job)), row(ts.Jobs, k, len(spec.Job)), visible)
			}
		}
		salt++
		act(ts, salt, joint)
	})
	if hidden < 100 || seen < 100 {
		t.Errorf("the test has seen %d rows that are hidden and %d that are not", hidden, seen)
	}
}

func TestViewAllocatesNothing(t *testing.T) {
	v := env.NewVisible(small(t, racks), env.Within(1))
	var ts env.TimeStep
	var view env.AgentView
	if err := v.Reset(1, &ts); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() {
		for i := range ts.Spec().Agents {
			v.View(&ts, i, &view)
		}
	}); n != 0 {
		t.Errorf("%v allocations for the views of all agents", n)
	}
}

package decide_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

func TestABundleIsReloaded(t *testing.T) {
	var mu sync.Mutex
	current, stamp, fail := decidetest.Baseline("fifo"), "1", error(nil)
	set := func(p *policy.Policy, at string, err error) {
		mu.Lock()
		defer mu.Unlock()
		current, stamp, fail = p, at, err
	}
	s := newSite(t, nil, func(c *decide.Config) {
		c.Source = policy.Source{
			Load:  func() (*policy.Policy, error) { mu.Lock(); defer mu.Unlock(); return current, fail },
			Stamp: func() (string, error) { mu.Lock(); defer mu.Unlock(); return stamp, nil },
		}
	})
	decides := func(want string) {
		t.Helper()
		s.Reload(false)
		if got := s.decide(t).Policy; got != want {
			t.Errorf("%s decides, want %s", got, want)
		}
	}
	set(decidetest.Baseline("sjfskip"), "1", nil)
	decides("fifo") // the stamp has not changed
	set(decidetest.Baseline("sjfskip"), "2", nil)
	decides("sjfskip")
	set(nil, "3", errors.New("checksum does not match"))
	decides("sjfskip")
	decides("sjfskip")
	contains(t, s.metrics(t), `clustergym_reloads_total{result="ok"} 1`, `clustergym_reloads_total{result="refused"} 1`)
	contains(t, s.log.String(), "checksum does not match", "the old one goes on")
	set(decidetest.Baseline("las"), "3", nil)
	s.Reload(true)
	decides("las")
}

// TestADecisionKeepsItsPolicy checks that a decision ends with the policy that it began with.
func TestADecisionKeepsItsPolicy(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	first := decidetest.Script(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).Policy()
	stamp, current := "1", first
	s := newSite(t, nil, func(c *decide.Config) {
		c.Source = policy.Source{
			Load: func() (*policy.Policy, error) { return current, nil }, Stamp: func() (string, error) { return stamp, nil },
		}
	})
	got, state := make(chan *decide.Result, 1), read(t)
	go func() {
		out, err := s.Decide(t.Context(), &state.View, "", true)
		if err != nil {
			t.Error(err)
		}
		got <- out
	}()
	<-in
	stamp, current = "2", decidetest.Baseline("fifo")
	s.Reload(false)
	if a := s.decide(t); a.Decision.Policy != "fifo" {
		t.Errorf("a decision after the reload: %+v", a.Decision)
	}
	close(hold)
	if out := <-got; out == nil || out.Answer.Policy != "scripted" || out.Answer.Decision.Policy != "scripted" {
		t.Errorf("the decision that had begun: %+v", out)
	}
}

// TestTeamsDecideSideBySide checks concurrent decisions of teams that share a policy and its physics.
func TestTeamsDecideSideBySide(t *testing.T) {
	team, _, err := agents.LoadFS(released.FS())
	must.Do(t, err)
	model := must.Get(physics.Parse("gpu-type*cpu-mem*network(300,25,100)*diminishing(0.1)"))(t)
	from := &policy.Policy{Name: "prior", New: func() (cluster.Scheduler, error) { return agents.NewPrior(&team.Setting), nil }}
	p := &policy.Policy{
		Name: "team", Prior: from, New: func() (cluster.Scheduler, error) { return agents.NewTeam(team), nil },
	}
	s := newSite(t, p, func(c *decide.Config) { c.Parallel = 8 })
	decided := func() *decide.Answer {
		state := read(t)
		state.SetProfile(physics.Profiled(model))
		out, err := s.Decide(t.Context(), &state.View, "", true)
		if err != nil {
			t.Error(err)
			return new(decide.Answer)
		}
		return out.Answer
	}
	want := decided()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got := decided()
			if !reflect.DeepEqual(want.Plan, got.Plan) || got.Decision.By != decide.ByPolicy || !got.Decision.Beside {
				t.Errorf("%+v of %+v, want %+v", got.Plan, got.Decision, want.Plan)
			}
		})
	}
	group.Wait()
}

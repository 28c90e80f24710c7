package serve_test

import (
	"errors"
	"net/http"
	"reflect"
	"sync"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/serve"
)

func TestABundleIsReloaded(t *testing.T) {
	var mu sync.Mutex
	current, stamp, fail := baseline("fifo"), "1", error(nil)
	set := func(p *serve.Policy, at string, err error) {
		mu.Lock()
		defer mu.Unlock()
		current, stamp, fail = p, at, err
	}
	s := newSite(t, nil, func(c *serve.Config) {
		c.Source = serve.Source{
			Load:  func() (*serve.Policy, error) { mu.Lock(); defer mu.Unlock(); return current, fail },
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
	set(baseline("sjfskip"), "1", nil)
	decides("fifo") // the stamp is as it was
	set(baseline("sjfskip"), "2", nil)
	decides("sjfskip")
	set(nil, "3", errors.New("checksum does not match"))
	decides("sjfskip")
	decides("sjfskip")
	contains(t, s.metrics(t), `clustergym_reloads_total{result="ok"} 1`, `clustergym_reloads_total{result="refused"} 1`)
	contains(t, s.log.String(), "checksum does not match", "the old one goes on")
	set(baseline("las"), "3", nil)
	s.Reload(true)
	decides("las")
}

// A request keeps the policy that it began with.
func TestARequestKeepsItsPolicy(t *testing.T) {
	hold, in := make(chan struct{}), make(chan struct{}, 1)
	first := scripted(func(*cluster.Txn) error { in <- struct{}{}; <-hold; return nil }).policy()
	stamp, current := "1", first
	s := newSite(t, nil, func(c *serve.Config) {
		c.Source = serve.Source{
			Load: func() (*serve.Policy, error) { return current, nil }, Stamp: func() (string, error) { return stamp, nil },
		}
	})
	got := make(chan string, 1)
	go func() {
		_, text := s.ask(t, http.MethodPost, "/v1/plan", snapshot)
		got <- text
	}()
	<-in
	stamp, current = "2", baseline("fifo")
	s.Reload(false)
	if a := s.decide(t); a.Decision.Policy != "fifo" {
		t.Errorf("a request after the reload: %+v", a.Decision)
	}
	close(hold)
	contains(t, <-got, `"policy": "scripted"`)
}

// Teams share one policy, and its physics.
func TestTeamsDecideSideBySide(t *testing.T) {
	team, _, err := agents.LoadFS(released.FS())
	if err != nil {
		t.Fatal(err)
	}
	model, err := physics.Parse("gpu-type*cpu-mem*network(300,25,100)*diminishing(0.1)")
	if err != nil {
		t.Fatal(err)
	}
	from := &serve.Policy{Name: "prior", New: func() (cluster.Scheduler, error) { return agents.NewPrior(team), nil }}
	p := &serve.Policy{
		Name: "team", Prior: from, New: func() (cluster.Scheduler, error) { return agents.NewTeam(team), nil },
	}
	s := newSite(t, p, func(c *serve.Config) { c.Parallel, c.Profile = 8, physics.Profiled(model) })
	want := s.decide(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got := s.decide(t)
			if !reflect.DeepEqual(want.Plan, got.Plan) || got.Decision.By != serve.ByPolicy || !got.Decision.Beside {
				t.Errorf("%+v of %+v, want %+v", got.Plan, got.Decision, want.Plan)
			}
		})
	}
	group.Wait()
}

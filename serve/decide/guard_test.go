package decide_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

func TestTheFallbackDecidesWhenThePolicyDoesNot(t *testing.T) {
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	for _, c := range []struct {
		reason string
		policy decidetest.Script
		why    string
	}{
		{decide.ReasonDeadline, func(*cluster.Txn) error { <-hold; return nil }, "no decision within 20ms"},
		{decide.ReasonError, func(*cluster.Txn) error { return errors.New("no idea") }, "no idea"},
		{decide.ReasonPanic, func(*cluster.Txn) error { panic("index out of range") }, "index out of range"},
	} {
		s := newSite(t, c.policy.Policy(), func(c *decide.Config) { c.Deadline = 20 * time.Millisecond })
		a := s.decide(t)
		d := a.Decision
		if d.By != decide.ByFallback || d.Policy != "scripted" || d.Digest != "d1" || d.Fallback.Policy != "fifo" || a.Policy != "fifo" ||
			d.Fallback.Reason != c.reason || !strings.Contains(d.Fallback.Why, c.why) || len(a.Ops) != 1 {
			t.Errorf("%s: %+v %+v", c.reason, d, d.Fallback)
		}
		contains(t, s.metrics(t), `clustergym_decisions_total{by="fallback"} 1`, `clustergym_fallbacks_total{reason="`+c.reason+`"} 1`)
		contains(t, s.log.String(), `"msg":"policy did not decide"`, `"reason":"`+c.reason+`"`)
	}
}

// TestLateDecisionsAreBounded checks that a policy that hangs is asked only a limited number of times, and is asked again after
// it has returned. The guard drops its late result, even if the policy changes the state that it was given.
func TestLateDecisionsAreBounded(t *testing.T) {
	hold, gone := make(chan struct{}), make(chan struct{}, 8)
	var once sync.Once
	release := func() { once.Do(func() { close(hold) }) }
	t.Cleanup(release)
	s := newSite(t, decidetest.Script(func(tx *cluster.Txn) error {
		<-hold
		for _, id := range tx.View().Pending() {
			if p, ok := tx.View().BestFit(id, nil); ok {
				return tx.Place(id, p)
			}
		}
		gone <- struct{}{}
		return nil
	}).Policy(), func(c *decide.Config) { c.Deadline = 200 * time.Millisecond })
	for i, want := range []string{decide.ReasonDeadline, decide.ReasonDeadline, decide.ReasonBusy} {
		if got := s.decide(t).Decision.Fallback; got == nil || got.Reason != want {
			t.Fatalf("request %d: %+v, want %s", i, got, want)
		}
	}
	contains(t, s.metrics(t), "clustergym_late_decisions 2")
	release()
	for !strings.Contains(s.metrics(t), "clustergym_late_decisions 0") {
		time.Sleep(time.Millisecond)
	}
	if a := s.decide(t); a.Decision.By != decide.ByPolicy {
		t.Errorf("after it let go: %+v", a.Decision)
	}
}

// hanging is a scheduler that decides only when it is told to break off.
type hanging struct {
	cluster.Scheduler
	ctx context.Context // what Within was given
}

func (h *hanging) Within(ctx context.Context) { h.ctx = ctx }

func (h *hanging) Schedule(*cluster.Txn) error {
	<-h.ctx.Done()
	return h.ctx.Err()
}

// TestLateDecisionsAreBrokenOff checks that a late policy that can break off does so, and is asked again.
func TestLateDecisionsAreBrokenOff(t *testing.T) {
	p := decidetest.Baseline("fifo")
	create := p.New
	p.New = func() (cluster.Scheduler, error) {
		s, err := create()
		return &hanging{Scheduler: s}, err
	}
	s := newSite(t, p, func(c *decide.Config) { c.Deadline = 20 * time.Millisecond })
	for range 4 {
		if got := s.decide(t).Decision.Fallback; got == nil || got.Reason != decide.ReasonDeadline {
			t.Fatalf("%+v, want %s", got, decide.ReasonDeadline)
		}
		for !strings.Contains(s.metrics(t), "clustergym_late_decisions 0") {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestNobodyDecides(t *testing.T) {
	broken := func(*cluster.Txn) error { panic("broken") }
	needy := func(*cluster.Txn) error { return errors.New("job x has no estimate") }
	for _, c := range []struct {
		name     string
		policy   decidetest.Script
		fallback decidetest.Script
		said     bool
		want     []string
	}{
		{"both say why", needy, needy, true, []string{"no estimate"}},
		{"the policy breaks", broken, needy, false, []string{"broken", "no estimate"}},
		{"the fallback breaks", needy, broken, false, []string{"broken", "no estimate"}},
	} {
		s := newSite(t, c.policy.Policy(), func(config *decide.Config) {
			config.Fallback = func(*policy.Policy) (*policy.Policy, error) { return c.fallback.Policy(), nil }
		})
		out, err := s.Decide(t.Context(), &read(t).View, "", true)
		var u *decide.Undecided
		if out != nil || !errors.As(err, &u) || u.Said() != c.said {
			t.Fatalf("%s: %+v, %v", c.name, out, err)
		}
		contains(t, err.Error(), c.want...)
		contains(t, s.metrics(t), "clustergym_undecided_total 1")
	}
}

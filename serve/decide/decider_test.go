package decide_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

func read(t testing.TB) *cluster.State {
	t.Helper()
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(decidetest.Snapshot)))(t)
	return s
}

func written(t testing.TB, s *cluster.State) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, s.WriteSnapshot(&b))
	return b.String()
}

// site is a decider under test with its log and metrics.
type site struct {
	*decide.Decider
	log     *decidetest.Said
	metered *prometheus.Registry
}

func newSite(t testing.TB, p *policy.Policy, change func(*decide.Config)) *site {
	t.Helper()
	s := &site{log: new(decidetest.Said), metered: prometheus.NewRegistry()}
	c := decide.Config{
		Source:   policy.Source{Load: func() (*policy.Policy, error) { return p, nil }},
		Fallback: func(*policy.Policy) (*policy.Policy, error) { return decidetest.Baseline("fifo"), nil },
		Seed:     1, Deadline: time.Minute, Parallel: 2, Registry: s.metered,
		Log: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&c)
	}
	s.Decider = must.Get(decide.New(c))(t)
	return s
}

// decide asks for a decision, which must succeed, and records it.
func (s *site) decide(t testing.TB) *decide.Answer {
	t.Helper()
	out := must.Get(s.Decide(t.Context(), &read(t).View, "test-1", true))(t)
	s.Record(&read(t).View, []byte(decidetest.Snapshot), out.Answer, nil)
	return out.Answer
}

func (s *site) metrics(t testing.TB) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(s.metered, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	return w.Body.String()
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("no %q in\n%s", p, text)
		}
	}
}

func logPath(t testing.TB) string { return filepath.Join(t.TempDir(), "decisions.jsonl") }

func TestThePolicyDecides(t *testing.T) {
	s := newSite(t, decidetest.Baseline("sjfskip"), nil)
	a := s.decide(t)
	if len(a.Ops) != 1 || a.Ops[0].Job != "x<y" || a.Ops[0].Text == "" || len(a.Waiting) != 1 || a.Waiting[0].Job != "big" {
		t.Errorf("plan %+v", a.Plan)
	}
	if d := a.Decision; a.Policy != "sjfskip" || d.Policy != "sjfskip" || d.By != decide.ByPolicy || d.Fallback != nil ||
		d.RequestID != "test-1" {
		t.Errorf("decision %+v", d)
	}
	contains(t, s.metrics(t), `clustergym_decisions_total{by="policy"} 1`, `clustergym_fallbacks_total{reason="deadline"} 0`,
		"clustergym_decision_seconds_count 1", `clustergym_policy_info{digest="",policy="sjfskip"} 1`)
	if who := s.Served(); who.Policy != "sjfskip" || who.Fallback != "fifo" || who.Deadline != 60 || who.Since.IsZero() {
		t.Errorf("%+v", who)
	}
}

// TestProposals checks that the proposals are feasible on the given state, and are the same with and without reasons.
func TestProposals(t *testing.T) {
	wakes := decidetest.Script(func(tx *cluster.Txn) error {
		tx.WakeAt(tx.Now() + time.Minute)
		p, _ := tx.View().BestFit(1, nil)
		return tx.Place(1, p)
	}).Policy()
	for _, explain := range []bool{false, true} {
		s := newSite(t, wakes, nil)
		state := read(t)
		out := must.Get(s.Decide(t.Context(), &state.View, "", explain))(t)
		if out.Wake == nil || *out.Wake != state.Now()+time.Minute || (out.Answer.Ops[0].Step != nil) != explain || len(out.Proposals) != 1 {
			t.Errorf("with reasons %v: %+v %+v", explain, out, out.Answer)
		}
		tx := state.Begin(nil)
		for i := range out.Proposals {
			if err := tx.Do(&out.Proposals[i]); err != nil {
				t.Error(err)
			}
		}
		tx.End()
		if p := state.Placement(1); state.Phase(1) != cluster.Running || !reflect.DeepEqual(p, out.Proposals[0].Placement) {
			t.Errorf("with reasons %v: job runs on %v, want %v", explain, p, out.Proposals[0].Placement)
		}
	}
}

// TestTheStateIsTheCallers checks that the caller's state does not change, whatever a scheduler does with its copy.
func TestTheStateIsTheCallers(t *testing.T) {
	start := func(tx *cluster.Txn) error {
		p, _ := tx.View().BestFit(1, nil)
		return tx.Place(1, p)
	}
	hold, wrote := make(chan struct{}), make(chan struct{})
	for _, c := range []struct {
		name   string
		policy decidetest.Script
		by     string
	}{
		{"it decides", start, decide.ByPolicy},
		{"it breaks half-way", func(tx *cluster.Txn) error { _ = start(tx); panic("broken") }, decide.ByFallback},
		{"it gives up half-way", func(tx *cluster.Txn) error { _ = start(tx); return tx.Place(99, nil) }, decide.ByFallback},
		{"it is late", func(tx *cluster.Txn) error { defer close(wrote); <-hold; return start(tx) }, decide.ByFallback},
	} {
		s := newSite(t, c.policy.Policy(), func(c *decide.Config) { c.Deadline = 100 * time.Millisecond })
		state := read(t)
		before := written(t, state)
		out, err := s.Decide(t.Context(), &state.View, "", true)
		if err != nil || out.Answer.Decision.By != c.by {
			t.Fatalf("%s: %+v, %v", c.name, out, err)
		}
		if c.name == "it is late" {
			close(hold)
			<-wrote
		}
		if after := written(t, state); after != before || len(state.Txn().Ops()) != 0 {
			t.Errorf("%s: the state was\n%s\nand is\n%s", c.name, before, after)
		}
	}
}

func TestTwoInOneRegistry(t *testing.T) {
	s := newSite(t, decidetest.Baseline("fifo"), nil)
	_, err := decide.New(s.Config)
	if err == nil || !strings.Contains(err.Error(), "register metrics") {
		t.Errorf("a second one in the same registry: %v", err)
	}
	c := s.Config
	c.Registry = prometheus.WrapRegistererWithPrefix("shadow_", s.metered)
	if _, err := decide.New(c); err != nil {
		t.Errorf("with another prefix: %v", err)
	}
	c.Registry, c.Log, c.Fallback = nil, nil, nil
	if _, err := decide.New(c); err != nil {
		t.Errorf("without what may be left out: %v", err)
	}
}

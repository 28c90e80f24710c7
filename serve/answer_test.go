package serve_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

func TestNobodyDecides(t *testing.T) {
	broken := func(*cluster.Txn) error { panic("broken") }
	needy := func(*cluster.Txn) error { return errors.New("job x has no estimate") }
	for _, c := range []struct {
		name     string
		policy   decidetest.Script
		fallback decidetest.Script
		status   int
		want     []string
	}{
		{"both say why", needy, needy, http.StatusUnprocessableEntity, []string{"no estimate"}},
		{"one breaks", broken, needy, http.StatusServiceUnavailable, []string{"broken", "no estimate"}},
	} {
		s := newSite(t, c.policy.Policy(), func(config *serve.Config) {
			config.Fallback = func(*policy.Policy) (*policy.Policy, error) { return c.fallback.Policy(), nil }
		})
		status, text := s.ask(t, http.MethodPost, "/v1/plan", decidetest.Snapshot)
		if status != c.status {
			t.Errorf("%s: status %d", c.name, status)
		}
		contains(t, text, c.want...)
		contains(t, s.metrics(t), "clustergym_undecided_total 1")
	}
}

// TestAnswersAreLogged checks that the decision log contains every answer as the client got it.
func TestAnswersAreLogged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	l, err := decide.OpenLog(path, decide.Record{Physics: "ideal", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, decidetest.Baseline("fifo"), func(c *serve.Config) { c.Decisions = l })
	a := s.decide(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, d, err := decide.NewLogReader(f).Next()
	if err != nil || d.RequestID != a.Decision.RequestID {
		t.Fatalf("%+v, %v", d, err)
	}
	if differs, err := decide.Again(r, d, decidetest.Baseline("fifo"), nil); differs != "" || err != nil {
		t.Errorf("%s, %v", differs, err)
	}
}

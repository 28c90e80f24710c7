package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
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

// TestEstimatesAreAssumed checks that jobs without an estimate get the one that the server assumes, and that the decision log
// has the answer as the client got it and says so, so that a replay decides alike.
func TestEstimatesAreAssumed(t *testing.T) {
	body := strings.Replace(decidetest.Snapshot, `"estimate_s":60,`, "", 1)
	if status, text := newSite(t, decidetest.Baseline("sjfskip"), func(c *serve.Config) {
		c.Fallback = func(*policy.Policy) (*policy.Policy, error) { return decidetest.Baseline("sjfskip"), nil }
	}).ask(t, http.MethodPost, "/v1/plan", body); status != http.StatusUnprocessableEntity {
		t.Fatalf("without an estimate: %d %s", status, text)
	}
	path := filepath.Join(t.TempDir(), "decisions.jsonl")
	l := must.Get(decide.OpenLog(path, decide.Record{Physics: "ideal", Seed: 1, Assume: 30}))(t)
	s := newSite(t, decidetest.Baseline("sjfskip"), func(c *serve.Config) { c.Assume, c.Decisions = 30*time.Second, l })
	status, answer := s.ask(t, http.MethodPost, "/v1/plan", body)
	if status != http.StatusOK || !strings.Contains(answer, `"start"`) {
		t.Fatalf("with an assumed estimate: %d %s", status, answer)
	}
	must.Do(t, l.Close())
	text := must.Get(os.ReadFile(path))(t)
	r, d, err := decide.NewLogReader(bytes.NewReader(text)).Next()
	must.Do(t, err)
	if d.RequestID == "" || !strings.Contains(answer, d.RequestID) {
		t.Errorf("the log says %+v, the client %s", d, answer)
	}
	asked := must.Get(new(decide.Replay).Next(r, d))(t)
	if differs, err := asked.Again(r, d, decidetest.Baseline("sjfskip"), nil); differs != "" || err != nil {
		t.Errorf("%s, %v", differs, err)
	}
	wrong := bytes.Replace(text, []byte(`"assume_s":30`), []byte(`"assume_s":-30`), 1)
	if _, _, err := decide.NewLogReader(bytes.NewReader(wrong)).Next(); !errors.Is(err, decide.ErrDamaged) {
		t.Errorf("a negative estimate: %v", err)
	}
}

// TestRequestsTeach checks that snapshots teach a policy that learns, except those with learn=no, and that what was learned is
// saved when the server ends.
func TestRequestsTeach(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beliefs.json")
	s := newSite(t, nil, func(c *serve.Config) {
		c.Beliefs = file
		c.Source.Load = func() (*policy.Policy, error) {
			return (&policy.Finder{Memory: true}).Load("sjfskip+know:time=history")
		}
	})
	const empty = `{"version":1,"now_s":%d,"servers":[{"name":"a","gpus":4,"cpu_milli":null,"mem_mib":null},` +
		`{"name":"b","gpus":4,"cpu_milli":null,"mem_mib":null}],"jobs":[]}`
	for i, c := range []struct {
		query, body string
		ended       int64
	}{
		{"", decidetest.Snapshot, 0},
		{"?learn=no", fmt.Sprintf(empty, 150), 0},
		{"?reasons=none&learn=no", fmt.Sprintf(empty, 100_000_000), 0},
		{"?reasons=none", fmt.Sprintf(empty, 160), 1},
		{"", fmt.Sprintf(empty, 170), 1},
	} {
		if status, text := s.ask(t, "POST", "/v1/plan"+c.query, c.body); status != 200 {
			t.Fatalf("request %d: status %d: %s", i, status, text)
		}
		_, text := s.ask(t, "GET", "/v1/policy", "")
		var served decide.Served
		if err := json.Unmarshal([]byte(text), &served); err != nil || served.Beliefs == nil || served.Beliefs.Ended != c.ended {
			t.Errorf("request %d: %s, want %d jobs ended", i, text, c.ended)
		}
	}
	ln := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	gone, end := context.WithCancel(t.Context())
	end()
	must.Do(t, s.Serve(gone, ln, time.Hour, serve.Shutdown{Delay: time.Millisecond, Drain: time.Minute}, nil))
	if m, err := decide.ReadBeliefs(file); err != nil || m.Ended() != 1 {
		t.Errorf("saved %+v, %v", m, err)
	}
}

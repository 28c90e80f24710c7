package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// teller forecasts the same for all jobs that wait, or fails.
type teller struct {
	fails  bool
	panics bool
	memory bool // it was given what was learned
}

func (f *teller) Forecast(_ context.Context, s *cluster.View, _ policy.Policy, waits func(string) bool, m *belief.Memory) (
	all []explain.Start, err error,
) {
	if f.memory = m != nil; f.panics {
		panic("a policy's")
	}
	for _, id := range s.Pending() {
		if name := s.Spec(id).Name; waits(name) {
			all = append(all, explain.NewStart(name, time.Minute, cluster.Never))
		}
	}
	if f.fails {
		return nil, errors.New("no time")
	}
	return all, nil
}

// TestAnswersSayWhenJobsStart checks that an answer has forecasts of the jobs that wait after the decision, unless reasons
// are not wanted or the forecast fails.
func TestAnswersSayWhenJobsStart(t *testing.T) {
	f := &teller{}
	s := newSite(t, decidetest.Baseline("fifo"), func(c *serve.Config) { c.Forecaster = f })
	starts := func(query string) []explain.Start {
		status, text := s.ask(t, http.MethodPost, "/v1/plan"+query, decidetest.Snapshot)
		var a decide.Answer
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		return a.Starts
	}
	got := starts("")
	if len(got) != 1 || got[0].Job != "big" || got[0].Median == nil || *got[0].Median != 60 || got[0].P90 != nil || !f.memory {
		t.Errorf("%+v, memory given: %t; want one of big, in 60 s, with what was learned", got, f.memory)
	}
	if got := starts("?reasons=none"); len(got) > 0 {
		t.Errorf("%+v, though no reasons were wanted", got)
	}
	f.fails = true
	if got := starts(""); len(got) > 0 {
		t.Errorf("%+v, though the forecast failed", got)
	}
	f.panics = true
	if got := starts(""); len(got) > 0 {
		t.Errorf("%+v, though the forecast panicked", got)
	}
	contains(t, s.metrics(t), "clustergym_unforecast_decisions_total 2")
}

package serve_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// TestCostsAreMetrics checks that the metrics say what the cluster costs by an objective, from the snapshots that teach, and that a
// policy which decides by an objective gets this one: its answer says to ask again when a limit passes.
func TestCostsAreMetrics(t *testing.T) {
	o := must.Get(objectives.Read(strings.NewReader(
		"name: mine\nterms: [{cost: completion, price: 2/h}, {cost: wait, over: 10m, price: 1/min}]")))(t)
	source := (&policy.Finder{Table: all.Table()}).Find
	p := must.Get(must.Get(source("index"))(t).Load())(t)
	s := newSite(t, p, func(c *serve.Config) { c.Objective = o })
	plan := func(query, now string) *decide.Answer {
		status, text := s.ask(t, http.MethodPost, "/v1/plan"+query, strings.Replace(decidetest.Snapshot, `"now_s":100`, `"now_s":`+now, 1))
		var a decide.Answer
		if err := json.Unmarshal([]byte(text), &a); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s: %v", status, text, err)
		}
		return &a
	}
	if a := plan("", "100"); a.Wake == nil || *a.Wake != 610 {
		t.Errorf("ask again at %v, want 610 s, when the first job has waited for 10 min", a.Wake)
	}
	contains(t, s.metrics(t), `clustergym_cost_total{objective="mine",term="completion"} 0`,
		`clustergym_cost_per_minute{objective="mine",term="completion"} 0.1`, `clustergym_cost_per_minute{objective="mine",term="wait"} 0`)
	plan("?learn=no", "4000")
	plan("", "700") // of it, two jobs have waited for 90 s and 80 s beyond the limit
	contains(t, s.metrics(t), `clustergym_cost_total{objective="mine",term="completion"} 1`+"\n",
		`clustergym_cost_per_minute{objective="mine",term="wait"} 2`)
	if total := s.metrics(t); !strings.Contains(total, `clustergym_cost_total{objective="mine",term="wait"} 2.83`) {
		t.Errorf("want 170 s of waiting beyond the limit as 2.83:\n%s", total)
	}
	if text := newSite(t, p, nil).metrics(t); strings.Contains(text, "clustergym_cost") {
		t.Error("without an objective there are metrics of costs")
	}
}

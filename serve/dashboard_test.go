package serve_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// TestDashboard checks that the dashboard for Grafana can be read, and that all metrics in it are metrics of the server or, those of
// policies with beliefs, on the page that lists them.
func TestDashboard(t *testing.T) {
	text := must.Get(os.ReadFile("../docs/grafana/serve.json"))(t)
	var board struct {
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	must.Do(t, json.Unmarshal(text, &board))
	page := must.Get(os.ReadFile("../docs/production.md"))(t)
	s := newSite(t, decidetest.Baseline("sjfskip"), func(c *serve.Config) { c.Objective = objectives.Usual() })
	s.decide(t)
	metrics := s.metrics(t)
	if len(board.Panels) < 5 {
		t.Errorf("%d panels", len(board.Panels))
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`clustergym_[a-z_]+`).FindAllString(target.Expr, -1) {
				learned := strings.HasPrefix(name, "clustergym_beliefs_") && strings.Contains(string(page), "`"+strings.TrimPrefix(name, "clustergym_"))
				if !learned && !strings.Contains(metrics, "\n"+name) {
					t.Errorf("panel %s: the server has no metric %s", p.Title, name)
				}
			}
		}
	}
}

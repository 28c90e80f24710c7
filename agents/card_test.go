package agents_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
)

var update = flag.Bool("update", false, "rewrite the model cards in testdata")

// TestModelCards compares the model cards of bundles with those in testdata.
func TestModelCards(t *testing.T) {
	for _, c := range []struct {
		name     string
		known    bool // whether the policy has a Range
		training checkpoints.Provenance
	}{
		{"trained", true, checkpoints.Provenance{
			Scenario: "venus-contended-v1,own-v1", Seed: 7, Updates: 40, Trace: "helios/venus.csv.gz,/home/me/own.csv", Git: "abc", Go: "go1.26",
			Memory: 43200, Validation: 0.94567, Seen: []checkpoints.Period{
				{Trace: "helios/venus.csv.gz", From: 43200, To: 864000}, {Trace: "/home/me/own.csv", From: 0, To: 3600},
			},
		}},
		{"untrained", true, checkpoints.Provenance{
			Scenario: "venus-contended-v1", Seed: 1, Updates: 2, Memory: 3600, Validation: 1,
			Seen: []checkpoints.Period{{Trace: "venus.csv.gz", From: 0, To: 864000}},
		}},
		{"tuned", true, checkpoints.Provenance{
			Scenario: "own-v1", Seed: 7, Updates: 40, Memory: 7200, Validation: 0.94567,
			Seen: []checkpoints.Period{{Trace: "own.csv", From: 0, To: 3600}, {Trace: "venus.csv.gz", From: 0, To: 864000}},
			From: &checkpoints.Origin{
				Policy: "released", SHA256: "0123456789abcdef", Scenario: "venus-load150-v1,mixed-v1", Updates: 90, Validation: 0.97,
			},
		}},
		{"tuned-kept", true, checkpoints.Provenance{Scenario: "own-v1", Updates: 1, Validation: 0.97, From: &checkpoints.Origin{
			Policy: "mine", SHA256: "0123456789abcdef", Updates: 1, Validation: 0.97,
		}}},
		{"tuned-prior", true, checkpoints.Provenance{Scenario: "own-v1", Updates: 1, Validation: 1, From: &checkpoints.Origin{
			Policy: "mine", SHA256: "0123456789abcdef", Updates: 1, Validation: 1.02,
		}}},
		{"tuned-objective", true, checkpoints.Provenance{
			Scenario: "own-v1", Updates: 1, Objective: must.Get(objectives.Open("small-first"))(t).Text(), Validation: 0.95, From: &checkpoints.Origin{
				Policy: "mine", SHA256: "0123456789abcdef", Updates: 1, Validation: 0.97,
			},
		}},
		{"unknown", false, checkpoints.Provenance{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPolicy(t, 1, "sjfhold+menu")
			p.Name = c.name
			if c.known {
				p.Range = agents.Range(nil).Widen(&p.Shape, &agents.Observation{Server: make([]float32, p.Shape.Server)})
			}
			dir := filepath.Join(t.TempDir(), "policy")
			must.Do(t, export.Save(dir, p, "clustergym v1, on a machine", c.training, nil))
			got := must.Get(os.ReadFile(filepath.Join(dir, "README.md")))(t)
			golden := filepath.Join("testdata", "card-"+c.name+".md")
			if *update {
				must.Do(t, os.WriteFile(golden, got, 0o666))
			}
			want := must.Get(os.ReadFile(golden))(t)
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s (-want +got, -update rewrites it):\n%s", golden, d)
			}
			if strings.Contains(string(got), "/home") || strings.Contains(string(got), "on a machine") {
				t.Errorf("the card tells of the machine:\n%s", got)
			}
		})
	}
}

package eval

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clustergym/clustergym/internal/must"
)

// TestWriteMARLEval checks the structure that marl-eval's README describes: environment, task, algorithm, run, step, metric.
func TestWriteMARLEval(t *testing.T) {
	var results []Result
	add := func(scenario, policy string, seed uint64, jct ...float64) {
		for _, x := range jct {
			c := Case{Scenario: scenario, Policy: policy, Seed: seed}
			results = append(results, Result{Case: c, Metrics: Metrics{MeanJCT: x, P99JCT: 2 * x, Preemptions: 3}})
		}
	}
	for _, seed := range []uint64{2, 10} {
		add("a-v1", "fifo", seed, 5, 6)
		add("a-v1", "team", seed, 3, 4)
		add("b-v1", "fifo", seed, 7)
		add("b-v1", "team", seed, 8)
	}
	var text, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&text, &again} {
		must.Do(t, WriteMARLEval(w, results, map[string]int{"team": 60}))
	}
	if text.String() != again.String() {
		t.Error("equal results gave other bytes")
	}
	var got map[string]map[string]map[string]map[string]map[string]map[string]any
	must.Do(t, json.Unmarshal(text.Bytes(), &got))
	run := got["clustergym"]["a-v1"]["team"]["seed_10"]
	pick := map[string]any{}
	for _, key := range []string{"step_count", "return", "jct_s", "p99_jct_s", "preemptions"} {
		pick[key] = run["step_1"][key]
	}
	want := map[string]any{
		"step_count": 60.0, "return": []any{-3.0, -4.0}, "jct_s": []any{3.0, 4.0}, "p99_jct_s": []any{6.0, 8.0},
		"preemptions": []any{3.0, 3.0},
	}
	if d := cmp.Diff(want, pick); d != "" {
		t.Errorf("step (-want +got):\n%s", d)
	}
	delete(run["step_1"], "step_count")
	if d := cmp.Diff(run["step_1"], run["absolute_metrics"]); d != "" {
		t.Errorf("absolute metrics (-step +absolute):\n%s", d)
	}
	if len(run["step_1"]) != len(Quantities())+1 {
		t.Errorf("%d metrics, want all %d quantities and the return", len(run["step_1"]), len(Quantities()))
	}
	for key := range run["step_1"] {
		if strings.HasPrefix(key, "mean_") || strings.HasPrefix(key, "norm_") || strings.Contains(key, "step_count") {
			t.Errorf("metric %s: marl-eval gives such keys another meaning", key)
		}
	}
	if n := got["clustergym"]["b-v1"]["fifo"]["seed_2"]["step_1"]["step_count"]; n != 0.0 {
		t.Errorf("a heuristic at step %v, want 0", n)
	}
	if body := text.String(); strings.Index(body, "step_1") > strings.Index(body, "absolute_metrics") {
		t.Error("the absolute metrics are not the last step of a run")
	}

	add("b-v1", "team", 11, 8)
	err := WriteMARLEval(&again, results, nil)
	if err == nil || !strings.Contains(err.Error(), "b-v1 has the seeds [2 10 11] under team, and a-v1 has [2 10] under fifo") {
		t.Errorf("other seeds: error %v", err)
	}
}

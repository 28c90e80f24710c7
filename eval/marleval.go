package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// evaluationStep contains the episodes of a policy under one seed, in the order of windows, by metric.
type evaluationStep map[string]any

// evaluatedRun is a run in marl-eval's format. The absolute metrics must be its last step, so it is no map.
type evaluatedRun struct {
	Step     evaluationStep `json:"step_1"`
	Absolute evaluationStep `json:"absolute_metrics"`
}

// WriteMARLEval writes results as the JSON that marl-eval reads (https://github.com/instadeepai/marl-eval): by environment, task,
// algorithm and run. Those are "clustergym", the scenario, the policy and the seed, and the episodes of a run are the windows.
// Every policy is evaluated once, after its training, so a run has one step; updates is the number of updates that trained a
// policy, 0 for policies that are not in the map.
//
// marl-eval takes every key that begins with "mean_" as one that it has computed, so the metrics have their keys without that
// beginning. It takes higher values as better: "return" is the negative mean completion time in seconds.
//
// WriteMARLEval returns an error unless all policies have the same seeds in all scenarios, because marl-eval compares matrices.
func WriteMARLEval(w io.Writer, results []Result, updates map[string]int) error {
	tasks := map[string]map[string]map[string]evaluatedRun{}
	for i := range results {
		r := &results[i]
		if tasks[r.Scenario] == nil {
			tasks[r.Scenario] = map[string]map[string]evaluatedRun{}
		}
		runs := tasks[r.Scenario][r.Policy]
		if runs == nil {
			runs = map[string]evaluatedRun{}
			tasks[r.Scenario][r.Policy] = runs
		}
		name := "seed_" + strconv.FormatUint(r.Seed, 10)
		run, ok := runs[name]
		if !ok {
			run = evaluatedRun{evaluationStep{"step_count": updates[r.Policy]}, evaluationStep{}}
			runs[name] = run
		}
		for key, x := range marlMetrics(&r.Metrics) {
			list, _ := run.Absolute[key].([]float64)
			run.Absolute[key] = append(list, x)
			run.Step[key] = run.Absolute[key]
		}
	}
	if err := sameSeeds(results); err != nil {
		return fmt.Errorf("write for marl-eval: %w", err)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	if err := e.Encode(map[string]any{"clustergym": tasks}); err != nil {
		return fmt.Errorf("write for marl-eval: %w", err)
	}
	return nil
}

// marlMetrics returns the quantities of an episode by their keys in marl-eval's format.
func marlMetrics(m *Metrics) map[string]float64 {
	all := map[string]float64{"return": -m.MeanJCT}
	for _, q := range Quantities() {
		all[strings.TrimPrefix(q.Key, "mean_")] = q.get(m)
	}
	return all
}

// sameSeeds returns an error that names the first scenario and policy whose seeds are not those of the first result's.
func sameSeeds(results []Result) error {
	type player struct{ scenario, policy string }
	seeds := map[player][]uint64{}
	var order []player
	for i := range results {
		p := player{results[i].Scenario, results[i].Policy}
		if _, ok := seeds[p]; !ok {
			order = append(order, p)
		}
		if !slices.Contains(seeds[p], results[i].Seed) {
			seeds[p] = append(seeds[p], results[i].Seed)
		}
	}
	for _, p := range order {
		slices.Sort(seeds[p])
		if first := order[0]; !slices.Equal(seeds[p], seeds[first]) {
			return fmt.Errorf("%s has the seeds %d under %s, and %s has %d under %s: want the same everywhere, for example by --seeds",
				p.scenario, seeds[p], p.policy, first.scenario, seeds[first], first.policy)
		}
	}
	return nil
}

package report

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
)

// generated returns an episode of generated jobs on a cluster with the given load.
func generated(tb testing.TB, jobs, servers int, load float64, seed uint64) sim.Episode {
	tb.Helper()
	params := must.Get(trace.Default().WithLoad(load, 8*servers))(tb)
	w := must.Get(trace.Generate(params, jobs, seed))(tb)
	for i := range w.Jobs {
		w.Jobs[i].Estimate = w.Jobs[i].Work
		w.Jobs[i].Workers = min(w.Jobs[i].Workers, int32(8*servers))
	}
	return sim.Episode{
		Config: sim.Config{Cluster: cluster.Uniform(servers, 8), Restart: sim.Pause(time.Minute)}, Jobs: w.Jobs,
	}
}

// play plays an episode with a baseline.
func play(tb testing.TB, e sim.Episode, policy string) *sim.Log {
	tb.Helper()
	sched := must.Get(baselines.New(policy))(tb)
	return simtest.Play(tb, &e, sched, 1)
}

// result measures a log as eval.Run does.
func result(log *sim.Log, scenario, window, policy string) eval.Result {
	r := eval.Result{
		Case:    eval.Case{Scenario: scenario, Split: "test", Window: window, Policy: policy, Seed: 1},
		Metrics: eval.Measure(log),
	}
	var jct []float64
	for _, row := range eval.Rows(log) {
		if row.Finished {
			jct = append(jct, row.JCT().Seconds())
		}
	}
	slices.Sort(jct)
	for i := range 101 {
		if len(jct) > 0 {
			r.JCTPercentiles = append(r.JCTPercentiles, jct[i*(len(jct)-1)/100])
		}
	}
	return r
}

// section plays policies on windows of generated jobs. Its schedules are those of the first window.
func section(tb testing.TB, name string, windows, jobs, servers int, policies ...string) Section {
	tb.Helper()
	var s Section
	for w := range windows {
		episode := generated(tb, jobs, servers, 0.95, uint64(w+1))
		for _, policy := range policies {
			log := play(tb, episode, policy)
			s.Results = append(s.Results, result(log, name, fmt.Sprintf("test-%d", w), policy))
			if w == 0 {
				s.Schedules = append(s.Schedules, log)
			}
		}
	}
	s.compare(tb, policies[0])
	return s
}

func (s *Section) compare(tb testing.TB, baseline string) {
	tb.Helper()
	c := must.Get(eval.Compare(s.Results, baseline))(tb)
	s.Comparison, s.Shown = c, s.Results[0].Case
}

// failing are settings with which servers and GPUs fail often.
var failing = []string{"failures.server_between=48h", "failures.server_repair=4h", "failures.gpu_between=240h", "failures.gpu_repair=4h"}

// builtin plays policies on a window of a built-in scenario.
func builtin(tb testing.TB, name string, overrides []string, policies ...string) Section {
	tb.Helper()
	src := scenariotest.Open(tb, name, overrides...)
	e := must.Get(src.Episode(scenario.Test, 0, 1))(tb)
	s := Section{Scenario: src.Scenario()}
	for _, policy := range policies {
		log := play(tb, e.Episode, policy)
		s.Results = append(s.Results, result(log, name, "test-0", policy))
		s.Schedules = append(s.Schedules, log)
	}
	s.compare(tb, policies[0])
	return s
}

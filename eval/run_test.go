package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/sharedtest"
	"github.com/clustergym/clustergym/policy"
)

func policies(names ...string) []policy.Policy {
	var ps []policy.Policy
	for _, name := range names {
		ps = append(ps, policy.Policy{Name: name, New: func() (cluster.Scheduler, error) { return all.New(name) }})
	}
	return ps
}

func smallPlan(t testing.TB, names ...string) Plan {
	t.Helper()
	src := scenariotest.Open(t, "embedded-small-v1", "workload.jobs=600", "workload.load=60", "window.arrivals=40",
		"cluster.servers=4", "estimates.kind=noisy", "estimates.sigma=0.5", "seeds=[1, 2]")
	plan := must.Get(newPlan(src, scenario.Test, nil, policies(names...)))(t)
	return plan
}

// TestParallelEqualsSerial checks that the number of workers changes neither the results nor their order.
func TestParallelEqualsSerial(t *testing.T) {
	var want []byte
	for _, workers := range []int{1, 2, 7} {
		plan := smallPlan(t, "fifo", "sjfskip", "srtf", "random")
		plan.Workers = workers
		calls := -1
		results, err := Run(t.Context(), plan, func(p Progress) {
			if calls++; p.Done != calls || p.Of != len(plan.Cases()) || p.Kept != 0 || p.Left != 0 {
				t.Errorf("call %d says %+v", calls, p)
			}
		})
		must.Do(t, err)
		var b bytes.Buffer
		must.Do(t, WriteJSONL(&b, results))
		if want == nil {
			want = b.Bytes()
		}
		cases := plan.Cases()
		if calls != len(cases) || len(results) != len(cases) || !bytes.Equal(b.Bytes(), want) {
			t.Fatalf("%d workers: %d calls, %d results of %d cases, same bytes %v", workers, calls, len(results), len(cases),
				bytes.Equal(b.Bytes(), want))
		}
		for i, c := range cases {
			if kept := results[i].Log != nil; results[i].Case != c || kept != (i < len(plan.Policies)) {
				t.Errorf("result %d is %v with log %v, want %v with the logs of the first window and seed", i, results[i].Case, kept, c)
			}
		}
	}
}

func TestSeedsReachWorkloadsAndPolicies(t *testing.T) {
	results := must.Get(Run(t.Context(), smallPlan(t, "fifo", "sjfskip", "random"), nil))(t)
	bySeed := map[string]map[uint64]float64{}
	for _, r := range results {
		if bySeed[r.Policy] == nil {
			bySeed[r.Policy] = map[uint64]float64{}
		}
		bySeed[r.Policy][r.Seed] += r.SumJCT
	}
	for policy, differ := range map[string]bool{"fifo": false, "sjfskip": true, "random": true} {
		if got := bySeed[policy][1] != bySeed[policy][2]; got != differ {
			t.Errorf("%s: seeds differ %v, want %v: estimates are noisy, and fifo needs none", policy, got, differ)
		}
	}
}

// TestCasesThatFailAreNamedAndTheOthersRun checks that the error names the cases that fail, that the other cases run, and that
// the number of workers does not matter.
func TestCasesThatFailAreNamedAndTheOthersRun(t *testing.T) {
	broken := errors.New("broken")
	for _, workers := range []int{1, 2, 8} {
		plan := smallPlan(t, "fifo")
		plan.Workers = workers
		plan.Policies = append(plan.Policies, policy.Policy{Name: "bad", New: func() (cluster.Scheduler, error) {
			return &script{"bad", func(*cluster.Txn) error { return broken }}, nil
		}})
		results, err := Run(t.Context(), plan, nil)
		var failed *FailedError
		if !errors.As(err, &failed) || !errors.Is(err, broken) {
			t.Fatalf("%d workers: error %v", workers, err)
		}
		n := len(plan.Cases()) / 2
		want := fmt.Sprintf("%d of %d cases failed\n  evaluate embedded-small-v1 test-0 under bad, seed 1: ", n, 2*n)
		if len(failed.Cases) != n || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d workers: error %v, want %q before it", workers, err, want)
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 ||
			!strings.HasSuffix(lines[1], fmt.Sprintf("broken, and %d more of this policy there", n-1)) {
			t.Errorf("%d workers: error %v, want a line for all cases of the policy", workers, err)
		}
		if len(results) != n || slices.ContainsFunc(results, func(r Result) bool { return r.Policy != "fifo" }) {
			t.Errorf("%d workers: %d results, want the %d of fifo", workers, len(results), n)
		}
	}
}

func TestCancelledRunSaysHowFarItCame(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	plan := smallPlan(t, "fifo")
	plan.Workers = 1
	_, err := Run(ctx, plan, func(p Progress) {
		if p.Done == 1 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), fmt.Sprintf("1 of %d cases", len(plan.Cases()))) {
		t.Errorf("error %v", err)
	}
}

func TestPlansThatCannotBeComparedAreRefused(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"no policies", func(p *Plan) { p.Policies = nil }, "0 policies"},
		{"no seeds", func(p *Plan) { p.Suites[0].Seeds = nil }, "0 seeds"},
		{"no windows", func(p *Plan) { p.Suites[0].Windows = nil }, "0 windows"},
		{"a policy twice", func(p *Plan) { p.Policies = append(p.Policies, p.Policies[0]) }, `policy "fifo" stands twice`},
		{"a seed twice", func(p *Plan) { p.Suites[0].Seeds = []uint64{4, 4} }, "seed 4 stands twice"},
		{"a scenario twice", func(p *Plan) { p.Suites = append(p.Suites, p.Suites[0]) }, `scenario "embedded-small-v1" stands twice`},
		{"no scenarios", func(p *Plan) { p.Suites = nil }, "0 scenarios"},
		{"a window twice", func(p *Plan) { p.Suites[0].Windows[1] = p.Suites[0].Windows[0] }, `window "test-0" stands twice`},
		{"a negative number of workers", func(p *Plan) { p.Workers = -1 }, "-1 workers"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plan := smallPlan(t, "fifo")
			c.change(&plan)
			if _, err := Run(t.Context(), plan, nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// TestBuiltinScenariosAreContended checks that every built-in scenario is contended enough to compare schedulers: under sjfskip,
// queueing is at least 5 % of JCT, on the training windows and on the test windows.
func TestBuiltinScenariosAreContended(t *testing.T) {
	for _, name := range scenario.Names() {
		t.Run(name, func(t *testing.T) {
			s := must.Get(scenario.Load(name))(t)
			if s.Workload.Trace != scenario.Embedded {
				t.Setenv(scenario.SharedVariable, sharedtest.Dir(t))
			}
			src := must.Get(s.Open())(t)
			policy := "sjfskip"
			if s.Estimates.Kind == trace.None {
				policy = "fjf" // sjfskip needs estimates
			}
			for _, split := range []scenario.Split{scenario.Train, scenario.Test} {
				plan := must.Get(newPlan(src, split, nil, policies(policy)))(t)
				plan.Suites[0].Seeds = plan.Suites[0].Seeds[:1]
				results := must.Get(Run(t.Context(), plan, nil))(t)
				var jct, queueing float64
				for _, r := range results {
					jct, queueing = jct+r.MeanJCT, queueing+r.MeanQueueing
				}
				t.Logf("%s: queueing is %.1f %% of JCT over %d windows", split, 100*queueing/jct, len(results))
				if queueing < .05*jct {
					t.Errorf("%s: queueing is %.1f %% of JCT, want at least 5 %%", split, 100*queueing/jct)
				}
			}
		})
	}
}

// newPlan returns a plan with one suite: see NewSuite.
func newPlan(src *scenario.Source, split scenario.Split, windows []int, policies []policy.Policy) (Plan, error) {
	suite, err := NewSuite(src, split, windows)
	return Plan{Suites: []Suite{suite}, Policies: policies}, err
}

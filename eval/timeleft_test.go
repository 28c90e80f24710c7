package eval

import (
	"testing"
	"time"

	"github.com/clustergym/clustergym/policy"
)

// TestLeftForeseesUnequalCases checks the estimate with two policies, one a hundred times as slow as the other. As soon as each
// policy has finished one case, the estimate must be exact; a mean over all cases would be far off.
func TestLeftForeseesUnequalCases(t *testing.T) {
	cost := []float64{1, 100}
	plan := Plan{
		Suites:   []Suite{{Scenario: "s", Windows: make([]Window, 10), Seeds: []uint64{1, 2}}},
		Policies: []policy.Policy{{Name: "quick"}, {Name: "slow"}},
	}
	now := 0.0
	plan.Clock = func() time.Duration { return time.Duration(now * float64(time.Second)) }
	r := run{plan: &plan, tasks: plan.tasks(), workers: 1}
	r.results = make([]*Result, len(r.tasks))
	total := 10 * 2 * (cost[0] + cost[1])
	for i := range r.tasks {
		c := &r.tasks[i]
		r.pace.begin(i, plan.Clock())
		r.next = i + 1
		if i > 2 { // halfway through a case, the estimate must be less by the elapsed time
			now += cost[c.policy] / 2
			if left := r.left().Seconds(); left < total-now-1e-6 || left > total-now+1e-6 {
				t.Fatalf("in case %d: %v s left, want %v", i, left, total-now)
			}
			now += cost[c.policy] / 2
		} else {
			now += cost[c.policy]
		}
		r.pace.end(i)
		r.results[i] = &Result{Timing: &Timing{Wall: cost[c.policy]}}
		r.pace.add(c, r.results[i])
		if left := r.left().Seconds(); i > 0 && (left < total-now-1e-6 || left > total-now+1e-6) {
			t.Fatalf("after case %d: %v s left, want %v", i, left, total-now)
		}
	}
}

// TestLeftWithWorkers checks that workers share the work, and that the estimate is at least the time of the longest case.
func TestLeftWithWorkers(t *testing.T) {
	plan := Plan{
		Suites:   []Suite{{Scenario: "s", Windows: make([]Window, 2), Seeds: []uint64{1}}},
		Policies: []policy.Policy{{Name: "quick"}, {Name: "slow"}},
		Clock:    func() time.Duration { return 0 },
	}
	r := run{plan: &plan, tasks: plan.tasks(), workers: 8, next: 2}
	r.results = make([]*Result, len(r.tasks))
	for i, wall := range []float64{2, 10} {
		r.pace.add(&r.tasks[i], &Result{Timing: &Timing{Wall: wall}})
	}
	if left := r.left(); left != 10*time.Second {
		t.Errorf("%v left for cases of 2 s and 10 s, want the longer", left)
	}
}

package rivals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario/scenariotest"
	"github.com/clustergym/clustergym/env/sim/simtest"
	"pgregory.net/rapid"
)

// quick returns a policy's name with options that make it fast.
func quick(name string) string {
	switch head, rest, _ := strings.Cut(name, "+"); head {
	case "rollout":
		return strings.TrimSuffix("rollout:futures=2:items=3+"+rest, "+")
	case "pollux":
		return strings.TrimSuffix("pollux:generations=5+"+rest, "+")
	}
	return name
}

// names returns the names of these policies, with suffixes.
func names() (all []string) {
	for _, b := range All() {
		all = append(all, b.Name, b.Name+baselines.LoanSuffix, b.Name+baselines.MoveSuffix, b.Name+baselines.KnowSuffix)
		if b.Orders() {
			all = append(all, b.Name+baselines.MenuSuffix, b.Name+baselines.MenuSuffix+baselines.MoveSuffix)
		}
	}
	return all
}

func made(t rapid.TB, name string) cluster.Scheduler {
	t.Helper()
	p, err := Table().New(name)
	if err != nil {
		t.Fatal(err)
	}
	if p.Name() != name {
		t.Errorf("%s calls itself %s", name, p.Name())
	}
	return p
}

// TestPoliciesFinish checks that every policy finishes every job of drawn episodes, and that the same seed gives the same
// schedule for a fresh scheduler and after a Reset in mid-episode.
func TestPoliciesFinish(t *testing.T) {
	for _, name := range names() {
		name = quick(name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simtest.Many(t, 100, func(t *rapid.T) {
				e, seed := simtest.Draw(t), rapid.Uint64().Draw(t, "seed")
				used := made(t, name)
				first := simtest.Play(t, e, used, seed)
				simtest.Play(t, e, used, seed+1)
				if !first.Outcome.Terminated {
					t.Fatalf("outcome %+v, want every job finished", first.Outcome)
				}
				want := simtest.Written(t, first)
				if again := simtest.Written(t, simtest.Play(t, e, used, seed)); again != want {
					t.Fatalf("schedule\n%s, after Reset\n%s", want, again)
				}
				if anew := simtest.Written(t, simtest.Play(t, e, made(t, name), seed)); anew != want {
					t.Fatalf("schedule\n%s, anew\n%s", want, anew)
				}
			})
		})
	}
}

// TestWhoNeedsEstimates checks that a policy is said to need estimates if and only if it fails where no job has one.
func TestWhoNeedsEstimates(t *testing.T) {
	e := scenariotest.Episode(t, "embedded-small-v1", "estimates.kind=none", "window.arrivals=12")
	for _, name := range append(names(), "rollout:base=las", "spjf:predictor=granted") {
		name = quick(name)
		run, err := e.New()
		if err != nil {
			t.Fatal(err)
		}
		err = run.Run(t.Context(), made(t, name), 1)
		spec, mistake := Table().Parse(name)
		if mistake != nil {
			t.Fatal(mistake)
		}
		needs := spec.Needs().Estimates
		if fails := errors.Is(err, cluster.ErrNoEstimate); needs != fails || err != nil && !fails {
			t.Errorf("%s needs estimates: %v, and without them: %v", name, needs, err)
		}
	}
}

// TestKnowHidesEstimates checks that a policy with +know decides alike without estimates, with true ones and with wrong ones.
func TestKnowHidesEstimates(t *testing.T) {
	for _, b := range All() {
		name := quick(b.Name + baselines.KnowSuffix)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var logs []string
			for _, sets := range [][]string{{"kind=none"}, {"kind=noisy", "sigma=0"}, {"kind=noisy", "sigma=2"}} {
				all := []string{"window.arrivals=40", "window.warm=20", "workload.load=3"}
				for _, s := range sets {
					all = append(all, "estimates."+s)
				}
				e := scenariotest.Episode(t, "embedded-physics-v1", all...)
				l := simtest.Play(t, &e.Episode, made(t, name), 1)
				var b strings.Builder
				for i := range l.Records {
					r := &l.Records[i]
					fmt.Fprintf(&b, "%v %v %d %v\n", r.At, r.Kind, r.Job, l.Placement(r))
				}
				logs = append(logs, b.String())
			}
			if len(slices.Compact(logs)) > 1 {
				t.Errorf("it decides differently:\n%s", strings.Join(logs, "\n\n"))
			}
		})
	}
}

// TestFilesOfABase checks that a rollout needs what its base needs.
func TestFilesOfABase(t *testing.T) {
	spec, err := Table().Parse("rollout:base=a-srpt/predictor=y.predictor")
	if err != nil || !slices.Equal(spec.Files(), []string{"y.predictor"}) {
		t.Errorf("files %q, %v", spec.Files(), err)
	}
	spec, err = Table().Parse("rollout:base=a-srpt/predictor=fitted")
	if err != nil || spec.Needs() != (baselines.Needs{Fitted: true}) {
		t.Errorf("needs %+v, %v", spec.Needs(), err)
	}
	if _, err := Table().Parse("rollout:base=rollout"); err == nil || !strings.Contains(err.Error(), "want a baseline but rollout") {
		t.Errorf("a rollout of a rollout: error %v", err)
	}
}

// TestOptionsThatAreGone checks that an option of which no other value was useful is refused with that reason.
func TestOptionsThatAreGone(t *testing.T) {
	for _, name := range []string{"gavel:aware=false", "pollux:floor=1", "pollux:scaling=linear", "pollux:power=-2", "rollout:wide=true"} {
		if _, err := Table().New(name); err == nil || !strings.Contains(err.Error(), "is gone, because no other value of it was useful") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

package scenario

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/sim"
)

// TestForbiddenPreemption checks that the cluster of a scenario with preempt: forbidden refuses preemption, and that the built-in
// one is a scenario of the family venus in all else that matters.
func TestForbiddenPreemption(t *testing.T) {
	s, err := Load("nopreempt-venus-v1")
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := s.SimConfig()
	if err != nil || !cfg.Cluster.NoPreemption {
		t.Errorf("the cluster allows preemption, error %v", err)
	}
	like, err := Load("venus-load110-weak-moldable-warm-v1")
	if err != nil {
		t.Fatal(err)
	}
	s.Preempt, s.Name, s.About, s.Real, s.Assumed = "", like.Name, like.About, like.Real, like.Assumed
	if !reflect.DeepEqual(s, like) {
		t.Errorf("it is\n%+v, want\n%+v", s, like)
	}
	for set, want := range map[string]string{
		"preempt=never":       `preempt "never", want nothing (allowed) or "forbidden"`,
		"inference.servers=2": `preempt "forbidden" beside inference.servers 2, want one of them`,
	} {
		if _, err := Load("nopreempt-venus-v1", set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", set, err, want)
		}
	}
}

// TestNobodyPreempts plays a preemptive order where preemption is forbidden.
func TestNobodyPreempts(t *testing.T) {
	for _, preempt := range []string{"", "forbidden"} {
		src := builtinSource(t, "embedded-small-v1", "workload.jobs=600", "window.arrivals=50", "preempt="+preempt)
		e, err := src.Episode(Test, 0, 1)
		if err != nil {
			t.Fatal(err)
		}
		played, err := sim.New(e.Config, e.Jobs)
		if err != nil {
			t.Fatal(err)
		}
		order, err := baselines.New("srtf")
		if err != nil {
			t.Fatal(err)
		}
		if err := played.Run(t.Context(), order, 1); err != nil {
			t.Fatal(err)
		}
		stops := 0
		for _, r := range played.Log().Records {
			if r.Kind == sim.Preempt {
				stops++
			}
		}
		if forbidden := preempt != ""; forbidden != (stops == 0) || !played.Log().Outcome.Terminated {
			t.Errorf("preempt %q: srtf stops %d jobs, outcome %+v", preempt, stops, played.Log().Outcome)
		}
	}
}

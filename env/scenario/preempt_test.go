package scenario

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// TestForbiddenPreemption checks that the cluster of a scenario with preempt: forbidden refuses preemption, and that the built-in
// one is a scenario of the family venus in all else that matters.
func TestForbiddenPreemption(t *testing.T) {
	s := must.Get(Load("nopreempt-venus-v1"))(t)
	cfg, err := s.SimConfig()
	if err != nil || !cfg.Cluster.NoPreemption {
		t.Errorf("the cluster allows preemption, error %v", err)
	}
	like := must.Get(Load("venus-load110-weak-moldable-warm-v1"))(t)
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
		e := must.Get(src.Episode(Test, 0, 1))(t)
		played := must.Get(sim.New(e.Config, e.Jobs))(t)
		order := must.Get(baselines.New("srtf"))(t)
		must.Do(t, played.Run(t.Context(), order, 1))
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

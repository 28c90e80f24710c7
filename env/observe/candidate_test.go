package observe_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/sim/simtest"
)

func TestWorkDoneIsAtRisk(t *testing.T) {
	g := of(2)
	g.run(0, 2, 5*hour)
	g.run(0, 2, 5*hour)
	s := g.build(t)
	s.SetProgress(0, 2*hour, s.Now(), 1)
	s.SetProgress(1, hour, s.Now(), 1)
	spec, o := encode(t, &observe.Standard{Window: g.window}, s,
		candidate(candidates.Own, 0, stop(0), as(cluster.OpMigrate, g.place(1, 1, 2))), candidates.Candidate{Kind: candidates.Veto, Job: 0},
	)
	width := len(spec.Candidate)
	for i, want := range []float32{logTime(3 * hour), 0} {
		if got := read(t, spec.Candidate, o.Candidates[i*width:], "at_risk"); got != want {
			t.Errorf("candidate %d: at_risk is %v, want %v", i, got, want)
		}
	}
}

func TestCandidatesPointToTheirJobs(t *testing.T) {
	g := of(4)
	g.run(0, 6, hour)
	g.run(3, 2, hour)
	a, b := g.wait(4, hour), g.wait(12, hour)
	spec, o := encode(t, &observe.Standard{Window: g.window}, g.build(t),
		candidate(candidates.Own, a, g.place(a, 1, 3, 0, 1)), later(candidate(candidates.Wait, a), hour),
		candidate(candidates.Preempt, b, stop(0), g.place(b, 1, 8, 0, 4)), candidates.Candidate{Kind: candidates.Stop, Job: -1},
		candidate(candidates.Move, 1, as(cluster.OpMigrate, g.place(1, 1, 2))),
	)
	if !slices.Equal(o.Of, []int32{0, 0, 1, -1, 2}) || !slices.Equal(o.Ids, []cluster.JobID{2, 3, 1}) {
		t.Errorf("candidates are about rows %v of jobs %v", o.Of, o.Ids)
	}
	if got := value(t, &spec, o, "job", 2, "startable"); got != 0 {
		t.Errorf("a running job is startable: %v", got)
	}
}

func TestCandidateFeaturesHaveNames(t *testing.T) {
	seen, features := map[string]bool{}, new(observe.Standard).Spec().Candidate
	for i, f := range features {
		if f.Name == "" || seen[f.Name] || f.Unit == "" || f.Min >= f.Max {
			t.Errorf("feature %d is %+v", i, f)
		}
		seen[f.Name] = true
	}
	if features[candidates.Preempt].Name != candidates.Preempt.String() || candidates.Reserve.String() != "reserve" {
		t.Errorf("kinds are %v and %v", candidates.Preempt, candidates.Reserve)
	}
}

func TestImpossibleCandidatesAreNamed(t *testing.T) {
	g := of(1)
	g.known = felt{}
	g.run(0, 6, hour)
	a := g.wait(2, hour)
	beyond := g.place(a, 0, 2)
	beyond.Placement[0].Server = 7
	for _, c := range []struct {
		says  string
		tries candidates.Candidate
		want  string
	}{
		{"no room", candidate(candidates.Begin, a, g.place(a, 0, 2), g.place(0, 0, 3)), "candidate 1 (begin of job 1): place job 0"},
		{"no server", candidate(candidates.Begin, a, beyond), "candidate 1 (begin of job 1): place job 1"},
		{"no job", candidate(candidates.Preempt, 9, stop(9)), "candidate 1 (preempt of job 9)"},
		{"another job that is none", candidate(candidates.Preempt, a, stop(9)), "candidate 1 (preempt of job 1): preempt job 9"},
		{"not running", candidate(candidates.Preempt, a, stop(a)), "candidate 1 (preempt of job 1): preempt job 1"},
	} {
		t.Run(c.says, func(t *testing.T) {
			s := g.build(t)
			tx, before := s.Begin(nil), simtest.Portray(&s.View)
			list := []candidates.Candidate{candidate(candidates.Own, a, g.place(a, 0, 2)), c.tries}
			err := new(observe.Standard).Encode(tx, list, &observe.Observation{})
			if !errors.Is(err, cluster.ErrInfeasible) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that is infeasible and says %q", err, c.want)
			}
			if after := simtest.Portray(&s.View); after != before || tx.Mark() != 0 {
				t.Errorf("the state is %s, was %s", after, before)
			}
		})
	}
	err := new(observe.Standard).Encode(g.build(t).Begin(nil), []candidates.Candidate{{Kind: 99, Job: -1}}, &observe.Observation{})
	if err == nil || !strings.Contains(err.Error(), "kind(99)") {
		t.Errorf("error %v, want one about kind(99)", err)
	}
}

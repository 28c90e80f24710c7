package whatif_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// TestCostsOfALog checks that a play from the first decision of a log on costs what the meter of its whole log says, by each
// objective of the library, and that a later decision costs less.
func TestCostsOfALog(t *testing.T) {
	log, p := pastOf(t, "srtf")
	o := whatif.Options{Seed: 1}
	for _, name := range objectives.Names() {
		o.Objectives = append(o.Objectives, must.Get(objectives.Open(name))(t))
	}
	whole := must.Get(whatif.PlayLog(t.Context(), log, 1, *p, whatif.Change{}, o))(t)
	part := must.Get(whatif.PlayLog(t.Context(), log, 100, *p, whatif.Change{}, o))(t)
	charged := 0
	for i, objective := range o.Objectives {
		m := must.Get(eval.Replay(whole.Log, objective))(t)
		if got, want := whole.Costs[i].Total, m.Total(); math.Abs(got-want) > 1e-9*max(want, 1) {
			t.Errorf("%s costs %v, want %v", objective.Name, got, want)
		}
		if got, most := part.Costs[i].Total, m.Total(); got > most || got == most && most > 0 {
			t.Errorf("%s costs %v from decision 100 on, want less than %v", objective.Name, got, most)
		}
		if whole.Costs[i].Total > 0 {
			charged++
		}
	}
	if charged < 4 {
		t.Errorf("%d objectives cost anything", charged)
	}
}

// TestCostsOfASnapshot checks what is charged, and to whom, on two servers, of which one is busy for an hour, if a server fails.
func TestCostsOfASnapshot(t *testing.T) {
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(`{"version": 1, "now_s": 3600,
		"servers": [{"name": "a", "gpus": 2, "cpu_milli": null, "mem_mib": null}, {"name": "b", "gpus": 2, "cpu_milli": null, "mem_mib": null}],
		"jobs": [
			{"id": "x", "submit_s": 0, "workers": 2, "estimate_s": 7200, "progress_s": 3600, "state": "running", "tenant": "one",
				"placement": [{"server": "a", "workers": 2, "gpus": [0, 1]}]},
			{"id": "y", "submit_s": 3000, "workers": 1, "estimate_s": 1800, "state": "pending", "tenant": "two"}
		]}`)))(t)
	objective := must.Get(objectives.Open(`{"name": "waits", "unit": "minutes", "terms": [{"cost": "wait", "price": "1/min"},
		{"cost": "gpu_time", "price": "1/h"}]}`))(t)
	play := func(c whatif.Change) *whatif.Outcome {
		p := policy.Policy{Name: "fifo", New: func() (cluster.Scheduler, error) { return baselines.New("fifo") }}
		return must.Get(whatif.Play(t.Context(), &s.View, p, c, whatif.Options{Objectives: []*objectives.Objective{objective}}))(t)
	}
	r := whatif.Compare(play(whatif.Change{}), play(whatif.Change{Remove: []string{"b"}}))
	if a, b := r.Base.Costs[0], r.Change.Costs[0]; a.Total != 2.5 || b.Total != 62.5 || b.Terms[0].Cost != 60 || b.Terms[1].Cost != 2.5 {
		t.Errorf("%+v and %+v, want 2.5 and 62.5", a, b)
	}
	var text bytes.Buffer
	must.Do(t, r.WriteText(&text, 0))
	const want = `
waits, minutes      fifo, as it is  fifo, 1 server less  difference
cost from now on    2.5             62.5                 +60
  wait              0               60                   +60
  gpu_time          2.5             2.5                  0
  GPUs 1 (1 job)    0.5             60.5                 +60
  GPUs 2-4 (1 job)  2               2                    0
  one (1 job)       2               2                    0
  two (1 job)       0.5             60.5                 +60
`
	if !strings.Contains(text.String(), want) {
		t.Errorf("no such costs in\n%s", text.String())
	}
}

// TestStopsOfTheFirstDecisionCost checks that a job is charged that the policy, or a server that is removed, stops at once.
func TestStopsOfTheFirstDecisionCost(t *testing.T) {
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(`{"version": 1, "now_s": 100,
		"servers": [{"name": "a", "gpus": 1, "cpu_milli": null, "mem_mib": null}],
		"jobs": [{"id": "x", "submit_s": 0, "workers": 1, "estimate_s": 160, "progress_s": 100, "state": "running",
				"placement": [{"server": "a", "workers": 1, "gpus": [0]}]},
			{"id": "y", "submit_s": 0, "workers": 1, "estimate_s": 30, "state": "pending"}]}`)))(t)
	objective := must.Get(objectives.Open(`{"name": "stops", "terms": [{"cost": "stop", "price": 30}]}`))(t)
	for _, c := range []struct {
		name   string
		change whatif.Change
		want   float64
	}{
		{"srtf", whatif.Change{}, 30}, {"fifo", whatif.Change{}, 0},
		{"fifo", whatif.Change{Remove: []string{"a"}, Add: []whatif.Servers{{Count: 1, GPUs: 1}}}, 30},
	} {
		p := policy.Policy{Name: c.name, New: func() (cluster.Scheduler, error) { return baselines.New(c.name) }}
		o := must.Get(whatif.Play(t.Context(), &s.View, p, c.change, whatif.Options{Objectives: []*objectives.Objective{objective}}))(t)
		if got := o.Costs[0].Total; got != c.want || o.Preemptions+o.Interruptions != int(c.want/30) {
			t.Errorf("%s, %s: %d stops and %d interruptions cost %v, want %v", c.name, o.Cluster, o.Preemptions, o.Interruptions, got, c.want)
		}
	}
}

// TestTheFirstDecisionOfASnapshot checks by hand what follows if the first decision about a snapshot is altered.
func TestTheFirstDecisionOfASnapshot(t *testing.T) {
	s := must.Get(cluster.ReadSnapshot(strings.NewReader(`{"version": 1, "now_s": 0,
		"servers": [{"name": "a", "gpus": 1, "cpu_milli": null, "mem_mib": null}],
		"jobs": [{"id": "x", "submit_s": 0, "workers": 1, "estimate_s": 60, "state": "pending"},
			{"id": "y", "submit_s": 0, "workers": 1, "estimate_s": 100, "state": "pending"}]}`)))(t)
	for _, c := range []struct {
		change         whatif.Change
		x, y           float64 // when they start
		does, no, name string
	}{
		{whatif.Change{}, 0, 60, "start x: 1 worker (1 GPU) on a", "", "as it is"},
		{whatif.Change{Nothing: true}, 600, 660, "nothing", "", "nothing now"},
		{whatif.Change{Leave: "x"}, 600, 660, "nothing", "", "leaving x"},
		{whatif.Change{Start: "y"}, 100, 0, "start y: 1 worker (1 GPU) on a", "start x: 1 worker (1 GPU) on a", "starting y"},
	} {
		p := policy.Policy{Name: "fifo", New: func() (cluster.Scheduler, error) { return baselines.New("fifo") }}
		o := must.Get(whatif.Play(t.Context(), &s.View, p, c.change, whatif.Options{}))(t)
		if x, y := o.Jobs[0].Start.Seconds(), o.Jobs[1].Start.Seconds(); x != c.x || y != c.y || o.First.Does != c.does ||
			strings.Join(o.First.Dropped, "") != c.no || o.Cluster != c.name {
			t.Errorf("%+v: they start at %v and %v, want %v and %v: %+v", c.change, x, y, c.x, c.y, o.First)
		}
	}
}

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// story tells a loop of a cluster at one time after the other.
type story struct {
	*Loop
	log   bytes.Buffer
	from  *prometheus.Registry
	nodes []*corev1.Node
}

// life is a gang of one pod in a story: when it starts and ends in the cluster, in minutes from noon; never if 0.
type life struct {
	crew
	starts, ends int
}

func newStory(t *testing.T, by, objective string, nodes ...*corev1.Node) *story {
	t.Helper()
	source := must.Get(new(policy.Finder).Find(by))(t)
	o := must.Get(objectives.Read(strings.NewReader(objective)))(t)
	d := must.Get(decide.New(decide.Config{Source: source, Deadline: time.Minute, Objective: o}))(t)
	s := &story{from: prometheus.NewRegistry(), nodes: nodes}
	s.Loop = must.Get(New(Config{
		Mode: Shadow, Decider: d, Mirror: reading, Stops: 1, Log: slog.New(slog.NewJSONHandler(&s.log, nil)),
	}, s.from))(t)
	return s
}

// at shows the cluster some minutes after noon. Gangs are asked for at noon.
func (s *story) at(t *testing.T, minutes int, mode Mode, lives ...life) {
	t.Helper()
	now := noon.Add(time.Duration(minutes) * time.Minute)
	o := &mirror.Objects{Nodes: s.nodes, ReclaimBy: noon}
	for _, x := range lives {
		node := x.on
		if x.on = nil; x.starts > 0 && minutes >= x.starts {
			x.on = node
		}
		for _, pod := range x.list() {
			switch {
			case x.ends > 0 && minutes >= x.ends:
				pod.Status.Phase = corev1.PodSucceeded
			case x.on != nil:
				pod.Status.StartTime = &metav1.Time{Time: noon.Add(time.Duration(x.starts) * time.Minute)}
			}
			o.Pods = append(o.Pods, pod)
		}
	}
	v := must.Get(mirror.Build(o, &reading, now))(t)
	s.seeCosts(context.Background(), v, mode, now)
}

// costs returns the sums of a metric by term.
func (s *story) metric(t *testing.T, name string) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, f := range must.Get(s.from.Gather())(t) {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				all[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return all
}

const byWaits = "name: w\nunit: min\nterms: [{cost: wait, price: 1/min}, {cost: completion, price: 1/min}, {cost: stop, price: 1}]"

func one(name, on string, gpus int64, starts, ends int) life {
	return life{crew{name: name, pods: 1, least: 1, gpus: gpus, on: []string{on}}, starts, ends}
}

// TestShadowCosts checks what the cluster costs and what it would cost under the policy, by the end of stories.
func TestShadowCosts(t *testing.T) {
	for _, c := range []struct {
		name            string
		by              string
		lives           []life
		minutes         int
		cluster, policy []float64 // wait, completion, stop
	}{
		{"a start that the policy would have made ten minutes earlier", "fifo", []life{one("g", "a", 4, 11, 21)}, 30,
			[]float64{10, 20, 0}, []float64{0, 20, 0}}, // nobody knows how long it runs until it has ended
		{"a gang that ran as long as estimated", "fifo", []life{one("g", "a", 4, 31, 91)}, 100,
			[]float64{30, 90, 0}, []float64{0, 60, 0}},
		{"as the policy would have done", "fifo", []life{one("g", "a", 4, 2, 12)}, 30, []float64{1, 11, 0}, []float64{0, 11, 0}},
		{"a gang that the cluster prefers", "fifo", []life{one("g", "a", 4, 12, 22), one("h", "a", 4, 2, 12)}, 60,
			[]float64{11 + 1, 21 + 11, 0}, []float64{21, 21 + 31, 0}}, // h must wait for g, and then runs for ten minutes
		{"deleted while it waits", "fifo", []life{one("f", "a", 4, 1, 40), one("g", "a", 4, 0, 11)}, 20,
			[]float64{10, 29, 0}, []float64{10, 29, 0}},
	} {
		s := newStory(t, c.by, byWaits, node("a", 4, nil))
		for m := 1; m <= c.minutes; m++ {
			s.at(t, m, Shadow, c.lives...)
		}
		for i, term := range []string{"wait", "completion", "stop"} {
			is, would := s.metric(t, "clustergym_cost_total")[term], s.metric(t, "clustergym_shadow_cost_total")[term]
			if math.Abs(is-c.cluster[i]) > 1e-9 || math.Abs(would-c.policy[i]) > 1e-9 {
				t.Errorf("%s: %s costs %v, by the policy %v; want %v and %v", c.name, term, is, would, c.cluster[i], c.policy[i])
			}
		}
		if s.costs.twin.gangs == nil || len(s.costs.twin.gangs) > len(c.lives) {
			t.Errorf("%s: %d gangs in the twin", c.name, len(s.costs.twin.gangs))
		}
	}
}

// TestTwinStops checks that the twin stops gangs within the limit, that they keep their work, and that stops count.
func TestTwinStops(t *testing.T) {
	s := newStory(t, "srtf", byWaits, node("a", 4, nil))
	long, short, short2 := one("long", "a", 4, 1, 61), one("short", "a", 4, 0, 0), one("short2", "a", 4, 0, 0)
	short.extra = map[string]string{pods.EstimateNote: "5m"}
	short2.extra = map[string]string{pods.EstimateNote: "4m"}
	for m := 1; m <= 68; m++ {
		lives := []life{long}
		if m >= 10 {
			lives = append(lives, short)
		}
		if m >= 30 {
			lives = append(lives, short2) // the limit is one stop an hour
		}
		s.at(t, m, Shadow, lives...)
		// It runs from 1 to 10 and from 15 on, in all for an hour.
		if g := s.costs.twin.gangs["default/long"]; (g != nil) != (m < 66) {
			t.Fatalf("after %d min: %+v, want that it ends after 66", m, g)
		}
	}
	if is, would := s.metric(t, "clustergym_cost_total"), s.metric(t, "clustergym_shadow_cost_total"); is["stop"] != 0 ||
		would["stop"] != 1 || is["wait"] <= would["wait"] {
		t.Errorf("costs %v, by the policy %v; want one stop by the policy, and less waiting", is, would)
	}
}

// TestTwinLosesANode checks that a gang waits in the twin whose node is gone, and that modes other than shadow have no twin.
func TestTwinLosesANode(t *testing.T) {
	s := newStory(t, "fifo", byWaits, node("a", 4, nil), node("b", 4, nil))
	g, h := one("g", "a", 4, 0, 0), one("h", "b", 4, 1, 0)
	s.at(t, 1, Shadow, g, h)
	if on := s.costs.twin.gangs["default/g"].on; len(on) != 1 || on[0].node != "a" {
		t.Fatalf("it holds %v, want a", on)
	}
	s.nodes = s.nodes[1:]
	s.at(t, 2, Shadow, g, h)
	if on := s.costs.twin.gangs["default/g"].on; on != nil || s.costs.twin.gangs["default/h"].on == nil {
		t.Errorf("it holds %v, want nothing", on)
	}
	s.at(t, 3, Live, g, h)
	before := s.metric(t, "clustergym_shadow_cost_total")
	s.at(t, 9, Live, g, h)
	if after := s.metric(t, "clustergym_shadow_cost_total"); s.costs.twin != nil || after["wait"] != before["wait"] {
		t.Errorf("in live mode the policy's side went from %v to %v", before, after)
	}
}

// TestDailyCosts checks that the first round of a day says what the last one cost, on both sides if it was in shadow mode.
func TestDailyCosts(t *testing.T) {
	s := newStory(t, "fifo", byWaits, node("a", 4, nil))
	g := one("g", "a", 4, 0, 0)
	for m := 1; m <= 60*37; m += 60 {
		mode := Shadow
		if m > 60*30 {
			mode = Live
		}
		s.at(t, m, mode, g)
	}
	type line struct {
		Msg, Objective, Unit   string
		Hours, Cluster, Policy *float64
	}
	var said []line
	for text := range bytes.SplitSeq(bytes.TrimSpace(s.log.Bytes()), []byte("\n")) {
		var l line
		must.Do(t, json.Unmarshal(text, &l))
		said = append(said, l)
	}
	said = slices.DeleteFunc(said, func(l line) bool { return l.Msg != "cost of the day" })
	if len(said) != 2 || said[0].Policy == nil || said[1].Policy != nil || said[0].Objective != "w" || said[0].Unit != "min" {
		t.Fatalf("%+v", said)
	}
	if *said[0].Hours != 12 || *said[0].Cluster != 2*720 || *said[0].Policy != 60 {
		t.Errorf("in %v h it cost %v, by the policy %v; want 12, 1440 and 60", *said[0].Hours, *said[0].Cluster, *said[0].Policy)
	}
}

package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/internal/must"
)

// outcome returns all changes of a round as text, except those of gangs whose names begin with never.
func outcome(r *round) string {
	var all []string
	add := func(gang, format string, args ...any) {
		if !strings.HasPrefix(gang, "default/never") {
			all = append(all, gang+fmt.Sprintf(format, args...))
		}
	}
	for _, b := range r.bind {
		for _, x := range b.pods {
			add(b.key, " binds %s to %s", x.Pod.Name, x.Node)
		}
	}
	for _, id := range r.stop {
		add(name(r, id), " stops")
	}
	for _, x := range r.scale {
		add(name(r, x.job), " scales to %d", x.replicas)
	}
	for _, id := range r.later {
		add(name(r, id), " starts later")
	}
	for _, h := range r.held {
		if int(h.Job) < len(r.view.Jobs) {
			add(name(r, h.Job), " is held: %s", h.Reason)
		}
	}
	return fmt.Sprint(strings.Join(all, "\n"), "\nlends ", r.loan, ", gives back ", r.giveBack)
}

// neverStarts draws a gang that does not fit even on empty nodes.
func neverStarts(t *rapid.T, nodes []*corev1.Node) crew {
	gpus := int64(0)
	for _, n := range nodes {
		q := n.Status.Allocatable[gpu]
		gpus += q.Value()
	}
	g := crew{
		name: "never", pods: rapid.IntRange(1, 3).Draw(t, "pods of it"), gpus: 1, priority: rapid.Int32Range(0, 2).Draw(t, "its priority"),
		asked: time.Duration(rapid.IntRange(0, 200).Draw(t, "its age")) * time.Hour,
	}
	switch rapid.SampledFrom([]string{"selector", "GPUs a pod", "pods"}).Draw(t, "why it cannot start") {
	case "selector":
		g.selector = map[string]string{"type": "a typo"}
	case "GPUs a pod":
		g.gpus = 16
	case "pods":
		g.pods = int(gpus) + 1
	}
	g.least = g.pods
	return g
}

// TestGangThatCannotStartChangesNothing checks, for several policies, that a gang that can never start changes nothing for the
// others, however long it has waited.
func TestGangThatCannotStartChangesNothing(t *testing.T) {
	for _, policy := range []string{"fifo", "sjfskip", "srtf", "las", "lyra+loan", "lyra", "prior", "released"} {
		t.Run(policy, func(t *testing.T) {
			d := decider(t, policy)
			rapid.Check(t, func(t *rapid.T) {
				nodes, crews := draw(t)
				offer := int32(rapid.IntRange(0, 2).Draw(t, "offer"))
				stops := rapid.IntRange(0, 3).Draw(t, "stops")
				var got [2]string
				for i := range got {
					if i == 1 {
						crews = append(crews, neverStarts(t, nodes))
					}
					v, _ := view(t, nodes, crews, offer)
					r := decideRound(v, d, "r", limits{stops: stops, waits: since(v, 24*time.Hour)})
					if len(r.failed) > 0 {
						t.Fatalf("not decided: %v", r.failed)
					}
					got[i] = outcome(r)
				}
				if got[0] != got[1] {
					t.Fatalf("without it:\n%s\nwith it:\n%s", got[0], got[1])
				}
			})
		})
	}
}

// TestGangThatCannotStartIsTold checks that the first round reports why a gang can never start, in an event and in the condition
// of its pods.
func TestGangThatCannotStartIsTold(t *testing.T) {
	nodes := []*corev1.Node{node("a", 8, nil), node("b", 8, nil)}
	big := crew{name: "big", pods: 2, least: 2, gpus: 16}
	v, o := view(t, nodes, []crew{big}, 0)
	l, client, _ := liveLoop(t, o.Pods[0], o.Pods[1])
	told := events.NewFakeRecorder(10)
	l.Actor.Events = told
	r := decideRound(v, decider(t, "fifo"), "r", limits{})
	l.speak(t.Context(), r, noon)
	const want = "cannot start even on empty nodes: each pod asks for 16 GPUs, and no node of the 2 that will do has more than 8 (never-fits)"
	select {
	case got := <-told.Events:
		if !strings.Contains(got, "FailedScheduling "+want) {
			t.Errorf("the event says %q, want %q", got, want)
		}
	default:
		t.Error("no event")
	}
	conditions := 0
	for _, action := range client.Actions() {
		if patch, ok := action.(ktesting.PatchAction); ok && strings.Contains(string(patch.GetPatch()), want) {
			conditions++
		}
	}
	if conditions != 2 {
		t.Errorf("%d pods have a condition that says so, want both", conditions)
	}
	if got := gangCounts(t, r); got["never-fits"] != 1 || got["pending"] != 0 {
		t.Errorf("%v gangs count as such that never fit and %v as pending, want 1 and 0", got["never-fits"], got["pending"])
	}
}

// gangCounts returns the values of the gangs metric after a round, by state.
func gangCounts(t *testing.T, r *round) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	m := must.Get(newMetrics(registry))(t)
	m.see(r)
	families := must.Get(registry.Gather())(t)
	by := map[string]float64{}
	for _, family := range families {
		for _, x := range family.GetMetric() {
			if family.GetName() == "clustergym_kube_gangs" {
				by[x.GetLabel()[0].GetValue()] = x.GetGauge().GetValue()
			}
		}
	}
	return by
}

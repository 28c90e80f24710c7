package control

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// TestNamespacesShareTheReports checks that a thousand refused pods of one namespace do not keep the pods of other namespaces
// from being reported in the same round, and that the following rounds report those left over.
func TestNamespacesShareTheReports(t *testing.T) {
	l, client, _ := liveLoop(t)
	client.PrependReactor("patch", "pods", func(ktesting.Action) (bool, runtime.Object, error) { return true, &corev1.Pod{}, nil })
	v := &mirror.View{}
	for i := range 1000 {
		pod := aPod(fmt.Sprintf("spam-%d", i), "")
		pod.Namespace = "spam"
		v.Refused = append(v.Refused, mirror.Refusal{Pod: pod, Reason: "NoGPU", Message: "no GPU"})
	}
	for i := range 150 {
		pod := aPod(fmt.Sprintf("honest-%d", i), "")
		pod.Namespace = fmt.Sprintf("team-%d", i%3)
		v.Waiting = append(v.Waiting, mirror.Incomplete{Pods: []*corev1.Pod{pod}, Why: "pods are missing"})
	}
	told := 0
	for n, want := range []int{150, 0, 0} {
		client.ClearActions()
		l.speak(t.Context(), &round{view: v}, began.Add(time.Duration(n)*time.Second))
		honest, all := 0, 0
		for _, action := range client.Actions() {
			if patch, ok := action.(ktesting.PatchAction); ok {
				all++
				if strings.HasPrefix(patch.GetName(), "honest-") {
					honest++
				}
			}
		}
		if all != mostWords || honest != want {
			t.Errorf("round %d: %d pods reported, %d of them of other namespaces; want %d and %d", n, all, honest, mostWords, want)
		}
		told += all
	}
	if told != len(l.said.about) {
		t.Errorf("%d reports, and %d pods remembered", told, len(l.said.about))
	}
}

// TestGangsAreToldWhenTheyStart checks that a gang that waits is told when it is expected to start, and that the metrics say so.
func TestGangsAreToldWhenTheyStart(t *testing.T) {
	source := must.Get(new(policy.Finder).Find("fifo"))(t)
	d, err := decide.New(decide.Config{Source: source, Deadline: time.Minute, Forecaster: new(whatif.Forecaster), Forecasts: time.Minute})
	must.Do(t, err)
	v, _ := view(t, []*corev1.Node{node("a", 4, nil)}, []crew{
		{name: "runs", pods: 1, least: 1, gpus: 4, on: []string{"a"}, asked: time.Hour},
		{name: "waits", pods: 1, least: 1, gpus: 4, asked: time.Minute},
	}, 0)
	r := decideRound(v, d, "r", limits{explain: true})
	if why := r.reasons()["default/waits"]; !strings.Contains(why, "(no-room by fifo); it is expected to start in about") {
		t.Errorf("the gang is told %q", why)
	}
	registry := prometheus.NewRegistry()
	m := must.Get(newMetrics(registry))(t)
	m.see(r)
	m.see(&round{view: v}) // a round without forecasts leaves the last ones
	families := must.Get(registry.Gather())(t)
	n := 0
	for _, family := range families {
		for _, x := range family.GetMetric() {
			if family.GetName() == "clustergym_kube_expected_start_seconds" && x.GetGauge().GetValue() > 0 {
				n++
			}
		}
	}
	if n != 2 {
		t.Errorf("%d gauges of expected starts, want two", n)
	}
}

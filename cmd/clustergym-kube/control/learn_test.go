package control

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// TestRoundsTeach checks which gangs teach their run times when they no longer run: those whose pods have succeeded, and no others.
func TestRoundsTeach(t *testing.T) {
	nodes := []*corev1.Node{node("a", 8, nil)}
	runs := func() []*corev1.Pod {
		return crew{name: "train", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list()
	}
	succeeded := func(pods []*corev1.Pod) []*corev1.Pod {
		for _, pod := range pods {
			pod.Status.Phase = corev1.PodSucceeded
		}
		return pods
	}
	for _, c := range []struct {
		name  string
		pods  []*corev1.Pod // in the next round
		ended int64
	}{
		{"it runs", runs(), 0},
		{"all pods have succeeded", succeeded(runs()), 1},
		{"one pod has succeeded", append(succeeded(runs()[:1]), runs()[1]), 0},
		{"one pod is left, the other is gone", succeeded(runs()[:1]), 1},
		{"it was stopped and waits", crew{name: "train", pods: 2, least: 2, gpus: 2, asked: time.Minute}.list(), 0},
		{"it was stopped and is not there yet", nil, 0},
		{"one pod was created again", append(runs()[:1], crew{name: "train", pods: 2, least: 2, gpus: 2}.list()[1]), 0},
		{"one pod is missing", runs()[:1], 0},
		{"its pods are being deleted", func() []*corev1.Pod {
			pods := runs()
			for _, pod := range pods {
				pod.DeletionTimestamp = &metav1.Time{Time: noon}
			}
			return pods
		}(), 0},
		{"it waits behind one of higher priority", append(crew{name: "train", pods: 2, least: 2, gpus: 2}.list(),
			crew{name: "first", pods: 1, least: 1, gpus: 8, priority: 9}.list()...), 0},
	} {
		d := decider(t, "sjfskip+know:time=history")
		round := func(pods []*corev1.Pod, at time.Time) {
			o := &mirror.Objects{Nodes: nodes, Pods: pods, ReclaimBy: noon}
			v := must.Get(mirror.Build(o, &reading, at))(t)
			if r := decideRound(v, d, "r", limits{}); len(r.failed) > 0 {
				t.Fatal(r.failed)
			}
		}
		round(runs(), noon)
		round(c.pods, noon.Add(10*time.Second))
		round(c.pods, noon.Add(20*time.Second))
		if b := d.Served().Beliefs; b == nil || b.Ended != c.ended {
			t.Errorf("%s: beliefs %+v, want %d gangs ended", c.name, b, c.ended)
		}
	}
}

// TestReadingsTeach checks which throughputs that pods report become readings, and that policies learn from them.
func TestReadingsTeach(t *testing.T) {
	nodes := []*corev1.Node{node("a", 8, nil), node("b", 8, map[string]string{"type": "B"})}
	report := func(speed, seconds int) string {
		return fmt.Sprintf("%d@%s", speed, noon.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339))
	}
	type step struct {
		after    int // seconds after noon
		on       string
		reports  [3]string // of the three pods
		measured [3]float64
		changing bool // whether the kubelet has still to give the pods what they request
	}
	for _, c := range []struct {
		name  string
		steps []step
		want  []float64 // the readings after the last step
	}{
		{"nobody reports", []step{{60, "a", [3]string{}, [3]float64{}, false}}, nil},
		{"a report", []step{{60, "a", [3]string{report(100, 45)}, [3]float64{}, false}}, []float64{100}},
		{"the newer of two", []step{{60, "a", [3]string{report(100, 45), report(90, 50)}, [3]float64{}, false}}, []float64{90}},
		{"a report of the time before", []step{{60, "a", [3]string{report(100, 20)}, [3]float64{}, false}}, nil},
		{"a report of the future", []step{{60, "a", [3]string{report(100, 500)}, [3]float64{}, false}}, nil},
		{"nonsense", []step{{60, "a", [3]string{"fast", report(80, 50)}, [3]float64{}, false}}, []float64{80}},
		{"the same report again", []step{
			{60, "a", [3]string{report(100, 45)}, [3]float64{}, false}, {70, "a", [3]string{report(100, 45)}, [3]float64{}, false},
		}, []float64{100}},
		{"a later report of the same configuration", []step{
			{60, "a", [3]string{report(100, 45)}, [3]float64{}, false}, {70, "a", [3]string{report(110, 65)}, [3]float64{}, false},
		}, []float64{110}},
		{"it moved, and reports of the time before do not count", []step{
			{60, "a", [3]string{report(100, 45)}, [3]float64{}, false}, {70, "b", [3]string{report(110, 65)}, [3]float64{}, false},
			{75, "b", [3]string{report(110, 72)}, [3]float64{}, false}, {120, "b", [3]string{report(50, 110)}, [3]float64{}, false},
		}, []float64{100, 50}},
		{"prometheus, of all pods", []step{{60, "a", [3]string{}, [3]float64{30, 40, 1}, false}}, []float64{71}},
		{"prometheus, of some pods", []step{{60, "a", [3]string{}, [3]float64{30, 40}, false}}, nil},
		{"prometheus, of one pod", []step{{60, "a", [3]string{}, [3]float64{0, 40}, false}}, []float64{40}},
		{"the annotation goes first", []step{{60, "a", [3]string{report(100, 45)}, [3]float64{30, 40}, false}}, []float64{100}},
		{"a gang keeps its source", []step{
			{60, "a", [3]string{}, [3]float64{30, 40, 1}, false}, {90, "a", [3]string{report(100, 80)}, [3]float64{30, 40, 1}, false},
			{100, "a", [3]string{report(100, 95)}, [3]float64{31, 41, 1}, false},
		}, []float64{73}},
		{"the clock steps back, and on", []step{
			{600, "a", [3]string{report(100, 590)}, [3]float64{}, false}, {60, "a", [3]string{report(100, 590)}, [3]float64{}, false},
			{120, "a", [3]string{report(90, 110)}, [3]float64{}, false}, {610, "a", [3]string{report(90, 110)}, [3]float64{}, false},
		}, []float64{90}},
		{"while the kubelet changes its pods", []step{
			{60, "a", [3]string{}, [3]float64{}, true}, {100, "a", [3]string{report(100, 95)}, [3]float64{}, true},
		}, nil},
		{"it stops and runs again", []step{
			{60, "a", [3]string{report(100, 45)}, [3]float64{}, false}, {70, "", [3]string{report(100, 45)}, [3]float64{}, false},
			{80, "a", [3]string{report(100, 75)}, [3]float64{}, false},
		}, []float64{100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			samples := map[measure.Pod]measure.Sample{}
			k, err := measure.New(30*time.Second, func() map[measure.Pod]measure.Sample { return samples }, prometheus.NewRegistry(),
				slog.New(slog.DiscardHandler))
			must.Do(t, err)
			d := decider(t, "srsf+know:speed=fit")
			var got []cluster.Reading
			round := func(s step) {
				at := noon.Add(time.Duration(s.after) * time.Second)
				on := []string{s.on, s.on, s.on}
				if s.on == "" {
					on = nil
				}
				pods := crew{name: "train", pods: 3, least: 3, gpus: 2, on: on, asked: time.Hour}.list()
				clear(samples)
				for i, pod := range pods {
					if s.changing {
						pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2")
						pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
							Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
							Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
						}}
					}
					if s.reports[i] != "" {
						pod.Annotations[measure.Annotation] = s.reports[i]
					}
					if s.measured[i] > 0 {
						samples[measure.Pod{Namespace: pod.Namespace, Name: pod.Name}] = measure.Sample{Speed: s.measured[i], At: at}
					}
				}
				o := &mirror.Objects{Nodes: nodes, Pods: pods, ReclaimBy: noon}
				v := must.Get(mirror.Build(o, &reading, at))(t)
				k.See(t.Context(), v, reading.Epoch, at)
				if v.Jobs[0].Running {
					got = v.State.Readings(0)
				}
				if r := decideRound(v, d, "r", limits{}); len(r.failed) > 0 {
					t.Fatal(r.failed)
				}
			}
			round(step{after: 0, on: "a"})
			for _, s := range c.steps {
				round(s)
			}
			var speeds []float64
			for i := range got {
				speeds = append(speeds, got[i].Speed)
			}
			if !slices.Equal(speeds, c.want) {
				t.Errorf("readings %v, want the speeds %v", got, c.want)
			}
			if b := d.Served().Beliefs; b == nil || (b.Readings > 0) != (len(c.want) > 0) {
				t.Errorf("beliefs %+v, want some of readings: %t", b, len(c.want) > 0)
			}
		})
	}
}

// TestReportsStartNoRound checks that a pod's report alone does not start a round, and that any other change does.
func TestReportsStartNoRound(t *testing.T) {
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := crew{name: "train", pods: 1, least: 1, gpus: 2, on: []string{"a"}}.list()[0]
		change(p)
		return p
	}
	report := func(p *corev1.Pod) { p.Annotations[measure.Annotation] = "1@2026-06-01T11:59:00Z" }
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		rounds int
	}{
		{"a report", report, 0},
		{"a report and another annotation", func(p *corev1.Pod) { report(p); p.Annotations["x"] = "y" }, 1},
		{"a report and a label", func(p *corev1.Pod) { report(p); p.Labels["x"] = "y" }, 1},
		{"a report and the phase", func(p *corev1.Pod) { report(p); p.Status.Phase = corev1.PodSucceeded }, 1},
		{"nothing", func(*corev1.Pod) {}, 1},
	} {
		w := &watch{changed: make(chan struct{}, 1)}
		w.update(pod(func(*corev1.Pod) {}), pod(c.change))
		if len(w.changed) != c.rounds {
			t.Errorf("%s: %d rounds, want %d", c.name, len(w.changed), c.rounds)
		}
	}
}

// TestGangsThatEndDuringARestartTeach checks that a process learns from gangs that ran when the one before it saved what it had learned,
// and ended before this one began: if their succeeded pods are there, and within an hour.
func TestGangsThatEndDuringARestartTeach(t *testing.T) {
	nodes := []*corev1.Node{node("a", 8, nil)}
	for _, c := range []struct {
		name  string
		pods  bool // whether the succeeded pods are still there
		after time.Duration
		ended int64
	}{
		{"ten minutes later", true, 10 * time.Minute, 1},
		{"ten minutes later, without its pods", false, 10 * time.Minute, 0},
		{"two hours later", true, 2 * time.Hour, 0},
	} {
		file := filepath.Join(t.TempDir(), "beliefs.json")
		source := must.Get(new(policy.Finder).Find("sjfskip+know:time=history"))(t)
		begin := func() *decide.Decider {
			d := must.Get(decide.New(decide.Config{Source: source, Deadline: time.Minute, Beliefs: file}))(t)
			return d
		}
		round := func(d *decide.Decider, pods []*corev1.Pod, at time.Time) {
			v := must.Get(mirror.Build(&mirror.Objects{Nodes: nodes, Pods: pods, ReclaimBy: noon}, &reading, at))(t)
			if r := decideRound(v, d, "r", limits{}); len(r.failed) > 0 {
				t.Fatal(r.failed)
			}
		}
		pods := crew{name: "train", pods: 2, least: 2, gpus: 2, on: []string{"a", "a"}, asked: time.Hour}.list()
		first := begin()
		round(first, pods, noon)
		first.Keep(false)
		for _, pod := range pods {
			pod.Status.Phase = corev1.PodSucceeded
		}
		if !c.pods {
			pods = nil
		}
		second := begin()
		round(second, pods, noon.Add(c.after))
		if b := second.Served().Beliefs; b == nil || b.Ended != c.ended {
			t.Errorf("%s: beliefs %+v, want %d gangs ended", c.name, b, c.ended)
		}
	}
}

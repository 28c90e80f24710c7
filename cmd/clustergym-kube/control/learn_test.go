package control

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
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
			o := &mirror.Objects{Nodes: nodes, Groups: &gang.Combined{}, Pods: pods, ReclaimBy: noon}
			v, err := mirror.Build(o, &reading, at)
			if err != nil {
				t.Fatal(err)
			}
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

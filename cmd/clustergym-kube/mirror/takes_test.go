package mirror

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestTakes checks that a node takes a pod if it is open and has room beside the other pods that are bound to it.
func TestTakes(t *testing.T) {
	with := func(name, gpus string, changes ...change) *corev1.Pod {
		return aPod(name, append(changes, asks(gpu, gpus))...)
	}
	pod := with("p", "1")
	for name, x := range map[string]struct {
		others []*corev1.Pod
		node   func(*corev1.Node)
		shown  *corev1.Pod // the pod as it is now, if it has changed
		want   bool
	}{
		"empty":                {want: true},
		"full":                 {others: []*corev1.Pod{with("q", "8", on("a"))}},
		"another node is full": {others: []*corev1.Pod{with("q", "8", on("b"))}, want: true},
		"the pod itself": {
			shown: with("p", "1", on("a")), node: func(x *corev1.Node) { x.Status.Allocatable = list(gpu, "1") }, want: true,
		},
		"resized":   {shown: with("p", "9")},
		"cordoned":  {node: cordoned},
		"not ready": {node: func(x *corev1.Node) { x.Status.Conditions = nil }},
		"not there": {node: func(x *corev1.Node) { x.Name = "b" }},
	} {
		node := aNode("a")
		if x.node != nil {
			x.node(node)
		}
		o := &Objects{Nodes: []*corev1.Node{node}, Pods: append(x.others, cmp.Or(x.shown, pod))}
		if got := o.Takes(config(), pod, "a"); got != x.want {
			t.Errorf("%s: %t, want %t", name, got, x.want)
		}
	}
}

package mirror

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
)

const gpu = "nvidia.com/gpu"

var (
	epoch = time.Unix(0, 0)
	now   = epoch.Add(1000 * time.Hour)
)

func config() *Config {
	return &Config{
		Schedulers: []string{"clustergym"}, GPU: gpu, TypeLabel: "nvidia.com/gpu.product", RackLabel: "topology.kubernetes.io/rack",
		Epoch: epoch,
	}
}

func list(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

// aNode returns a node with 8 GPUs, 64 cores and 512 GiB.
func aNode(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{
			Allocatable: list(gpu, "8", "cpu", "64", "memory", "512Gi", "pods", "110"),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func labelled(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		for i := 0; i < len(pairs); i += 2 {
			n.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

type change = func(*corev1.Pod)

// aPod returns a pod of this scheduler that requests 1 GPU, 4 cores and 16 GiB and was created an hour ago.
func aPod(name string, changes ...change) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{}, Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		},
		Spec: corev1.PodSpec{
			SchedulerName: "clustergym",
			Containers:    []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(gpu, "1", "cpu", "4", "memory", "16Gi")}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, f := range changes {
		f(p)
	}
	return p
}

func asks(pairs ...string) change {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = list(pairs...) }
}

func on(node string) change {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = node
		p.Status.Phase = corev1.PodRunning
		if p.Status.StartTime == nil {
			started(30 * time.Minute)(p)
		}
	}
}

func started(ago time.Duration) change {
	return func(p *corev1.Pod) { t := metav1.NewTime(now.Add(-ago)); p.Status.StartTime = &t }
}

func inGang(name string, least int) change {
	return func(p *corev1.Pod) {
		p.Labels[pods.GroupLabel] = name
		p.Annotations[pods.MinMemberNote] = fmt.Sprint(least)
	}
}

func annotated(key, value string) change {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func inPhase(phase corev1.PodPhase) change {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

// ended lets a pod succeed some time ago.
func ended(ago time.Duration) change {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(now.Add(-ago))}},
		}}
	}
}

func foreign(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }
func leaving(p *corev1.Pod) { t := metav1.NewTime(now); p.DeletionTimestamp = &t }
func gated(p *corev1.Pod)   { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} }

func objects(nodes []*corev1.Node, pods ...*corev1.Pod) *Objects {
	return &Objects{Nodes: nodes, Pods: pods}
}

func nodes(of ...*corev1.Node) []*corev1.Node { return of }

func build(tb testing.TB, o *Objects) *View {
	tb.Helper()
	v := must.Get(Build(o, config(), now))(tb)
	return v
}

func called(pods []*corev1.Pod) []string {
	all := []string{}
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

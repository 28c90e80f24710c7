package mirror

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/pods"
)

func pointer(uid string) types.UID { return types.UID(uid) }

// kinds are the ways in which pods can belong together.
var kinds = []string{
	"alone", "Job", "ReplicaSet", "PyTorchJob", "JobSet", "LeaderWorkerSet", "Kueue", "label", "native", pods.Plugins, pods.Volcano, pods.KAI,
}

// someWorkload draws nodes and workloads on them.
func someWorkload(t *rapid.T) *drawn {
	d := &drawn{free: map[string]int64{}}
	for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
		name := fmt.Sprint("n", i)
		gpus := rapid.SampledFrom([]int64{2, 4, 8}).Draw(t, "gpus")
		n := aNode(name, labelled("zone", fmt.Sprint(i)))
		n.Status.Allocatable = list(gpu, fmt.Sprint(gpus), "cpu", "4000", "memory", "4000Gi")
		n.Spec.Unschedulable = rarely(t, 8)
		d.nodes = append(d.nodes, n)
		d.free[name] = gpus
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "workloads") {
		d.add(t, i)
	}
	return d
}

// add draws the pods of a workload, and the objects to which they belong.
func (d *drawn) add(t *rapid.T, i int) {
	kind, name := rapid.SampledFrom(kinds).Draw(t, "kind"), fmt.Sprint("w", i)
	namespace := rapid.SampledFrom([]string{"team", "other"}).Draw(t, "namespace")
	n := rapid.IntRange(1, 4).Draw(t, "pods")
	least := max(n+rapid.SampledFrom([]int{0, 0, 0, 0, -1, -1, -2, 1}).Draw(t, "least"), 0)
	notes := map[string]string{}
	for _, some := range [][]string{
		{pods.EstimateNote, "90m", "36h", "soon"}, {pods.ModelNote, "resnet"}, {pods.MinWorkersNote, "1", "2", "3"}, {pods.MaxWorkersNote, "2", "4", "6"},
	} {
		if rarely(t, 4) {
			notes[some[0]] = rapid.SampledFrom(some[1:]).Draw(t, some[0])
		}
	}
	d.define(t, kind, namespace, name, least, notes)
	if rarely(t, 10) {
		d.share(t, namespace, name, n)
		return
	}
	also := kind // another group that the pods name
	if rarely(t, 6) {
		also = rapid.SampledFrom(kinds).Draw(t, "also")
	}
	stated := rarely(t, 6) // the size of an open gang, too
	usual, theirs := someAsk(t), rarely(t, 8)
	runs := rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "runs")
	for k := range n {
		p := aPod(fmt.Sprintf("%s-p%d", name, k))
		p.Namespace, p.UID = namespace, types.UID(fmt.Sprint(namespace, name, k))
		p.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(rapid.IntRange(1, 100).Draw(t, "age")) * time.Minute))
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
		maps.Copy(p.Annotations, notes)
		if theirs {
			foreign(p)
		}
		priority := int32(7)
		p.Spec.Priority = &priority
		if stated {
			p.Annotations["clustergym.dev/min-member"] = strconv.Itoa(least)
		}
		d.belongs(t, p, kind, name, k, least)
		if also != kind {
			d.belongs(t, p, also, name+"x", k, least+1)
		}
		if ask := usual; rarely(t, 12) {
			someAsk(t)(p)
		} else {
			ask(p)
		}
		d.goes(t, p, runs == 2 || runs == 1 && rapid.Bool().Draw(t, "bound"))
		d.pods = append(d.pods, p)
	}
}

// share draws pods of KAI Scheduler that share a GPU, and the pod that holds it for them.
func (d *drawn) share(t *rapid.T, namespace, name string, n int) {
	at := d.nodes[0].Name
	if d.free[at] == 0 {
		return
	}
	d.free[at]--
	held := aPod(name+"-r", foreign, on(at))
	held.Namespace, held.UID = "kai-resource-reservation", types.UID("held"+name)
	if rapid.Bool().Draw(t, "named") {
		held.Labels["runai-gpu-group"] = name
	}
	d.pods = append(d.pods, held)
	for k := range n {
		p := aPod(fmt.Sprintf("%s-p%d", name, k), foreign, on(at), annotated("gpu-fraction", rapid.SampledFrom([]string{"0.1", "0.25", "x"}).Draw(t, "part")), asks("cpu", "1"))
		p.Namespace, p.UID, p.Labels["runai-gpu-group"] = namespace, types.UID(fmt.Sprint(namespace, name, k)), name
		d.pods = append(d.pods, p)
	}
}

// define draws the object of a group.
func (d *drawn) define(t *rapid.T, kind, namespace, name string, least int, notes map[string]string) {
	if rarely(t, 12) {
		return
	}
	switch kind {
	case "native":
		g := &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{}}}
		if rarely(t, 4) {
			g.Spec.SchedulingPolicy.Basic = &schedulingv1alpha2.BasicSchedulingPolicy{}
		} else {
			g.Spec.SchedulingPolicy.Gang = &schedulingv1alpha2.GangSchedulingPolicy{MinCount: int32(least)}
		}
		maps.Copy(g.Annotations, notes)
		d.natives = append(d.natives, g)
	case pods.Plugins, pods.Volcano, pods.KAI:
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		if !rarely(t, 10) {
			u.Object["spec"] = map[string]any{"minMember": int64(least)}
		}
		u.SetAPIVersion(kind)
		u.SetKind("PodGroup")
		u.SetNamespace(namespace)
		u.SetName(name)
		u.SetAnnotations(notes)
		d.others = append(d.others, u)
	}
}

// belongs lets a pod name its group or its owner.
func (d *drawn) belongs(t *rapid.T, p *corev1.Pod, kind, name string, k, least int) {
	size, l, a := strconv.Itoa(least), p.Labels, p.Annotations
	switch kind {
	case "native":
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	case "label", pods.Plugins:
		l["scheduling.x-k8s.io/pod-group"] = name
		if kind == "label" && !rarely(t, 10) {
			a["clustergym.dev/min-member"] = size
		}
	case pods.Volcano:
		a[rapid.SampledFrom([]string{"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name"}).Draw(t, "note")] = name
	case pods.KAI:
		a["pod-group-name"] = name
	case "Kueue":
		l["kueue.x-k8s.io/pod-group-name"], a["kueue.x-k8s.io/pod-group-total-count"] = name, size
	case "LeaderWorkerSet":
		l["leaderworkerset.sigs.k8s.io/name"], l["leaderworkerset.sigs.k8s.io/group-index"] = name, fmt.Sprint(k%2)
		a["leaderworkerset.sigs.k8s.io/size"] = size
		p.OwnerReferences = d.owner(p.Namespace, "StatefulSet", name)
	case "JobSet":
		child := fmt.Sprint(name, "-", k%2)
		l["jobset.sigs.k8s.io/jobset-name"], l["batch.kubernetes.io/job-name"] = name, child
		p.OwnerReferences = d.owner(p.Namespace, "Job", child)
	case "Job", "ReplicaSet", "PyTorchJob":
		p.OwnerReferences = d.owner(p.Namespace, kind, name)
		if kind == "Job" {
			l["batch.kubernetes.io/job-name"] = name
		}
	}
}

// someAsk draws what the pods of a workload ask for.
func someAsk(t *rapid.T) change {
	gpus := rapid.SampledFrom([]string{"1", "1", "1", "2", "2", "4", "0"}).Draw(t, "gpus")
	cpu, memory := rapid.SampledFrom([]string{"1", "1500m", "3", "0"}).Draw(t, "cpu"), rapid.SampledFrom([]string{"1Gi", "1000", "3G"}).Draw(t, "memory")
	all := list(gpu, gpus, "cpu", cpu, "memory", memory)
	how := rapid.IntRange(0, 6).Draw(t, "how")
	zone := rarely(t, 6)
	return func(p *corev1.Pod) {
		r := &p.Spec.Containers[0].Resources
		r.Requests = all
		switch how {
		case 0: // limits alone
			r.Requests, r.Limits = nil, all
		case 1: // some of the requests
			r.Requests, r.Limits = list("cpu", cpu), all
		case 2:
			always := corev1.ContainerRestartPolicyAlways
			p.Spec.InitContainers = []corev1.Container{
				{Name: "first", Resources: corev1.ResourceRequirements{Limits: list(gpu, gpus, "cpu", "5")}},
				{Name: "side", RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: list("cpu", "2", "memory", "2Gi")}},
				{Name: "last", Resources: corev1.ResourceRequirements{Requests: list("memory", "7Gi")}},
			}
		case 3:
			p.Spec.Overhead = list("cpu", "250m", "memory", "1Mi")
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "b", Resources: corev1.ResourceRequirements{Limits: list("cpu", "1")}})
		case 4:
			p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "8"), Limits: list("cpu", "9", "memory", "64Gi")}
		}
		if zone {
			p.Spec.NodeSelector = map[string]string{"zone": "0"}
		}
	}
}

// goes draws where a pod is and in which phase. A pod is bound only if the node has room.
func (d *drawn) goes(t *rapid.T, p *corev1.Pod, bound bool) {
	gpus := config().amountOf(requests(p)).gpus
	for _, n := range d.nodes {
		if bound && d.free[n.Name] >= gpus {
			on(n.Name)(p)
			at := metav1.NewTime(p.CreationTimestamp.Add(time.Minute))
			p.Status.StartTime = &at
			d.free[n.Name] -= gpus
			break
		}
	}
	switch rapid.SampledFrom([]string{"", "", "", "", "", "", "", "", "gated", "leaving", "succeeded", "failed"}).Draw(t, "state") {
	case "gated":
		if p.Spec.NodeName == "" {
			gated(p)
		}
	case "leaving":
		leaving(p)
	case "succeeded":
		p.Status.Phase = corev1.PodSucceeded
	case "failed":
		p.Status.Phase = corev1.PodFailed
	}
}

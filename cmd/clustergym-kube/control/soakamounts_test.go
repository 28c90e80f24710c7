package control

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// sizing is what the pods of a gang request in a play with amounts, and how fast the gang is by what they hold.
type sizing struct {
	cpuMilli, memMiB int64  // for each GPU
	limits           int64  // limits of CPU and memory as a multiple of the requests; 0 for none
	beside           bool   // whether a second container requests something, too
	model            string // gangs of a model are alike
	need             int64  // thousandths of a core for each GPU with which the gang is as fast as it can be
}

// amountsTexts are bounds that the control ConfigMap may have. The soak begins with the first and returns to it; the last is not valid,
// so that it switches the program off. No bounds allow less memory than was requested.
var amountsTexts = []string{
	"team-0: cpu=0.5..4 memory=1..3\nteam-1: cpu=1..6", "team-0: cpu=1..1.5\n*: cpu=0.2..8 memory=1..5", "", "*: memory=1..2",
	"team-2: cpu=0.3..1", "team-1: cpu=4..1",
}

// size draws the sizes of a new gang.
func (w *world) size() *sizing {
	kind := w.draw.Int64N(4)
	return &sizing{
		cpuMilli: []int64{500, 1000, 2000, 3333}[w.draw.IntN(4)], memMiB: 8192 << w.draw.IntN(2), limits: w.draw.Int64N(3),
		beside: w.draw.IntN(4) == 0, model: fmt.Sprint("model-", kind), need: 1000 * (1 + 2*kind),
	}
}

// apply gives a pod with GPUs its sizes.
func (s *sizing) apply(pod *corev1.Pod, gpus int64) {
	pod.Annotations["clustergym.dev/model"] = s.model
	of := &pod.Spec.Containers[0].Resources
	set := func(list corev1.ResourceList, times int64) {
		list["cpu"] = *resource.NewMilliQuantity(times*gpus*s.cpuMilli, resource.DecimalSI)
		list["memory"] = *resource.NewQuantity(times*gpus*s.memMiB<<20, resource.BinarySI)
	}
	if set(of.Requests, 1); s.limits > 0 {
		of.Limits = corev1.ResourceList{gpu: of.Requests[gpu]}
		set(of.Limits, s.limits)
	}
	if s.beside {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "beside", Image: "beside", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("100Mi")},
		}})
	}
}

// report lets a running gang report its throughput, by the clock of the program's machine: it is slower with less CPU than it needs,
// and varies.
func (w *world) report(g *wanted, pods []*corev1.Pod) {
	if g.size == nil || w.draw.IntN(3) > 0 {
		return
	}
	speed, by := 0.0, pods[0]
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodRunning {
			by = pod
			speed += min(1, float64(requested(pod, "cpu"))/float64(g.gpus*g.size.need))
		}
	}
	speed *= 0.9 + 0.2*w.draw.Float64()
	at := w.now().Add(w.skew).UTC().Format(time.RFC3339Nano)
	w.editPod(by, func(p *corev1.Pod) { p.Annotations[measure.Annotation] = fmt.Sprintf("%.4f@%s", speed, at) })
}

// garbageReport lets a pod report a throughput that cannot be one.
func (w *world) garbageReport() bool {
	pod := w.some(alive)
	if pod == nil || !w.play.amounts {
		return false
	}
	now := w.now().Add(w.skew).UTC().Format(time.RFC3339)
	values := append([]string{"NaN@" + now, "-1@" + now, "1e300@" + now, "0@" + now, "5@2999-01-01T00:00:00Z", "5@" + now + now}, garbageWords...)
	w.spoil(pod, measure.Annotation, values[w.draw.IntN(len(values))])
	return true
}

// changeBounds changes the bounds of CPU and memory.
func (w *world) changeBounds() bool {
	if !w.play.amounts {
		return false
	}
	w.bounds = amountsTexts[w.draw.IntN(len(amountsTexts))]
	if m := w.maps["ns/"+ControlName]; m != nil && m.Data[modeKey] == "live" {
		w.putMap(w.orders("live"))
	}
	if w.bounds == amountsTexts[len(amountsTexts)-1] {
		w.until(10, func() {
			w.bounds = amountsTexts[0]
			w.putMap(w.orders("live"))
		})
	}
	return true
}

// hinder lets the kubelet of a node refuse all resizes for a while: as infeasible, or until there is room.
func (w *world) hinder() bool {
	if !w.play.amounts {
		return false
	}
	name := w.someNode()
	w.hindered[name] = []string{corev1.PodReasonInfeasible, corev1.PodReasonDeferred}[w.draw.IntN(2)]
	w.until(80, func() { delete(w.hindered, name) })
	return true
}

// start lets the kubelet start a pod, or reject it if its node lacks CPU or memory.
func (w *world) start(pod *corev1.Pod) {
	w.editPod(pod, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &metav1.Time{Time: w.now()}
		if !w.play.amounts {
			return
		}
		if !w.admits(pod) {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "OutOfcpu"
			return
		}
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
				AllocatedResources: c.Resources.Requests.DeepCopy(), Resources: c.Resources.DeepCopy(),
			})
		}
	})
}

// admits reports whether the node of a pod has the CPU and memory that the pod requests, beside what it has allocated to other pods.
func (w *world) admits(pod *corev1.Pod) bool {
	n := w.nodes[pod.Spec.NodeName]
	for _, r := range []corev1.ResourceName{"cpu", "memory"} {
		held := requested(pod, r)
		for _, other := range w.podList() {
			if other.Spec.NodeName == n.Name && other.UID != pod.UID && !mirror.Ended(other) {
				held += allocated(other, r)
			}
		}
		if held > amountOf(n.Status.Allocatable, r) {
			return false
		}
	}
	return true
}

// resize lets the kubelet play its part of a resize: at once, in two steps, later, or not.
func (w *world) resize(pod *corev1.Pod) {
	ready, done := true, true
	for _, r := range []corev1.ResourceName{"cpu", "memory"} {
		ready, done = ready && allocated(pod, r) == requested(pod, r), done && given(pod, r) == requested(pod, r)
	}
	done = done && ready
	reason, was := "", resizeReason(pod)
	switch {
	case done:
	case w.hindered[pod.Spec.NodeName] != "":
		reason = w.hindered[pod.Spec.NodeName]
	case !ready && !w.admits(pod):
		reason = corev1.PodReasonDeferred
	case w.draw.IntN(3) == 0:
		return
	}
	actuate := ready || w.draw.IntN(2) == 0
	if reason == was && (reason != "" || done) {
		return
	}
	w.editPod(pod, func(p *corev1.Pod) {
		p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodResizePending
		})
		if reason != "" {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.NewTime(w.now()),
			})
			return
		}
		for i := range p.Status.ContainerStatuses {
			s, of := &p.Status.ContainerStatuses[i], &p.Spec.Containers[i].Resources
			if s.AllocatedResources = of.Requests.DeepCopy(); actuate {
				s.Resources = of.DeepCopy()
			}
		}
	})
}

// resizeAtRandom gives some running jobs other amounts of CPU and memory, as any policy may.
func resizeAtRandom(draw *rand.Rand) func(*cluster.Txn) {
	return func(tx *cluster.Txn) {
		v := tx.View()
		for _, id := range slices.Sorted(slices.Values(v.Running())) {
			if draw.IntN(4) > 0 {
				continue
			}
			asked := v.Spec(id).Request
			resizeTo(tx, id, draw.Int32N(8*asked.CPUMilli+1), draw.Int32N(5*asked.MemMiB+1))
		}
	}
}

package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ktesting "k8s.io/client-go/testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// podPatch is what the program may change of a pod. Of the status the server takes conditions, which nothing here reads.
type podPatch struct {
	Metadata struct {
		UID         types.UID         `json:"uid"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Containers []struct {
			Name      string                      `json:"name"`
			Resources corev1.ResourceRequirements `json:"resources"`
		} `json:"containers"`
	} `json:"spec"`
}

// patchPod carries out a patch of a pod. Like the real server, it refuses one of another pod with the same name.
func (a *memory) patchPod(action ktesting.PatchActionImpl, pod *corev1.Pod) (*corev1.Pod, error) {
	var p podPatch
	if err := json.Unmarshal(action.GetPatch(), &p); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if p.Metadata.UID != pod.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, pod.Name, fmt.Errorf("UID is %s, not %s", pod.UID, p.Metadata.UID))
	}
	is := pod.DeepCopy()
	maps.Copy(is.Annotations, p.Metadata.Annotations)
	if action.GetSubresource() != "resize" {
		a.heard("patch", pod, "")
		if len(p.Metadata.Annotations) > 0 {
			a.putPod(is)
		}
		return is, nil
	}
	for _, c := range p.Spec.Containers {
		for i := range is.Spec.Containers {
			if of := &is.Spec.Containers[i]; of.Name == c.Name {
				maps.Copy(of.Resources.Requests, c.Resources.Requests)
				maps.Copy(of.Resources.Limits, c.Resources.Limits)
			}
		}
	}
	a.resized(pod, is)
	a.putPod(is)
	return is, nil
}

// amountOf returns how much of a resource a list has: of CPU in thousandths of a core.
func amountOf(list corev1.ResourceList, r corev1.ResourceName) int64 {
	q := list[r]
	switch {
	case q.CmpInt64(math.MaxInt32<<20) >= 0:
		return math.MaxInt32 << 20
	case r == corev1.ResourceCPU:
		return q.MilliValue()
	}
	return q.Value()
}

// resized checks that the program may give a pod what it gives it.
func (k *invariants) resized(was, is *corev1.Pod) {
	k.heard("resize", was, "")
	switch {
	case k.undoes(is):
		k.counts["resize undone"]++
	case k.at(is) != "":
		k.counts["resize bound"]++
	}
	if is.Annotations[mirror.RequestedAnnotation] == "" {
		k.breach("pod %s is resized, and does not say what it requested", key(is))
	}
	if why := invalidResize(was, is); why != "" {
		k.breach("pod %s is resized, which the API server does not allow: %s", key(is), why)
	}
	if !k.allowed(is, true) {
		k.breach("pod %s is resized to %s, which bounds %+v do not allow: it requested %s", key(is), sizes(is), k.bounds[is.Namespace], sizes(k.w.first[is.UID]))
	}
	for _, r := range []corev1.ResourceName{"cpu", "memory"} {
		if node := k.at(is); node != "" && requested(is, r) > max(requested(was, r), k.most(is, node, r)) && !k.undoes(is) {
			k.fits(is, node, r)
		}
	}
	if requested(is, "memory") < requested(k.w.first[is.UID], "memory") {
		k.breach("pod %s is resized to %s, less memory than the %s that it requested", key(is), sizes(is), sizes(k.w.first[is.UID]))
	}
}

// sizes returns what a pod requests, for a message.
func sizes(pod *corev1.Pod) string {
	return fmt.Sprintf("%dm and %d MiB", requested(pod, "cpu"), requested(pod, "memory")>>20)
}

// invalidResize returns why the API server refuses a resize, or "". See k8s.io/kubernetes/pkg/apis/core/validation, ValidatePodResize.
func invalidResize(was, is *corev1.Pod) string {
	for i := range is.Spec.Containers {
		old, of := &was.Spec.Containers[i].Resources, &is.Spec.Containers[i].Resources
		if len(old.Requests) != len(of.Requests) || len(old.Limits) != len(of.Limits) {
			return "requests or limits added"
		}
		for _, r := range []corev1.ResourceName{"cpu", "memory", gpu} {
			limit, limited := of.Limits[r]
			if q := of.Requests[r]; limited && q.Cmp(limit) > 0 {
				return fmt.Sprintf("request of %s is %s, above the limit of %s", r, q.String(), limit.String())
			}
		}
		if amountOf(old.Requests, gpu) != amountOf(of.Requests, gpu) {
			return "other GPUs"
		}
	}
	if guaranteed(was) != guaranteed(is) {
		return "another quality-of-service class"
	}
	return ""
}

// guaranteed reports whether a pod is of this quality-of-service class. Pods of these plays are else all of the class Burstable.
func guaranteed(pod *corev1.Pod) bool {
	for i := range pod.Spec.Containers {
		of := &pod.Spec.Containers[i].Resources
		for _, r := range []corev1.ResourceName{"cpu", "memory"} {
			limit, limited := of.Limits[r]
			if q := of.Requests[r]; !limited || q.Cmp(limit) != 0 {
				return false
			}
		}
	}
	return true
}

// allowed reports whether a pod may request what it does: what it requested at first, or what the bounds allow that the round has
// read. A resize may also undo another, or give a pod what others of its gang hold. Without bounds the pods that run keep what
// they hold.
func (k *invariants) allowed(pod *corev1.Pod, resize bool) bool {
	first := k.w.first[pod.UID]
	b, given := k.bounds[pod.Namespace]
	if !given {
		b, given = k.bounds[elsewhere]
	}
	if !given {
		b = amountBounds{stretch{1, 1}, stretch{1, 1}}
	}
	within := func(r corev1.ResourceName, s stretch, unit int64) bool {
		n, asked, gpus := requested(pod, r), requested(first, r), unit*requested(first, gpu) // what each GPU has is rounded up
		return n == asked || float64(n) >= s.least*float64(asked)-float64(gpus) && float64(n) <= s.most*float64(asked+gpus)
	}
	if within("cpu", b.cpu, 1) && within("memory", b.mem, 1<<20) && (given || k.at(pod) == "" || !resize) {
		return true
	}
	return resize && (k.undoes(pod) || k.joins(pod))
}

// undoes reports whether a pod of a gang gets back what one of them holds whose kubelet cannot carry out a resize, or what it holds
// itself.
func (k *invariants) undoes(pod *corev1.Pod) bool {
	stuck := k.stuck[gangName(pod)]
	if len(stuck) == 0 {
		return false
	}
	return slices.ContainsFunc(append(slices.Clone(stuck), k.w.pods[key(pod)]), func(stuck *corev1.Pod) bool {
		return holds(pod, func(r corev1.ResourceName) (least, most int64) { return given(stuck, r), given(stuck, r) })
	})
}

// most returns what a pod of the gang holds on a node that holds most: all pods of the gang there count as holding that.
func (k *invariants) most(pod *corev1.Pod, node string, r corev1.ResourceName) (n int64) {
	for _, other := range k.w.pods {
		if gangName(other) == gangName(pod) && k.at(other) == node && !mirror.Ended(other) && other.UID != pod.UID {
			n = max(n, k.holding(other, r))
		}
	}
	return n
}

// joins reports whether a waiting pod gets what those pods of its gang hold that are bound.
func (k *invariants) joins(pod *corev1.Pod) bool {
	if k.at(pod) != "" {
		return false
	}
	return holds(pod, func(r corev1.ResourceName) (least, most int64) {
		least = math.MaxInt64
		for _, other := range k.w.pods {
			if gangName(other) == gangName(pod) && k.at(other) != "" && !mirror.Ended(other) {
				n := k.holding(other, r)
				least, most = min(least, n), max(most, n)
			}
		}
		return least, most
	})
}

// holds reports whether a pod requests of CPU and of memory something in a range; what each GPU has is rounded up.
func holds(pod *corev1.Pod, between func(corev1.ResourceName) (least, most int64)) bool {
	for r, unit := range map[corev1.ResourceName]int64{"cpu": 1, "memory": 1 << 20} {
		least, most := between(r)
		if n := requested(pod, r); n < least-unit*requested(pod, gpu) || n > most+unit*requested(pod, gpu) {
			return false
		}
	}
	return true
}

// given returns what the kubelet has given to a pod, and allocated what it has set aside for it.
func given(pod *corev1.Pod, r corev1.ResourceName) (n int64) {
	for i := range pod.Status.ContainerStatuses {
		n += amountOf(pod.Status.ContainerStatuses[i].Resources.Requests, r)
	}
	return n
}

func allocated(pod *corev1.Pod, r corev1.ResourceName) (n int64) {
	for i := range pod.Status.ContainerStatuses {
		n += amountOf(pod.Status.ContainerStatuses[i].AllocatedResources, r)
	}
	return n
}

// holding returns how much a pod holds of a resource: what it requests, also if the process has not seen that yet, or more if the
// process has seen that its kubelet has not taken it back.
func (k *invariants) holding(pod *corev1.Pod, r corev1.ResourceName) int64 {
	n := requested(pod, r)
	x, _, _ := k.w.stores[0].GetByKey(key(pod))
	if seen, _ := x.(*corev1.Pod); seen != nil && seen.UID == pod.UID {
		had := max(given(seen, r), allocated(seen, r))
		if had > 0 && resizeReason(seen) == corev1.PodReasonInfeasible {
			return had
		}
		n = max(n, had)
	}
	return n
}

// resizeReason returns why the kubelet of a pod has not carried out a resize, or "".
func resizeReason(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodResizePending {
			return c.Reason
		}
	}
	return ""
}

// stuck reports whether the kubelet of a pod cannot carry out a resize, by the clock of the program.
func stuck(pod *corev1.Pod, now time.Time) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending && (c.Reason == corev1.PodReasonInfeasible || now.Sub(c.LastTransitionTime.Time) >= 5*time.Minute)
	})
}

package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1alpha2"
)

// NativeVersion is the version of Kubernetes' own PodGroup that Native reads.
const NativeVersion = "scheduling.k8s.io/v1alpha2"

// Native reads the PodGroup that a pod names in spec.schedulingGroup.podGroupName. If the group's policy is gang, its pods form a
// Group with MinCount = minCount. If the policy is basic, which asks for "standard Kubernetes scheduling behavior" pod by pod,
// the pod belongs to no group.
type Native struct {
	Lister schedulinglisters.PodGroupLister
}

// names returns the name of the native group that the pod refers to, or "" if there is none.
func names(pod *corev1.Pod) string {
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}

// Of implements Source.
func (n *Native) Of(pod *corev1.Pod) (Group, bool, error) {
	name := names(pod)
	if name == "" {
		return Group{}, false, nil
	}
	g := Group{Namespace: pod.Namespace, Name: name, MinCount: 1}
	object, err := n.Lister.PodGroups(pod.Namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return g, true, fmt.Errorf("%s: spec.schedulingGroup.podGroupName is %q, want the name of a PodGroup of %s that exists",
			title("pod", pod.Namespace, pod.Name), name, NativeVersion)
	case err != nil:
		return g, true, fmt.Errorf("get %s: %w", title("PodGroup", pod.Namespace, name), err)
	}
	return g.of(object)
}

func (g Group) of(object *schedulingv1alpha2.PodGroup) (Group, bool, error) {
	g.Ref = &corev1.ObjectReference{
		APIVersion: NativeVersion, Kind: "PodGroup", Namespace: object.Namespace, Name: object.Name, UID: object.UID,
	}
	g.Annotations = object.Annotations
	me := title("PodGroup", object.Namespace, object.Name)
	policy := &object.Spec.SchedulingPolicy
	switch {
	case object.Spec.SchedulingConstraints != nil:
		return g, true, fmt.Errorf("%s: spec.schedulingConstraints is set, want none: topology constraints are not supported", me)
	case policy.Gang != nil && policy.Basic == nil:
		least, err := count(me, "spec.schedulingPolicy.gang.minCount", int64(policy.Gang.MinCount))
		g.MinCount = max(least, 1)
		return g, true, err
	case policy.Basic != nil && policy.Gang == nil:
		return Group{}, false, nil
	}
	return g, true, fmt.Errorf("%s: spec.schedulingPolicy holds neither or both of gang and basic, want one of them", me)
}

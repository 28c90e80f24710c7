package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1alpha2"

	"github.com/clustergym/clustergym/env/pods"
)

// NativeVersion is the version of Kubernetes' own PodGroup that Native reads.
const NativeVersion = pods.Native

// Native reads the PodGroup that a pod names in spec.schedulingGroup.podGroupName. If the group's policy is gang, its pods form a
// Group with MinCount = minCount. If the policy is basic, which asks for "standard Kubernetes scheduling behavior" pod by pod,
// the pod belongs to no group.
type Native struct {
	Lister schedulinglisters.PodGroupLister
}

// Of implements Source.
func (n *Native) Of(pod *corev1.Pod) (Group, bool, error) {
	return finders{NativeVersion: n.find}.of(pod)
}

func (n *Native) find(namespace, name string) (*pods.Object, *corev1.ObjectReference) {
	me := fmt.Sprintf("PodGroup %s/%s", namespace, name)
	object, err := n.Lister.PodGroups(namespace).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return &pods.Object{Err: fmt.Errorf("get %s: %w", me, err)}, nil
	}
	policy := &object.Spec.SchedulingPolicy
	least := int32(0)
	if policy.Gang != nil {
		least = policy.Gang.MinCount
	}
	o := pods.NativeObject(me, policy.Gang != nil, policy.Basic != nil, object.Spec.SchedulingConstraints != nil, int64(least))
	o.Annotations = object.Annotations
	return o, &corev1.ObjectReference{Kind: "PodGroup", Namespace: namespace, Name: name, UID: object.UID}
}

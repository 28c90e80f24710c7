package gang

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	schedulinglisters "k8s.io/client-go/listers/scheduling/v1alpha2"

	"github.com/clustergym/clustergym/env/pods"
)

// Groups finds a pod's group as pods.Of does, in the objects of the APIs that the server has. The zero value knows of none, and
// finds groups by labels alone.
type Groups struct {
	// Native lists the PodGroups that pods name in spec.schedulingGroup.podGroupName; nil if the server has none. If the group's
	// policy is gang, its pods form a Group with Least = minCount. If the policy is basic, which asks for "standard Kubernetes
	// scheduling behavior" pod by pod, the pod belongs to no group.
	Native schedulinglisters.PodGroupLister
	// Defined returns PodGroups that a CustomResourceDefinition defines, by version, or nil if there is no such group. Their size is
	// spec.minMember.
	Defined map[string]func(namespace, name string) *unstructured.Unstructured
}

// Of returns the group of a pod. If the group is not known yet, because its object is missing or invalid, Err says so.
func (s *Groups) Of(pod *corev1.Pod) Group {
	refs, objects := map[string]*corev1.ObjectReference{}, pods.Objects{}
	add := func(version string, find func(namespace, name string) (*pods.Object, *corev1.ObjectReference)) {
		objects[version] = func(namespace, name string) *pods.Object {
			o, ref := find(namespace, name)
			if ref != nil {
				ref.APIVersion, ref.Kind, ref.Namespace, ref.Name = version, "PodGroup", namespace, name
			}
			refs[version] = ref
			return o
		}
	}
	if s.Native != nil {
		add(pods.Native, s.native)
	}
	for version, get := range s.Defined {
		add(version, func(namespace, name string) (*pods.Object, *corev1.ObjectReference) {
			return defined(version, get(namespace, name))
		})
	}
	g := pods.Of(Neutral(pod), objects)
	return Group{g, refs[g.API]}
}

func (s *Groups) native(namespace, name string) (*pods.Object, *corev1.ObjectReference) {
	me := fmt.Sprintf("PodGroup %s/%s", namespace, name)
	object, err := s.Native.PodGroups(namespace).Get(name)
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
	return o, &corev1.ObjectReference{UID: object.UID}
}

func defined(version string, object *unstructured.Unstructured) (*pods.Object, *corev1.ObjectReference) {
	if object == nil {
		return nil, nil
	}
	me := fmt.Sprintf("PodGroup %s/%s", object.GetNamespace(), object.GetName())
	o := &pods.Object{}
	v, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "minMember")
	n, whole := v.(int64)
	if f, is := v.(float64); is {
		n, whole = int64(f), f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32
	}
	switch {
	case err != nil || !found || v == nil:
		o = pods.MemberObject(version, me, false, 0)
	case whole:
		o = pods.MemberObject(version, me, true, n)
	default:
		o.Err = fmt.Errorf("%s: spec.minMember is %v, want a whole number from 1 to %d", me, v, pods.MostMembers)
	}
	o.Annotations = object.GetAnnotations()
	return o, &corev1.ObjectReference{UID: object.GetUID()}
}

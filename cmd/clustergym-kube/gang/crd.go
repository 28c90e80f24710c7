package gang

import (
	"cmp"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/clustergym/clustergym/env/pods"
)

// CRDVersion is the version of the scheduler-plugins project's PodGroup.
const CRDVersion = pods.Plugins

// CRD reads PodGroups that a CustomResourceDefinition defines: their size is spec.minMember. As a Source it reads those of the
// scheduler-plugins project.
type CRD struct {
	Get     func(namespace, name string) *unstructured.Unstructured // returns nil if there is none
	Version string                                                  // "" for CRDVersion
}

// Of implements Source.
func (c *CRD) Of(pod *corev1.Pod) (Group, bool, error) { return finders{CRDVersion: c.find}.of(pod) }

func (c *CRD) find(namespace, name string) (*pods.Object, *corev1.ObjectReference) {
	object := c.Get(namespace, name)
	if object == nil {
		return nil, nil
	}
	o := c.read(object, fmt.Sprintf("PodGroup %s/%s", namespace, name))
	o.Annotations = object.GetAnnotations()
	return o, &corev1.ObjectReference{Kind: "PodGroup", Namespace: namespace, Name: name, UID: object.GetUID()}
}

func (c *CRD) read(object *unstructured.Unstructured, me string) *pods.Object {
	version := cmp.Or(c.Version, CRDVersion)
	v, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "minMember")
	if err != nil || !found || v == nil {
		return pods.MemberObject(version, me, false, 0)
	}
	switch n := v.(type) {
	case int64:
		return pods.MemberObject(version, me, true, n)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32 {
			return pods.MemberObject(version, me, true, int64(n))
		}
	}
	return &pods.Object{Err: fmt.Errorf("%s: spec.minMember is %v, want a whole number from 1 to %d", me, v, mostMembers)}
}

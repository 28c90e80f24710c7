package gang

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CRDVersion is the version of the scheduler-plugins project's PodGroup that CRD reads.
const CRDVersion = "scheduling.x-k8s.io/v1alpha1"

// CRD reads the scheduler-plugins project's PodGroup that a pod names in the label Label. The group's MinCount is spec.minMember.
type CRD struct {
	Get func(namespace, name string) *unstructured.Unstructured // returns nil if there is none
}

// Of implements Source.
func (c *CRD) Of(pod *corev1.Pod) (Group, bool, error) {
	name := pod.Labels[Label]
	if name == "" {
		return Group{}, false, nil
	}
	g := Group{Namespace: pod.Namespace, Name: name, MinCount: 1}
	object := c.Get(pod.Namespace, name)
	if object == nil {
		return g, true, fmt.Errorf("%s: label %s is %q, want the name of a PodGroup of %s that exists",
			title("pod", pod.Namespace, pod.Name), Label, name, CRDVersion)
	}
	g.Ref = &corev1.ObjectReference{
		APIVersion: CRDVersion, Kind: "PodGroup", Namespace: pod.Namespace, Name: name, UID: object.GetUID(),
	}
	g.Annotations = object.GetAnnotations()
	least, err := minMember(object, title("PodGroup", pod.Namespace, name))
	g.MinCount = max(least, 1)
	return g, true, err
}

func minMember(object *unstructured.Unstructured, me string) (int32, error) {
	const field = "spec.minMember"
	v, found, err := unstructured.NestedFieldNoCopy(object.Object, "spec", "minMember")
	if err != nil || !found {
		return 0, fmt.Errorf("%s: %s is missing, want a whole number from 1 to %d", me, field, mostMembers)
	}
	switch n := v.(type) {
	case int64:
		return count(me, field, n)
	case float64:
		if n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32 {
			return count(me, field, int64(n))
		}
	}
	return 0, fmt.Errorf("%s: %s is %v, want a whole number from 1 to %d", me, field, v, mostMembers)
}

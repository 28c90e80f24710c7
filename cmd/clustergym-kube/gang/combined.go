package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Combined asks each source in turn: Native for a pod that names a native group, else CRD where an object of that name
// exists, else Labels. A pod whose label names a group that none of them knows is an error and not a gang of one: it would
// start alone.
type Combined struct {
	Native *Native // nil where the server does not have the API
	CRD    *CRD    // nil where the server does not have the API
}

// Of implements Source.
func (c *Combined) Of(pod *corev1.Pod) (Group, bool, error) {
	if name := names(pod); name != "" {
		if c.Native == nil {
			return Group{Namespace: pod.Namespace, Name: name, MinCount: 1}, true,
				fmt.Errorf("%s: spec.schedulingGroup.podGroupName is %q, want none: the server does not have %s",
					title("pod", pod.Namespace, pod.Name), name, NativeVersion)
		}
		return c.Native.Of(pod)
	}
	name := pod.Labels[Label]
	if name == "" {
		return Group{}, false, nil
	}
	_, said := pod.Annotations[MinMemberAnnotation]
	if c.CRD != nil && (!said || c.CRD.Get(pod.Namespace, name) != nil) {
		return c.CRD.Of(pod)
	}
	return Labels{}.Of(pod)
}

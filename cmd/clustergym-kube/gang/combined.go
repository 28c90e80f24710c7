package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Combined finds a pod's group in one of its sources: Native if the pod names a native group, CRD if an object with the label's
// name exists, and Labels otherwise. If a pod's label names a group that no source finds, Of returns an error and does not treat
// the pod as a gang of one, because then the pod would start alone.
type Combined struct {
	Native *Native // nil if the server does not have the API
	CRD    *CRD    // nil if the server does not have the API
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

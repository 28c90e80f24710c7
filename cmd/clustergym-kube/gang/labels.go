package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Labels finds groups from their pods alone: the label Label contains the group's name, and MinMemberAnnotation the number of
// pods that must run together.
type Labels struct{}

// Of implements Source.
func (Labels) Of(pod *corev1.Pod) (Group, bool, error) {
	name := pod.Labels[Label]
	if name == "" {
		return Group{}, false, nil
	}
	g := Group{Namespace: pod.Namespace, Name: name, MinCount: 1}
	me := title("pod", pod.Namespace, pod.Name)
	value, said := pod.Annotations[MinMemberAnnotation]
	if !said {
		return g, true, fmt.Errorf("%s: label %s is %q, want also the annotation %s: a whole number from 1 to %d",
			me, Label, name, MinMemberAnnotation, mostMembers)
	}
	least, err := Count(me, "annotation "+MinMemberAnnotation, value)
	g.MinCount = max(least, 1)
	return g, true, err
}

// Package gang finds the gang of a pod: the pods that must run together. Users define gangs with one of three APIs: Kubernetes'
// native PodGroup, the PodGroup of the scheduler-plugins project, or labels and annotations on the pods themselves.
package gang

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// The label and the annotation that users write on the objects of groups, or on pods.
const (
	Label               = "scheduling.x-k8s.io/pod-group" // on pods: the name of the group
	MinMemberAnnotation = "clustergym.dev/min-member"     // on the pods of a group that has no object: its MinCount
)

// mostMembers is the upper limit of every number of pods that a user writes.
const mostMembers = 1 << 16

// Group is a gang: pods that must run together.
type Group struct {
	Namespace, Name string
	Ref             *corev1.ObjectReference // the object that events are about; nil if the group has only a label, or is a pod alone
	MinCount        int32                   // pods that must run together; at least 1
	Annotations     map[string]string       // of the group's object, nil if it has none; read only
}

// Source returns the group of a pod. ok is false if the pod belongs to no group: it is a gang of one. An error says why the group
// is not known yet (its object is missing or invalid) and what is expected; g then still has the namespace and the name.
type Source interface {
	Of(pod *corev1.Pod) (g Group, ok bool, err error)
}

// Count parses a number of pods that a user wrote in a field of an object. It returns an error unless the number is from 1 to
// mostMembers.
func Count(object, field, value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %s is %q, want a whole number from 1 to %d", object, field, value, mostMembers)
	}
	return count(object, field, n)
}

func count(object, field string, n int64) (int32, error) {
	if n < 1 || n > mostMembers {
		return 0, fmt.Errorf("%s: %s is %d, want a whole number from 1 to %d", object, field, n, mostMembers)
	}
	return int32(n), nil
}

func title(kind, namespace, name string) string {
	return fmt.Sprintf("%s %s/%s", kind, namespace, name)
}

// Package gang tells which pods must run together, from whichever API of Kubernetes says so: the native PodGroup, the
// PodGroup of the scheduler-plugins project, or labels and annotations of the pods themselves.
package gang

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// What users write on the objects of groups, or on pods.
const (
	Label               = "scheduling.x-k8s.io/pod-group" // on pods: the name of the group
	MinMemberAnnotation = "clustergym.dev/min-member"     // on the pods of a group that has no object: its MinCount
)

// mostMembers bounds every number of pods that a user writes.
const mostMembers = 1 << 16

// Group is a gang: pods that must run together.
type Group struct {
	Namespace, Name string
	Ref             *corev1.ObjectReference // the object that events are about, nil for a group known by label only or a pod alone
	MinCount        int32                   // pods that must run together; at least 1
	Annotations     map[string]string       // of the group's object; nil without. Read only
}

// Source tells the group of a pod. ok is false for a pod that belongs to none: a gang of one. An error says why the group
// cannot be known yet (its object is missing or says what cannot be), with what is expected; namespace and name are then
// given all the same.
type Source interface {
	Of(pod *corev1.Pod) (g Group, ok bool, err error)
}

// Count reads a number of pods that a user wrote in a field of an object: from 1 to mostMembers.
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

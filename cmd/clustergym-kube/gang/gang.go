// Package gang finds the gang of a pod, the pods that must run together, in the objects of a Kubernetes API server. Package pods
// of the main module says which pods are a gang; this package finds the objects for it.
package gang

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/env/pods"
)

// The label and the annotation that users write on the objects of groups, or on pods.
const (
	Label               = pods.GroupLabel    // on pods: the name of the group
	MinMemberAnnotation = pods.MinMemberNote // on the pods of a group that has no object: its MinCount
)

// mostMembers is the upper limit of every number of pods that a user writes.
const mostMembers = pods.MostMembers

// Group is a gang: pods that must run together.
type Group struct {
	Namespace, Name string
	API             string                  // see pods.Key
	Ref             *corev1.ObjectReference // the object that events are about; nil if the group has none, or is a pod alone
	MinCount        int32                   // pods that must run together; at least 1
	Open            bool                    // nobody states MinCount, see pods.Group
	Annotations     map[string]string       // of the group's object, nil if it has none; read only
}

// Source returns the group of a pod. ok is false if the pod belongs to no group: it is a gang of one. An error says why the group
// is not known yet (its object is missing or invalid) and what is expected; g then still has the namespace and the name.
type Source interface {
	Of(pod *corev1.Pod) (g Group, ok bool, err error)
}

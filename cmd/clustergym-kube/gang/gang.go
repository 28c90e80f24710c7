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

// Neutral returns what of a pod decides about its gang. The pod shares its maps with the result.
func Neutral(pod *corev1.Pod) *pods.Pod {
	p := &pods.Pod{
		Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, Annotations: pod.Annotations, Bound: pod.Spec.NodeName != "",
		Gated: len(pod.Spec.SchedulingGates) > 0, Succeeded: pod.Status.Phase == corev1.PodSucceeded,
	}
	if g := pod.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		p.Group = *g.PodGroupName
	}
	for i := range pod.OwnerReferences {
		if o := &pod.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			p.Owner = pods.Owner{Kind: o.Kind, Name: o.Name, UID: string(o.UID)}
		}
	}
	return p
}

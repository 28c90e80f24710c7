// Package gang finds the gang of a pod, the pods that must run together, in the objects of a Kubernetes API server. Package pods
// of the main module says which pods are a gang; this package finds the objects for it.
package gang

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/env/pods"
)

// Group is a gang: pods that must run together. Its annotations are read only.
type Group struct {
	pods.Group
	Ref *corev1.ObjectReference // the object that events are about; nil if the group has none, or is a pod alone
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

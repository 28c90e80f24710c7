package gang

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/env/pods"
)

// Combined finds a pod's group as pods.Of does, in the objects of the APIs that the server has: each field is nil if the server
// does not have the API.
type Combined struct {
	Native *Native
	CRD    *CRD
	// The PodGroups of Volcano and of KAI Scheduler.
	Volcano, KAI *CRD
}

// Of implements Source.
func (c *Combined) Of(pod *corev1.Pod) (Group, bool, error) {
	from := finders{}
	if c.Native != nil {
		from[NativeVersion] = c.Native.find
	}
	for version, crd := range map[string]*CRD{CRDVersion: c.CRD, pods.Volcano: c.Volcano, pods.KAI: c.KAI} {
		if crd != nil {
			from[version] = crd.find
		}
	}
	return from.of(pod)
}

// finders find the objects of each API that the server has.
type finders map[string]func(namespace, name string) (*pods.Object, *corev1.ObjectReference)

func (f finders) of(pod *corev1.Pod) (Group, bool, error) {
	refs, objects := map[string]*corev1.ObjectReference{}, pods.Objects{}
	for version, find := range f {
		objects[version] = func(namespace, name string) *pods.Object {
			o, ref := find(namespace, name)
			if ref != nil {
				ref.APIVersion = version
			}
			refs[version] = ref
			return o
		}
	}
	g := pods.Of(Neutral(pod), objects)
	return Group{
		Namespace: g.Namespace, Name: g.Name, API: g.API, Ref: refs[g.API], MinCount: g.Least, Open: g.Open, Annotations: g.Annotations,
	}, g.API != pods.Alone, g.Err
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

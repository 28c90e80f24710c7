// Package pods reads the workload of a Kubernetes cluster from its pods: which pods are one gang, how many of them must run
// together, what users state about the gang, and whether it runs or waits. The scheduler clustergym-kube and the reader of what
// kubectl prints both use it, so that a forecast is about the gangs that the scheduler sees. It knows no client of Kubernetes,
// reads no clock, and its results depend on its arguments alone.
package pods

import "cmp"

// Pod is what of a pod decides about its gang, whoever has read it.
type Pod struct {
	Namespace, Name     string
	Labels, Annotations map[string]string // at least those that Reads names
	Owner               Owner             // the controller, if it has one
	Group               string            // spec.schedulingGroup.podGroupName
	Bound               bool              // it has a node
	Gated               bool              // it has scheduling gates
	Succeeded           bool
	Index               int // the caller's number of the pod
}

// Owner is the controller of a pod.
type Owner struct{ Kind, Name, UID string }

// Title is the namespace and the name.
func (p *Pod) Title() string { return p.Namespace + "/" + p.Name }

// ByName compares pods by namespace and name.
func ByName(a, b *Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

package mirror

import corev1 "k8s.io/api/core/v1"

// Takes reports whether a node is there, takes new pods, and has room for a pod beside the other pods that are bound to it. The
// pod may have been resized since: it counts as it is in o.
func (o *Objects) Takes(c *Config, pod *corev1.Pod, node string) bool {
	var use amount
	for _, other := range o.Pods {
		switch {
		case other.UID == pod.UID:
			pod = other
		case other.Spec.NodeName == node && !Ended(other):
			use.add(c.holding(other))
		}
	}
	use.add(c.holding(pod))
	for _, n := range o.Nodes {
		if n.Name != node {
			continue
		}
		has := c.amountOf(n.Status.Allocatable)
		_, cpu := n.Status.Allocatable[corev1.ResourceCPU]
		_, memory := n.Status.Allocatable[corev1.ResourceMemory]
		return !closed(n) && use.gpus <= has.gpus && (!cpu || use.cpuMilli <= has.cpuMilli) && (!memory || use.memBytes <= has.memBytes)
	}
	return false
}

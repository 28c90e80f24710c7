package mirror

import corev1 "k8s.io/api/core/v1"

// Takes reports whether a node is there, takes new pods, and has room for a pod beside the other pods that are bound to it.
func (o *Objects) Takes(c *Config, pod *corev1.Pod, node string) bool {
	use := c.holding(pod)
	for _, other := range o.Pods {
		if other.UID != pod.UID && o.NodeOf(other) == node && !Ended(other) {
			use.add(c.holding(other))
		}
	}
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

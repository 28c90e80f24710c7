package pods

import "cmp"

// Queue is what a pod says of its place in Kueue; "" is not said. The pod alone does not tell its Workload if a controller higher
// up owns that.
type Queue struct {
	Local, Cluster string // a LocalQueue of its namespace, and a ClusterQueue
	Workload       string // of its namespace
}

// QueueOf returns the place of a pod in Kueue.
func QueueOf(p *Pod) Queue {
	return Queue{
		Local: cmp.Or(p.Labels[queueLabel], p.Labels[localQueueLabel]), Cluster: p.Labels[clusterQueueLabel],
		Workload: cmp.Or(p.Annotations[workloadNote], p.Labels[kueueGroupLabel]),
	}
}

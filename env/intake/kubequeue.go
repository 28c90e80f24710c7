package intake

import (
	"cmp"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// owningKinds are the kinds of owners that are read for the queue of their pods.
var owningKinds = []string{
	"Job", "JobSet", "LeaderWorkerSet", "StatefulSet", "ReplicaSet", "Deployment", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob",
	"PaddleJob", "JAXJob", "TrainJob", "RayCluster", "RayJob", "AppWrapper",
}

func (k *kubeCluster) addOwner(r *strictjson.Reader) {
	var o meta
	object(r, []string{"metadata"}, func(string) { o = readMeta(r, pods.Reads) })
	if o.uid != "" {
		k.owners[o.uid] = o
	}
}

// mostOwners is the longest chain of owners.
const mostOwners = 8

// queueNamed returns the LocalQueue and the ClusterQueue of a pod: as its labels, the labels of what owns it, or the Workload
// that Kueue made for it or for one of its owners say.
func (k *kubeCluster) queueNamed(p *pod) (local, admitted string) {
	said := pods.QueueOf(p.neutral())
	local, admitted = said.Local, said.Cluster
	of := func(w *workload) {
		if w != nil {
			local, admitted = cmp.Or(local, w.queue), cmp.Or(admitted, w.admitted)
		}
	}
	for uid, i := p.owner.uid, 0; uid != "" && i < mostOwners; i++ {
		of(k.kueue.owners[uid])
		o := k.owners[uid]
		local, uid = cmp.Or(local, pods.QueueOf(&pods.Pod{Labels: o.labels}).Local), o.owner.uid
	}
	of(k.named[[3]string{"Workload", p.namespace, said.Workload}])
	of(k.named[[3]string{"JobSet", p.namespace, said.JobSet}])
	return local, admitted
}

// nameWorkloads finds the Workloads by their own names and by those of their JobSets.
func (k *kubeCluster) nameWorkloads() {
	k.named = map[[3]string]*workload{}
	for _, w := range k.kueue.workloads {
		k.named[[3]string{"Workload", w.namespace, w.name}] = w
		if w.owner.kind == "JobSet" {
			k.named[[3]string{"JobSet", w.namespace, w.owner.name}] = w
		}
	}
}

// tenantOf returns the tenant of a gang: that of its queue, or else its namespace.
func (k *kubeCluster) tenantOf(p *pod) string {
	local, admitted := k.queueNamed(p)
	if q := k.queueOf(p.namespace, local, admitted); q != nil {
		return q.tenant()
	}
	return p.namespace
}

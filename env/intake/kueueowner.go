package intake

import (
	"cmp"
	"slices"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// owningKinds are the kinds of owners that are read for the Workload of their pods.
var owningKinds = []string{
	"Job", "JobSet", "LeaderWorkerSet", "StatefulSet", "ReplicaSet", "Deployment", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob",
	"PaddleJob", "JAXJob", "TrainJob", "RayCluster", "RayJob", "AppWrapper",
}

// mostOwners is the longest chain of owners.
const mostOwners = 8

func (k *kubeCluster) addOwner(r *strictjson.Reader) {
	var o struct {
		meta `kube:"metadata"`
	}
	r.Struct(&o)
	if o.UID != "" {
		k.owners[o.UID] = o.meta
	}
	k.told.add("objects that own pods, read only for the queue of these", o.title())
}

// workloadLabel is a label of pods with the name of their Workload, or of what owns it.
type workloadLabel struct {
	key   string
	kinds []string // of the owner, "" for the Workload itself
}

var workloadLabels = []workloadLabel{
	{"kueue.x-k8s.io/prebuilt-workload-name", []string{""}},
	{"workload.codeflare.dev/appwrapper", []string{"AppWrapper"}},
	{"jobset.sigs.k8s.io/jobset-name", []string{"JobSet", "TrainJob"}},
	{"training.kubeflow.org/job-name", []string{"PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob"}},
	{"ray.io/originated-from-cr-name", []string{"RayJob", "RayCluster"}},
	{"ray.io/cluster", []string{"RayCluster"}},
	{"batch.kubernetes.io/job-name", []string{"Job"}},
	{"job-name", []string{"Job"}},
}

// workloadOf returns the Workload that Kueue has made for a pod or for one of its owners, or nil. The owners between the pod and
// what the Workload is for, such as the Jobs of a JobSet, need not be in the input if a label or an annotation names it.
func (k *kubeCluster) workloadOf(p *pod) *workload {
	if w := k.kueue.owners[p.UID]; w != nil && p.UID != "" {
		return w
	}
	for uid, i := p.Owner.UID, 0; uid != "" && i < mostOwners; i++ {
		if w := k.kueue.owners[uid]; w != nil {
			return w
		}
		uid = k.owners[uid].Owner.UID
	}
	if w := k.kueue.named[workloadKey{"", p.Namespace, pods.QueueOf(p.neutral()).Workload}]; w != nil {
		return w
	}
	for _, l := range workloadLabels {
		value := p.Labels[l.key]
		for _, kind := range l.kinds {
			if w := k.kueue.named[workloadKey{kind, p.Namespace, value}]; w != nil {
				return w
			}
		}
	}
	return nil
}

// workloadKey names a Workload by what owns it, or with the kind "" by itself.
type workloadKey struct{ kind, namespace, name string }

// nameWorkloads sorts the Workloads by name, and makes those that have not ended known by their names and those of their owners.
func (k *kubeCluster) nameWorkloads() {
	slices.SortFunc(k.kueue.workloads, func(a, b *workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	k.kueue.named = map[workloadKey]*workload{}
	for _, w := range k.kueue.workloads {
		if w.ended {
			continue
		}
		if w.Name != "" {
			k.kueue.named[workloadKey{"", w.Namespace, w.Name}] = w
		}
		if w.Owner.Kind != "" && w.Owner.Name != "" {
			k.kueue.named[workloadKey{w.Owner.Kind, w.Namespace, w.Owner.Name}] = w
		}
	}
}

// queueNamed returns the LocalQueue and the ClusterQueue of a pod, as its labels, those of its owners or its Workload say.
func (k *kubeCluster) queueNamed(p *pod) (local, admitted string) {
	said := pods.QueueOf(p.neutral())
	local, admitted = said.Local, said.Cluster
	if w := k.workloadOf(p); w != nil {
		return cmp.Or(local, w.Queue), cmp.Or(admitted, w.Admission.Queue)
	}
	for uid, i := p.Owner.UID, 0; uid != "" && i < mostOwners; i++ {
		o := k.owners[uid]
		local, uid = cmp.Or(local, pods.QueueOf(&pods.Pod{Labels: o.Labels}).Local), o.Owner.UID
	}
	return local, admitted
}

// tenantOf returns the tenant of a pod: that of its queue, or else its namespace.
func (k *kubeCluster) tenantOf(p *pod) string {
	local, admitted := k.queueNamed(p)
	if q := k.queueOf(p.Namespace, local, admitted); q != nil {
		return q.tenant()
	}
	return p.Namespace
}

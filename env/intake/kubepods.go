package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// addPod keeps a pod that has not failed. It notes what of it a snapshot cannot represent.
func (k *kubeCluster) addPod(r *strictjson.Reader) {
	p := k.readPod(r)
	title := p.title()
	if r.Err() != nil || p.phase == "Failed" {
		return
	}
	p.fraction, _ = pods.FractionOf(p.neutral())
	if p.gpus > 0 {
		p.fraction = pods.Fraction{}
	}
	if p.phase == "Succeeded" { // it counts for the size of its gang
		k.pods = append(k.pods, p)
		return
	}
	if k.titles[title] {
		r.Bad("metadata.name", title, "each pod once")
	}
	k.titles[title] = true
	k.tellOthers(p)
	switch {
	case p.workers() == 0:
		if p.node != "" {
			k.rest = append(k.rest, p)
		}
		if !p.deleting {
			k.helpers = append(k.helpers, p)
		}
	case p.node != "" && p.deleting:
		k.leaving = append(k.leaving, p)
	case p.deleting:
		k.told.add("waiting pods that are being deleted, left out", title)
	default:
		for _, field := range p.constraints.others {
			k.told.add("pods whose required "+field+" a snapshot cannot represent", title)
		}
		k.pods = append(k.pods, p)
	}
}

// tellOthers notes what else a pod asks for than the GPUs, CPU and memory of a snapshot.
func (k *kubeCluster) tellOthers(p *pod) {
	title := p.title()
	slices.Sort(p.others)
	for _, resource := range slices.Compact(p.others) {
		if p.workers() > 0 {
			k.told.add("pods with GPUs that also ask for "+resource+", which a snapshot does not model", title)
		} else {
			k.told.add("pods that ask for "+resource+" and for no "+k.GPU+", left out", title)
		}
	}
	if p.claims {
		k.told.add("pods with resource claims, whose devices are not counted", title)
	}
}

// placed leaves out the pods on nodes that are not in the input, and adds the whole GPUs of the others to their nodes. Those that
// only count for the size of their gang hold none.
func (k *kubeCluster) placed(list []*pod) []*pod {
	return slices.DeleteFunc(list, func(p *pod) bool {
		n := k.nodes[p.node]
		switch {
		case p.phase == "Succeeded" || p.node == "":
		case n == nil:
			k.told.add("pods on nodes that are not in the input, left out", fmt.Sprintf("%s on %s", p.title(), p.node))
			return true
		default:
			n.gpus += p.gpus
		}
		return false
	})
}

// share reads what the pods of KAI Scheduler hold on shared GPUs. A reservation pod holds the whole GPU for them, so it is no job of
// its own if one of them is there.
func (k *kubeCluster) share() {
	shared := map[[2]string][]*pod{} // by node and name of the GPU
	for _, p := range slices.Concat(k.pods, k.leaving) {
		if p.fraction.Devices == 0 || p.node == "" || p.phase == "Succeeded" {
			continue
		}
		for i := len(p.fraction.Shared); i < int(p.fraction.Devices); i++ { // it does not say which
			p.fraction.Shared = append(p.fraction.Shared, fmt.Sprintf("%s#%d", p.title(), i))
		}
		p.fraction.Devices = int32(min(len(p.fraction.Shared), cluster.MaxGPUs))
		p.fraction.Shared = p.fraction.Shared[:p.fraction.Devices]
		for _, name := range p.fraction.Shared {
			shared[[2]string{p.node, name}] = append(shared[[2]string{p.node, name}], p)
		}
	}
	open := map[string]int{} // GPUs of a node whose reservation pod has not been found
	for _, gpu := range slices.SortedFunc(maps.Keys(shared), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		k.nodes[gpu[0]].gpus++
		open[gpu[0]]++
		k.divide(shared[gpu])
	}
	reserves := func(p *pod) (name string, ok bool) {
		name, ok = pods.Reserves(p.neutral())
		return name, ok && p.gpus > 0 && p.node != "" && p.phase != "Succeeded"
	}
	drop := func(all []*pod, named bool) []*pod {
		return slices.DeleteFunc(all, func(p *pod) bool {
			name, ok := reserves(p)
			if !ok || named != (shared[[2]string{p.node, name}] != nil) || !named && open[p.node] == 0 {
				return false
			}
			open[p.node]--
			k.nodes[p.node].gpus -= p.gpus
			k.nodes[p.node].others.add(amounts{cpuMilli: p.cpuMilli, memBytes: p.memBytes})
			return true
		})
	}
	k.pods = drop(drop(k.pods, true), false)
	for _, p := range k.pods {
		if _, ok := reserves(p); ok {
			k.told.add("reservation pods of KAI Scheduler without a pod that shares the GPU in the input: running jobs of their own", p.title())
		}
	}
	k.pods = slices.DeleteFunc(k.pods, k.unreadable)
}

// divide gives the pods on one GPU that do not say which part of it they hold equal parts of what the others leave. If all hold more
// than there is, each holds less.
func (k *kubeCluster) divide(on []*pod) {
	held, n := int32(0), int32(0)
	for _, p := range on {
		if held += p.fraction.Milli; p.fraction.Milli == 0 {
			n++
		}
	}
	each := max(cluster.WholeGPU-held, n) / max(n, 1)
	for _, p := range on {
		if p.fraction.Milli == 0 {
			k.told.add("running pods that share a GPU by memory, or say it wrongly: they hold what the others leave of it", p.title())
			p.fraction.Milli = each
			held += each
		}
	}
	for _, p := range on {
		if held > cluster.WholeGPU {
			k.told.add("running pods that hold more than all of a shared GPU together: each is taken to hold less", p.title())
			p.fraction.Milli = max(int32(int64(p.fraction.Milli)*cluster.WholeGPU/int64(held)), 1)
		}
	}
}

// unreadable reports whether a waiting pod asks for shared GPUs in a way that a snapshot cannot represent.
func (k *kubeCluster) unreadable(p *pod) bool {
	if p.fraction.Devices == 0 || p.fraction.Milli > 0 && p.fraction.Err == nil || p.node != "" || p.phase == "Succeeded" {
		return false
	}
	why := "gpu-memory is " + p.fraction.Memory
	if p.fraction.Err != nil {
		why = p.fraction.Err.Error()
	}
	k.told.add("waiting pods that ask for memory of a shared GPU, or say it wrongly, left out", cut(p.title()+": "+why))
	return true
}

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

// queueNamed returns the LocalQueue and the ClusterQueue of a pod: as its labels, the labels of what owns it, or the Workload that
// Kueue made for it or for one of its owners say.
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

package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// noteResources notes what a pod that has not ended, or one of a Workload, asks for beside GPUs. gpus is whether the job has any.
func (k *kubeCluster) noteResources(kind, title string, p *pod, gpus bool) {
	slices.SortFunc(p.others, func(a, b resource) int { return cmp.Compare(a.name, b.name) })
	for _, r := range slices.CompactFunc(p.others, func(a, b resource) bool { return a.name == b.name }) {
		if gpus {
			k.told.add(kind+" with GPUs that also ask for "+r.name+", which a snapshot does not model", title)
		} else {
			k.told.add(kind+" that ask for "+r.name+" and for no "+k.GPU+", left out", title)
		}
	}
	if p.Claims {
		k.claiming = append(k.claiming, title)
		k.told.add(kind+" with resource claims, whose devices are not counted: if these are GPUs of a node, they count as free", title)
	}
}

// notePod notes what of a pod with GPUs a snapshot does not keep.
func (k *kubeCluster) notePod(p *pod) {
	for _, field := range p.constraints.others {
		k.told.add("pods whose required "+field+" a snapshot cannot represent", p.title())
	}
	k.notePriority(p.title(), p.Priority, p.Class)
	if p.Phase == "Unknown" {
		k.told.add("pods of phase Unknown: they are taken to run", p.title())
	}
}

// noteWorkload notes what of a Workload that waits a snapshot does not keep. first is the first of its pods with GPUs.
func (k *kubeCluster) noteWorkload(w *workload, first *pod) {
	k.notePriority(w.job(), cmp.Or(w.Priority, first.Priority), cmp.Or(w.Class, first.Class))
	partial, racks := false, false
	for i := range w.Sets {
		partial, racks = partial || w.Sets[i].Partial, racks || w.Sets[i].Topology.Required != ""
	}
	if partial {
		k.told.add("Workloads that Kueue may admit with fewer pods (minCount): taken to need all", w.job())
	}
	if racks {
		k.told.add("Workloads whose required topology a snapshot cannot represent", w.job())
	}
}

// notePriority notes a priority other than the usual one, as a number or only as the name of its class.
func (k *kubeCluster) notePriority(title string, priority int64, class string) {
	if said := cmp.Or(map[bool]string{true: fmt.Sprint(priority)}[priority != 0], class); said != "" {
		k.told.add("pods and Workloads with a priority, which a snapshot does not keep", fmt.Sprintf("%s (%s)", title, said))
	}
}

// noteNodes notes what of the nodes a snapshot does not keep or takes for something else. servers are those with GPUs.
func (k *kubeCluster) noteNodes(servers []*node) {
	var fewer []string
	for _, n := range servers {
		if k.read["Pod"] == 0 {
			k.told.add("nodes with GPUs, and no pods in the input (kubectl get nodes,pods -A): all their GPUs count as free", n.Name)
		}
		if n.Has.gpus < n.Whole.gpus {
			fewer = append(fewer, fmt.Sprintf("%s (%d of %d allocatable)", n.Name, n.Has.gpus, n.Whole.gpus))
		}
		if n.closed && n.held == 0 {
			k.told.add("nodes that are unschedulable, not ready or being deleted: down in the snapshot", n.Name)
		}
		if why := n.split(); why != "" {
			k.told.add("nodes whose GPUs are split or shared: each part counts as a GPU", fmt.Sprintf("%s (%s)", n.Name, why))
		}
		for _, r := range n.devices() {
			if isAccelerator(r.name) {
				k.told.add("nodes that also have "+r.name+", which is not counted", fmt.Sprintf("%s (%d)", n.Name, r.n))
			}
		}
	}
	k.told.addAll("nodes with more GPUs than are allocatable: those that no pod holds are out of order in the snapshot", fewer)
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		if n := k.nodes[name]; n.gpus == 0 {
			k.noteLeftOut(n)
		}
	}
}

// noteLeftOut notes a node that has no GPUs that are counted, if it seems to have others.
func (k *kubeCluster) noteLeftOut(n *node) {
	some := false
	for _, r := range n.devices() {
		if isAccelerator(r.name) {
			some = true
			o := device{resource: r, label: n.productLabel(r.name)}
			k.told.add(fmt.Sprintf("nodes with %s and without %s, left out; %s reads them", r.name, k.GPU, o.flags(k.TypeLabel)),
				fmt.Sprintf("%s (%d)", n.Name, r.n))
		}
	}
	if kind := n.Labels[k.TypeLabel]; kind != "" && !some {
		k.told.add("nodes that have a GPU type by their label "+k.TypeLabel+" and have no "+k.GPU+", left out",
			fmt.Sprintf("%s (%s)", n.Name, kind))
	}
}

// The labels by which device plugins tell that the GPUs that they count are parts of GPUs.
const (
	productLabel   = "nvidia.com/gpu.product"
	replicasLabel  = "nvidia.com/gpu.replicas"
	clientsLabel   = "cloud.google.com/gke-max-shared-clients-per-gpu"
	partitionLabel = "cloud.google.com/gke-gpu-partition-size"
)

// split returns the label that tells that the GPUs of a node are parts of GPUs, or "".
func (n *node) split() string {
	for _, key := range []string{replicasLabel, clientsLabel, partitionLabel} {
		if v := n.Labels[key]; v != "" && v != "0" && v != "1" {
			return key + " " + v
		}
	}
	if v := n.Labels[productLabel]; strings.Contains(v, "-MIG-") || strings.HasSuffix(v, "-SHARED") {
		return productLabel + " " + v
	}
	return ""
}

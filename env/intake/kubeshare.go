package intake

import (
	"fmt"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
)

// share reads what the pods of KAI Scheduler hold on shared GPUs. A reservation pod holds the whole GPU for them, so it is no job
// of its own if one of them is there.
func (k *kubeCluster) share() {
	shared := map[[2]string][]*pod{} // by node and name of the GPU
	for _, p := range slices.Concat(k.pods, k.leaving) {
		if p.fraction.Devices == 0 || p.Node == "" || p.Phase == "Succeeded" {
			continue
		}
		for i := len(p.fraction.Shared); i < int(p.fraction.Devices); i++ { // it does not say which
			p.fraction.Shared = append(p.fraction.Shared, fmt.Sprintf("%s#%d", p.title(), i))
		}
		p.fraction.Devices = int32(min(len(p.fraction.Shared), cluster.MaxGPUs))
		p.fraction.Shared = p.fraction.Shared[:p.fraction.Devices]
		for _, name := range p.fraction.Shared {
			shared[[2]string{p.Node, name}] = append(shared[[2]string{p.Node, name}], p)
		}
	}
	open := map[string]int{} // GPUs of a node whose reservation pod has not been found
	for _, gpu := range slices.SortedFunc(maps.Keys(shared), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		k.nodes[gpu[0]].held++
		open[gpu[0]]++
		k.divide(shared[gpu])
	}
	reserves := func(p *pod) (name string, ok bool) {
		name, ok = pods.Reserves(p.neutral())
		return name, ok && p.gpus > 0 && p.Node != "" && p.Phase != "Succeeded"
	}
	drop := func(all []*pod, named bool) []*pod {
		return slices.DeleteFunc(all, func(p *pod) bool {
			name, ok := reserves(p)
			if !ok || named != (shared[[2]string{p.Node, name}] != nil) || !named && open[p.Node] == 0 {
				return false
			}
			open[p.Node]--
			k.nodes[p.Node].held -= p.gpus
			k.nodes[p.Node].others.add(amounts{cpuMilli: p.cpuMilli, memBytes: p.memBytes})
			return true
		})
	}
	k.pods = drop(drop(k.pods, true), false)
	for _, p := range k.pods {
		if _, ok := reserves(p); ok {
			const what = "reservation pods of KAI Scheduler without a pod that shares the GPU in the input: running jobs of their own"
			k.told.add(what, p.title())
		}
	}
	k.pods = slices.DeleteFunc(k.pods, k.unreadable)
}

// divide gives the pods on one GPU that do not say which part of it they hold equal parts of what the others leave. If all hold
// more than there is, each holds less.
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
	if p.fraction.Devices == 0 || p.fraction.Milli > 0 && p.fraction.Err == nil || p.Node != "" || p.Phase == "Succeeded" {
		return false
	}
	why := "gpu-memory is " + p.fraction.Memory
	if p.fraction.Err != nil {
		why = p.fraction.Err.Error()
	}
	k.told.add("waiting pods that ask for memory of a shared GPU, or say it wrongly, left out", cut(p.title()+": "+why))
	return true
}

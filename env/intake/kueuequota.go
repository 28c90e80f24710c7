package intake

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// quotas returns the quota of each tenant that has one.
func (k *kubeCluster) quotas(jobs []job) []cluster.Quota {
	gpus, covers := map[string]int64{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(k.kueue.queues)) {
		q := k.kueue.queues[name]
		if q.limited && q.cohort != "" {
			k.told.add("ClusterQueues with limits of what they borrow or lend: all of a cohort count as one quota", q.Name)
		}
		if q.several > 1 {
			k.told.add("ClusterQueues with GPUs of several flavors: all count as one quota", q.Name)
		}
		if q.checks {
			k.told.add("ClusterQueues with admission checks, which are taken to pass", q.Name)
		}
		gpus[q.tenant()] += max(q.gpus, 0)
		covers[q.tenant()] = covers[q.tenant()] || q.gpus >= 0
	}
	for _, name := range slices.Sorted(maps.Keys(k.kueue.cohorts)) {
		q, tenant := k.kueue.cohorts[name], "cohort/"+name
		if _, used := gpus[tenant]; used && q.gpus >= 0 {
			gpus[tenant], covers[tenant] = gpus[tenant]+q.gpus, true
		}
		if q.cohort != "" || q.limited {
			k.told.add("Cohorts with a parent, or with limits of what they borrow or lend: each counts on its own", name)
		}
	}
	unseen := k.unseen()
	held := maps.Clone(unseen)
	for i := range jobs {
		for _, p := range jobs[i].pieces {
			held[jobs[i].Tenant] += int64(p.Workers)
		}
	}
	var all []cluster.Quota
	for _, tenant := range slices.Sorted(maps.Keys(gpus)) {
		if !covers[tenant] {
			k.told.add("queues and cohorts without a quota of "+k.GPU+": taken to be unlimited", tenant)
			continue
		}
		if held[tenant] > gpus[tenant] {
			k.told.add("queues and cohorts that hold more GPUs than their quota: it is taken to be as large", tenant)
		}
		left := max(gpus[tenant], held[tenant]) - unseen[tenant]
		all = append(all, cluster.Quota{Tenant: tenant, GPUs: int32(min(left, mostQuota))})
	}
	return all
}

// unseen returns how many GPUs of each tenant's quota are in use beside those of the jobs in the State: by pods on nodes that are
// not in the input, and by Workloads that Kueue has admitted and that have no pods, or fewer than it has reserved quota for.
func (k *kubeCluster) unseen() map[string]int64 {
	all, seen, loose := map[string]int64{}, map[*workload]int64{}, map[string]int64{}
	waits := map[*workload]bool{}
	count := func(p *pod) {
		local, admitted := k.queueNamed(p)
		q := k.queueOf(p.Namespace, local, admitted)
		if w := k.workloadOf(p); w != nil {
			seen[w] += p.workers()
			waits[w] = waits[w] || p.Node == ""
		} else if q != nil && (p.Node != "" || admitted != "") {
			loose[q.tenant()] += p.workers()
		}
		if q != nil && p.Node != "" && k.nodes[p.Node] == nil {
			all[q.tenant()] += p.workers()
		}
	}
	for _, p := range slices.Concat(k.pods, k.leaving, k.away) {
		if p.Phase != "Succeeded" && !(p.Gated && p.Node == "") {
			count(p)
		}
	}
	for _, w := range k.kueue.workloads {
		q := k.kueue.queues[w.Admission.Queue]
		if w.ended || q == nil {
			continue
		}
		if q.stop == drain || k.kueue.stopped[[2]string{w.Namespace, w.Queue}] == drain {
			k.told.add("admitted Workloads of queues that drain: what runs of them is taken to run on", w.job())
		}
		if waits[w] {
			k.told.add("admitted Workloads whose pods wait for nodes: in a plan others may take their quota", w.job())
		}
		missing := max(w.reserved()-seen[w], 0)
		known := min(missing, loose[q.tenant()]) // pods of the queue that do not name their Workload
		loose[q.tenant()] -= known
		if missing -= known; missing > 0 {
			all[q.tenant()] += missing
			k.told.add("admitted Workloads that hold quota for pods that are not in the input: the quota of their queue is smaller by "+
				"that", fmt.Sprintf("%s (%s)", w.job(), phrase.Count(missing, "GPU")))
		}
	}
	return all
}

// reserved returns the GPUs of quota that Kueue keeps for a Workload.
func (w *workload) reserved() (gpus int64) {
	for i := range w.Sets {
		s := &w.Sets[i]
		a := of(w.Admission.Sets, s.Title)
		count := cmp.Or(a.Count, s.Count)
		all := s.gpus * count
		if a.Usage.known {
			all = a.Usage.gpus
		}
		if left := count - of(w.Reclaimable, s.Title).Count; left > 0 {
			gpus += (all*left + count - 1) / count
		}
	}
	return gpus
}

package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// shape contains what decides how many workers of a gang fit on the empty nodes. Gangs of equal shape have equal capacity.
type shape struct {
	where    *cluster.ServerSet
	request  cluster.Amount
	together int32
}

// capacity is what fits of a gang on the empty nodes.
type capacity struct {
	workers int64 // on GPUs of one type
	nodes   int   // nodes that the gang may use
	most    int64 // the most GPUs of any of these nodes
	fits    bool  // at least one of these nodes fits a pod
}

// judge sets Never for waiting jobs that could never start with the GPUs allowed to all pods of a namespace, and lowers the
// workers of elastic jobs to the number that fits.
func (b *builder) judge(allowed map[string]int64) {
	known := map[shape]capacity{}
	for i := range b.view.Jobs {
		j, p := &b.view.Jobs[i], &b.plans[i]
		if j.Running {
			continue
		}
		k := shape{p.where, j.Spec.Request, j.Spec.Together()}
		r, ok := known[k]
		if !ok {
			r = b.roomFor(k)
			known[k] = r
		}
		if j.Never = b.never(j, p, r, allowed); j.Never != "" {
			continue
		}
		most := r.workers
		if quota, limited := allowed[j.Spec.Tenant]; limited {
			most = min(most, quota)
		}
		if int64(j.Spec.Workers) > most { // only an elastic job: its least number of workers fits
			j.Spec.Workers = int32(most)
		}
	}
}

// roomFor returns the capacity of the empty nodes for gangs of the shape k. Of the inference pool it counts as many nodes as may
// be on loan, those that take the most workers.
func (b *builder) roomFor(k shape) capacity {
	r := capacity{}
	ofType, lendable := map[string]int64{}, map[string][]int64{}
	lent := int32(0)
	for i := range b.servers {
		v := &b.servers[i]
		if v.onLoan {
			lent++
		}
		if !k.where.Has(cluster.ServerID(i)) {
			continue
		}
		n := v.empty.gpus
		if k.request.CPUMilli > 0 {
			n = min(n, v.empty.cpuMilli/int64(k.request.CPUMilli))
		}
		if k.request.MemMiB > 0 {
			n = min(n, v.empty.memBytes/mib/int64(k.request.MemMiB))
		}
		n -= n % int64(k.together)
		kind := v.spec.GPUType
		if v.spec.Pool == cluster.Inference && !v.onLoan {
			if b.Offer <= 0 {
				continue
			}
			lendable[kind] = append(lendable[kind], n)
		} else {
			ofType[kind] += n
		}
		r.nodes, r.most, r.fits = r.nodes+1, max(r.most, v.empty.gpus), r.fits || n > 0
	}
	for kind, list := range lendable {
		slices.Sort(list)
		for _, n := range list[max(len(list)-int(max(b.Offer-lent, 0)), 0):] {
			ofType[kind] += n
		}
	}
	for _, n := range ofType {
		r.workers = max(r.workers, n)
	}
	return r
}

// never returns why a gang could not start on empty nodes, or "" if it could.
func (b *builder) never(j *Job, p *plan, r capacity, allowed map[string]int64) string {
	least := j.Spec.Least()
	pods := fmt.Sprintf("%s of %s", phrase.Count(least/max(j.PodGPUs, 1), "pod"), phrase.Count(j.PodGPUs, "GPU"))
	switch quota, limited := allowed[j.Spec.Tenant]; {
	case r.nodes == 0:
		return b.why(p)
	case r.most < int64(j.PodGPUs):
		return fmt.Sprintf("each pod asks for %s, and no node of the %d that will do has more than %d",
			phrase.Count(j.PodGPUs, "GPU"), r.nodes, r.most)
	case !r.fits:
		gpus := int64(j.PodGPUs)
		return fmt.Sprintf("each pod asks for %s, %dm CPU and %dMi of memory, and no node of the %d that will do has all of that",
			phrase.Count(j.PodGPUs, "GPU"), gpus*int64(j.Spec.Request.CPUMilli), gpus*int64(j.Spec.Request.MemMiB), r.nodes)
	case r.workers < int64(least):
		return fmt.Sprintf("it needs at least %s at once, and the nodes that will do (%d) take %s when they are empty", pods, r.nodes,
			phrase.Count(r.workers/int64(max(j.PodGPUs, 1)), "such pod"))
	case limited && quota < int64(least):
		return fmt.Sprintf("it needs at least %s at once, and the resource quotas of namespace %s allow %s", pods, j.Spec.Tenant,
			phrase.Count(quota, "GPU"))
	}
	return ""
}

// why lists the reasons that keep the pods of a gang from the nodes with GPUs, with the number of nodes for each.
func (b *builder) why(p *plan) string {
	count := map[string]int{}
	bars := b.bars(p)
	for i := range b.servers {
		switch v := &b.servers[i]; {
		case v.node == nil:
		case bars(v) != "":
			count[bars(v)]++
		default: // the node would be eligible, but belongs to the inference pool
			count[barLoan]++
		}
	}
	if len(count) == 0 {
		return "no node has GPUs"
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", what, count[what]))
	}
	return "no node with GPUs will do, because of " + strings.Join(parts, ", ")
}

package intake

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// jobsOf returns the jobs of a gang: one that runs, with the gang's pods that are bound, and one that waits, with the others. A
// gang of a group whose pods have one GPU each is one elastic job, if enough of its pods are bound.
func (k *kubeCluster) jobsOf(g *gang, where *places) (jobs []job) {
	need := g.least(&k.told)
	if have := int64(len(g.bound) + len(g.free)); len(g.bound) == 0 && have < need {
		k.told.add("gangs that wait for pods that do not exist yet, left out", g.title())
		return nil
	}
	if whole, ok := k.elastic(g, need, where); ok {
		return whole
	}
	if len(g.bound) > 0 {
		jobs = k.jobOf(jobs, g, g.title(), g.bound, where)
	}
	if len(g.free) > 0 {
		title := g.title()
		if len(g.bound) > 0 {
			k.told.add("gangs of which only some pods run: the other pods are a waiting job of their own", title)
			title += " (waiting)"
		}
		jobs = k.jobOf(jobs, g, title, g.free, where)
	}
	return jobs
}

// elastic returns the job of a gang that may run with fewer or more pods than it has. ok is false if it is not such a gang.
func (k *kubeCluster) elastic(g *gang, need int64, where *places) (jobs []job, ok bool) {
	own, bound := slices.Concat(g.bound, g.free), int64(len(g.bound))
	single := !slices.ContainsFunc(own, func(p *pod) bool { return p.gpus != 1 })
	if g.kind != "group" && g.kind != "native group" || !single || bound > 0 && bound < need {
		return nil, false
	}
	least, most := max(need, g.count(minWorkersNote, &k.told)), g.count(maxWorkersNote, &k.told)
	if most == 0 {
		most = int64(len(own))
	}
	if bound > 0 {
		least, most = min(least, bound), max(most, bound)
	}
	if most = max(most, least); least == most && bound > 0 && len(g.free) > 0 {
		return nil, false
	}
	if jobs = k.jobOf(nil, g, g.title(), own, where); len(jobs) == 0 {
		return nil, true
	}
	spec := &jobs[0].JobSpec
	spec.Workers = int32(min(max(int64(len(own)), least), most))
	if least != most {
		spec.MinWorkers, spec.MaxWorkers = int32(least), int32(most)
	}
	return jobs, true
}

// jobOf appends the job of some pods of a gang. The job runs on the nodes of those pods that are bound.
func (k *kubeCluster) jobOf(jobs []job, g *gang, title string, pods []*pod, where *places) []job {
	workers := int64(0)
	for _, p := range pods {
		workers += p.gpus
	}
	j, ok := k.draft(g, title, pods, workers)
	if !ok {
		return jobs
	}
	j.Tenant = k.tenantOf(g)
	on := map[*node]*amounts{}
	for _, p := range pods {
		j.submit = later(j.submit, p.created)
		n := k.nodes[p.node]
		if n == nil {
			continue
		}
		if p.started.IsZero() { // the kubelet has not seen it yet
			p.started = k.Now
		}
		j.start = later(j.start, p.started)
		if on[n] == nil {
			on[n] = &amounts{}
		}
		on[n].add(amounts{gpus: p.gpus, cpuMilli: p.cpuMilli, memBytes: p.memBytes})
	}
	for n, a := range on {
		each, _ := perGPU(a.cpuMilli, a.memBytes, a.gpus) // fits, as it is at most the request
		j.pieces = append(j.pieces, piece{Piece: cluster.Piece{Server: n.id, Workers: int32(a.gpus), Amount: each}})
	}
	slices.SortFunc(j.pieces, func(a, b piece) int { return int(a.Server - b.Server) })
	if len(j.pieces) > 0 {
		const what = "running jobs whose GPU indices Kubernetes does not report: the lowest free ones are assigned"
		k.told.add(what, title)
	}
	j.Where = where.of(g.restricted, j.pieces, &k.told)
	return append(jobs, j)
}

// draft returns a job of so many workers, with what the pods request and what users state about the gang. ok is false if a
// snapshot cannot represent it.
func (k *kubeCluster) draft(g *gang, title string, pods []*pod, workers int64) (j job, ok bool) {
	request, together, ok := ask(pods, &k.told, title)
	if !ok || workers > cluster.MaxServers*cluster.MaxGPUs/2 {
		k.told.add("jobs with more CPU or memory for each GPU, or with more GPUs, than a snapshot can represent, left out", title)
		return job{}, false
	}
	j.JobSpec = cluster.JobSpec{Name: title, Workers: int32(workers), Request: request}
	if together > 1 {
		j.Tensor = int32(together)
	}
	g.describe(&j.JobSpec, &k.told)
	return j, true
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

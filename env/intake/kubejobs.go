package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
)

// jobsOf returns the jobs of a gang. If as many of its pods are bound as must run together, it runs, and may grow by its other
// pods. If fewer are, these hold their GPUs, and the pods that it lacks are a waiting job.
func (k *kubeCluster) jobsOf(g *gang, where *places) []job {
	need := g.Need()
	if g.Err != nil {
		k.told.add("gangs whose size is not known (is their PodGroup in the list of kubectl get?): all their pods are taken to run "+
			"together", cut(g.Title()+", "+g.Err.Error()))
		need = int32(len(g.Bound) + len(g.Free) + len(g.Gated))
	}
	runs := int32(len(g.Bound)) >= need && len(g.bound) > 0
	helped := len(g.Bound) > len(g.bound) || !runs && len(g.Free) > len(g.free) // pods without GPUs belong to it
	if runs {
		g.free = k.alike(g)
	}
	elastic := g.Err == nil && g.Elastic(1) && !helped &&
		!slices.ContainsFunc(slices.Concat(g.bound, g.free), func(p *pod) bool { return p.gpus != 1 })
	t := k.termsOf(g, elastic)
	switch {
	case len(g.bound) > 1 && slices.ContainsFunc(g.bound, func(p *pod) bool { return p.fraction.Devices > 0 }):
		return k.sharingJobs(g, need, t, where)
	case runs:
		return k.runningJobs(g, need, elastic, t, where)
	case elastic:
		_, least, _ := t.Size(need, int32(len(g.bound)+len(g.free)), int32(len(g.bound)), false)
		need = max(need, least)
	}
	switch have := int32(len(g.Bound) + len(g.Free)); {
	case len(g.bound) > 0:
		return k.partialJobs(g, need-int32(len(g.Bound)), t, where)
	case have < need && have+int32(len(g.Gated)) >= need:
		k.told.add("gangs that wait for pods with scheduling gates, left out", g.Title())
		return nil
	case have < need:
		k.told.add("gangs that wait for pods that do not exist yet, left out",
			fmt.Sprintf("%s: %d of %d", g.Title(), have, need))
		return nil
	}
	jobs := k.jobOf(nil, g, g.Title(), g.free, need, t, where)
	if elastic && len(jobs) > 0 {
		jobs[0].size(t.Size(need, int32(len(g.free)), 0, false))
	}
	return jobs
}

// size sets the workers of a job whose pods have one GPU each.
func (j *job) size(workers, least, most int32) {
	if j.Workers = workers; least != most {
		j.MinWorkers, j.MaxWorkers = least, most
	}
}

// alike returns the waiting pods of a gang that runs which ask for the same as those that run.
func (k *kubeCluster) alike(g *gang) []*pod {
	return slices.DeleteFunc(slices.Clone(g.free), func(p *pod) bool {
		differs := len(g.bound) > 0 && p.ask() != g.bound[0].ask()
		if differs {
			k.told.add("waiting pods that differ from those of their gang that run, left out", p.title())
		}
		return differs
	})
}

// runningJobs returns the job of a gang that runs. An elastic one may grow by its pods that wait. Otherwise each of them is a job
// of its own, as it is for the scheduler, and named as there.
func (k *kubeCluster) runningJobs(g *gang, need int32, elastic bool, t pods.Terms, where *places) []job {
	all, whole := g.bound, slices.Concat(g.bound, g.free)
	workers, least, most := t.Size(need, int32(len(whole)), int32(len(g.bound)), true)
	if elastic {
		all = whole
	}
	jobs := k.jobOf(nil, g, g.Title(), all, need, t, where)
	if len(jobs) > 0 {
		if elastic {
			jobs[0].size(workers, least, most)
			need = max(need, least)
		}
		jobs[0].submit = since(whole, need)
	}
	if !elastic {
		return k.surplus(jobs, g, g.free, t, where)
	}
	if least == most && len(g.free) > 0 {
		k.told.add("waiting pods beyond the most that their running gang can use, left out", g.free[0].title())
	}
	return jobs
}

// surplus appends a job for each pod by which a running gang may grow.
func (k *kubeCluster) surplus(jobs []job, g *gang, free []*pod, t pods.Terms, where *places) []job {
	for _, p := range free {
		k.told.add("gangs that run and have more pods: each of these is a waiting job of its own", p.title())
		jobs = k.jobOf(jobs, g, g.Title()+"/"+p.Name, []*pod{p}, 1, t, where)
	}
	return jobs
}

// sharingJobs returns the jobs of a gang whose running pods hold parts of GPUs. Each is a job of its own, because the workers of
// a job hold equal parts of different GPUs, and pods of a gang may hold different parts of one.
func (k *kubeCluster) sharingJobs(g *gang, need int32, t pods.Terms, where *places) (jobs []job) {
	k.told.add("running gangs that share GPUs: each of their pods is a running job of its own", g.Title())
	for _, p := range g.bound {
		jobs = k.jobOf(jobs, g, g.Title()+"/"+p.Name, []*pod{p}, 1, t, where)
	}
	if lacks := need - int32(len(g.Bound)); lacks > 0 {
		return append(jobs, k.lacking(g, lacks, t, where)...)
	}
	return k.surplus(jobs, g, g.free, t, where)
}

// partialJobs returns the job of the pods that hold GPUs of a gang that cannot run yet, and the waiting job of the pods that it
// lacks, if they exist.
func (k *kubeCluster) partialJobs(g *gang, lacks int32, t pods.Terms, where *places) []job {
	const what = "gangs of which too few pods run: these count as a running job, and the pods that they lack as a waiting one"
	k.told.add(what, g.Title())
	return append(k.jobOf(nil, g, g.Title(), g.bound, 1, t, where), k.lacking(g, lacks, t, where)...)
}

// lacking returns the waiting job of the pods that a gang lacks, none if they do not exist.
func (k *kubeCluster) lacking(g *gang, lacks int32, t pods.Terms, where *places) []job {
	rest := g.free[:min(int(lacks), len(g.free))]
	if int(lacks) > len(g.Free) || len(rest) == 0 {
		return nil
	}
	return k.jobOf(nil, g, g.Title()+"/"+rest[0].Name, rest, int32(len(rest)), t, where)
}

// jobOf appends the job of some pods of a gang, of which need must run together. The job runs on the nodes of those pods that are
// bound, from the time by which as many as it needs had started, and waits since as many as it needs exist.
func (k *kubeCluster) jobOf(jobs []job, g *gang, title string, own []*pod, need int32, t pods.Terms, where *places) []job {
	if len(own) == 0 {
		return jobs
	}
	workers, named, runs := int64(0), pods.JobName(title, ""), false
	var started []time.Time
	for _, p := range own {
		workers += p.workers()
		runs = runs || p.Node != ""
	}
	j, ok := k.draft(named, own, workers, t, runs)
	if !ok {
		return jobs
	}
	j.api, j.Tenant = g.API, k.tenantOf(own[0])
	on := map[*node]*held{}
	for _, p := range own {
		n := k.nodes[p.Node]
		if n == nil {
			continue
		}
		if p.Started.IsZero() { // the kubelet has not seen it yet
			p.Started = k.Now
		}
		started = append(started, p.Started)
		if on[n] == nil {
			on[n] = &held{}
		}
		on[n].add(amounts{gpus: p.workers(), cpuMilli: p.cpuMilli, memBytes: p.memBytes})
		on[n].shared = append(on[n].shared, p.fraction.Shared...)
	}
	j.submit, j.start = since(own, need), nth(started, need)
	for n, h := range on {
		each, _ := perGPU(h.cpuMilli, h.memBytes, h.gpus) // fits, as it is at most the request
		each.GPUMilli = j.Request.GPUMilli
		j.pieces = append(j.pieces, piece{Piece: cluster.Piece{Server: n.id, Workers: int32(h.gpus), Amount: each}, shared: h.shared})
	}
	slices.SortFunc(j.pieces, func(a, b piece) int { return int(a.Server - b.Server) })
	if len(j.pieces) > 0 {
		const what = "running jobs whose GPU indices Kubernetes does not report: the lowest free ones are assigned"
		k.told.add(what, named)
	}
	if slices.ContainsFunc(own, func(p *pod) bool { return p.constraints.key() != own[0].constraints.key() }) {
		k.told.add("gangs whose pods have different node constraints: those of the first count", named)
	}
	j.Where = where.of(own[0], j.pieces, &k.told)
	return append(jobs, j)
}

// held is what a job holds on a node, and the names of the GPUs that it shares there.
type held struct {
	amounts
	shared []string
}

// since returns when as many of some pods existed as must run together.
func since(own []*pod, need int32) time.Time {
	made := make([]time.Time, len(own))
	for i, p := range own {
		made[i] = p.Created
	}
	return nth(made, need)
}

// nth returns the time by which n of some things had happened, or all of them if they are fewer; the zero time if there are none.
func nth(times []time.Time, n int32) time.Time {
	if len(times) == 0 {
		return time.Time{}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times[min(max(int(n), 1), len(times))-1]
}

// draft returns a job of so many workers, with what the pods request and what users state. ok is false if it waits and a snapshot
// cannot represent it. One that runs asks for the most that a snapshot can represent.
func (k *kubeCluster) draft(title string, own []*pod, workers int64, t pods.Terms, runs bool) (j job, ok bool) {
	request, together, ok := ask(own, &k.told, title)
	switch {
	case workers > cluster.MaxServers*cluster.MaxGPUs/2 || !ok && !runs:
		k.told.add("jobs with more CPU or memory for each GPU, or with more GPUs, than a snapshot can represent, left out", title)
		return job{}, false
	case !ok:
		const what = "running jobs with more CPU or memory for each GPU than a snapshot can represent: the most that it can is taken"
		k.told.add(what, title)
	}
	j.JobSpec = cluster.JobSpec{Name: title, Workers: int32(workers), Request: request, Model: t.Model, Estimate: t.Estimate}
	if together > 1 {
		j.Tensor = int32(together)
	}
	return j, true
}

// ask returns what each worker of some pods requests and how many workers must be on one server.
func ask(own []*pod, told *notes, title string) (a cluster.Amount, together int64, ok bool) {
	ok = true
	for _, p := range own {
		one, fits := perGPU(p.cpuMilli, p.memBytes, p.workers())
		ok = ok && fits
		a.CPUMilli, a.MemMiB = max(a.CPUMilli, one.CPUMilli), max(a.MemMiB, one.MemMiB)
		a.GPUMilli = max(a.GPUMilli, p.milli())
		together = gcd(p.workers(), together)
	}
	if slices.ContainsFunc(own, func(p *pod) bool { return p.workers() != together }) {
		told.add("gangs whose pods ask for different numbers of GPUs: only their largest common divisor is kept on one server", title)
	}
	if slices.ContainsFunc(own, func(p *pod) bool { return p.milli() != a.GPUMilli }) {
		told.add("gangs whose pods ask for different parts of a GPU: the largest is taken for each", title)
	}
	return a, together, ok
}

// milli is what the pod asks of each of its GPUs, in thousandths.
func (p *pod) milli() int32 {
	if p.fraction.Devices > 0 {
		return p.fraction.Milli
	}
	return cluster.WholeGPU
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// rename gives the jobs of groups of different APIs that have the same name different ones, as the scheduler does.
func rename(jobs []job) {
	order := make([]*job, len(jobs))
	for i := range jobs {
		order[i] = &jobs[i]
	}
	slices.SortStableFunc(order, func(a, b *job) int {
		return cmp.Or(a.submit.Compare(b.submit), cmp.Compare(a.Name, b.Name), cmp.Compare(a.api, b.api))
	})
	named := map[string]bool{}
	for _, j := range order {
		title := j.Name
		for n := 1; named[j.Name]; n++ {
			j.Name = pods.JobName(title, j.api+strings.Repeat("'", n-1))
		}
		named[j.Name] = true
	}
}

package intake

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// The states of jobs that hold what was allocated to them, and of those that hold nothing and will not wait. A job may be in
// several states at once.
var (
	holdingStates = []string{"RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT"}
	endedStates   = []string{
		"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED",
	}
	// Slurm does not start jobs that wait for these reasons.
	heldReasons = []string{
		"JobHeldUser", "JobHeldAdmin", "Dependency", "DependencyNeverSatisfied", "BeginTime", "JobArrayTaskLimit",
	}
)

func (k *slurmCluster) readJobs(r *strictjson.Reader) {
	for _, item := range elements(r, "jobs", nil, nil) {
		r.Return(item.path, item.at)
		j := readSlurmJob(r)
		expanded := len(j.nodes)
		for _, d := range j.details {
			for _, g := range d {
				expanded += len(g.indices)
			}
		}
		k.spend(r, expanded)
		if r.Err() == nil && j.id == 0 {
			r.Bad("job_id", "missing or 0", "the number of the job")
		}
		if r.Err() != nil {
			return
		}
		k.queue = append(k.queue, j)
	}
}

// title returns the name by which Slurm's tools call the job.
func (j *slurmJob) title() string {
	if j.array > 0 && j.hasTask {
		return fmt.Sprintf("%d_%d", j.array, j.task)
	}
	return strconv.FormatInt(j.id, 10)
}

func (j *slurmJob) is(states []string) bool {
	return slices.ContainsFunc(j.states, func(s string) bool { return slices.Contains(states, s) })
}

// addJob adds the jobs that a record of squeue stands for: none if it has ended, several if it is an array.
func (k *slurmCluster) addJob(j *slurmJob) {
	title := j.title()
	if j.het > 0 {
		k.told.add("components of heterogeneous jobs: each counts as a job of its own", title)
	}
	switch {
	case j.is(holdingStates):
		if j.is([]string{"SUSPENDED", "STOPPED"}) {
			k.told.add("suspended jobs: they count as running", title)
		}
		k.addRunning(j, title)
	case j.is(endedStates):
	case !j.is([]string{"PENDING"}):
		k.told.add("jobs whose state is unknown, left out", fmt.Sprintf("%s is %s", title, cut(strings.Join(j.states, " "))))
	case slices.Contains(heldReasons, j.reason):
		k.told.add("waiting jobs that Slurm holds back ("+j.reason+"), left out", title)
	default:
		k.addWaiting(j, title)
	}
}

// draft returns the job with what does not depend on whether it runs. ok is false if a snapshot cannot represent it.
func (k *slurmCluster) draft(j *slurmJob, t *tres, title string) (out job, ok bool) {
	for _, resource := range t.others {
		k.told.add("jobs that ask for "+cut(resource)+", which a snapshot does not model", title)
	}
	request, fits := perGPU(t.cpuMilli, t.memBytes, t.gpus)
	if !fits || t.gpus > cluster.MaxServers*cluster.MaxGPUs/2 {
		k.told.add("jobs with more CPU or memory for each GPU, or with more GPUs, than a snapshot can represent, left out", title)
		return job{}, false
	}
	out = job{submit: time.Unix(j.submit, 0), start: time.Unix(j.start, 0)}
	out.JobSpec = cluster.JobSpec{
		Name: title, User: j.user, Tenant: j.account, Workers: int32(t.gpus), Request: request, GPUType: t.kind,
		Where: k.places(j, title),
	}
	if k.LimitAsEstimate && j.limit > 0 && j.limit <= int64(longestAge/time.Minute) {
		out.Estimate = time.Duration(j.limit) * time.Minute
	}
	return out, true
}

// addWaiting adds a waiting job, or one for each waiting task of an array.
func (k *slurmCluster) addWaiting(j *slurmJob, title string) {
	t, nodes := j.asks, max(j.nodeCount, 1)
	each, kind, _ := gpusOf(j.perNode)
	if t.gpus = cmp.Or(t.gpus, each*min(nodes, cluster.MaxServers)); t.gpus == 0 {
		if len(t.others) == 0 {
			k.told.add("waiting jobs without GPUs, left out", title)
		} else {
			k.told.add("waiting jobs that ask for "+cut(t.others[0])+" and for no GPU, left out", title)
		}
		return
	}
	t.kind = cmp.Or(t.kind, kind)
	out, ok := k.draft(j, &t, title)
	if !ok {
		return
	}
	switch {
	case each > 1 && t.gpus%each == 0:
		out.Tensor = int32(each)
	case each == 0 && nodes == 1 && t.gpus > 1 && t.gpus <= k.largest:
		out.Tensor = int32(t.gpus)
	}
	if j.tasks == "" {
		k.jobs = append(k.jobs, out)
		return
	}
	span, atOnce, limited := strings.Cut(j.tasks, "%")
	if limited {
		k.told.add("arrays that limit how many of their tasks run at once, which is not kept", title+" at most "+cut(atOnce))
	}
	if whole, found := strings.CutSuffix(span, ",..."); found {
		k.told.add("arrays whose list of waiting tasks Slurm has cut (see SLURM_BITSTR_LEN): the tasks beyond are left out", title)
		span = whole
	}
	tasks, err := expandRanges(strings.Trim(span, "[]"), min(mostObjects, max(k.budget, 0)))
	if err != nil {
		k.told.add("arrays whose list of waiting tasks is not understood, left out", title+": want "+err.Error())
		return
	}
	k.budget -= len(tasks)
	for _, task := range tasks {
		one := out
		one.Name = fmt.Sprintf("%d_%s", cmp.Or(j.array, j.id), task)
		k.jobs = append(k.jobs, one)
	}
}

// addRunning adds a job that holds GPUs. It subtracts what a job without GPUs holds from its nodes.
func (k *slurmCluster) addRunning(j *slurmJob, title string) {
	t := j.holds
	if t.gpus == 0 {
		k.subtract(j, &t)
		return
	}
	out, ok := k.draft(j, &t, title)
	if !ok {
		return
	}
	pieces, why := k.pieces(j, t.gpus, out.Request, title)
	if why != "" {
		k.told.add("running jobs whose nodes are not understood, left out", title+": "+why)
		return
	}
	together := int64(0)
	for _, p := range pieces {
		together = gcd(together, int64(p.Workers))
	}
	if each, _, _ := gpusOf(j.perNode); each > 0 {
		together = gcd(together, each)
	} else if j.nodeCount != 1 {
		together = 1
	}
	if together > 1 {
		out.Tensor = int32(together)
	}
	out.GPUType = "" // the nodes decide
	if t.kind != "" && !slices.ContainsFunc(pieces, func(p piece) bool { return k.servers[p.Server].GPUType != t.kind }) {
		out.GPUType = t.kind
	}
	out.pieces = pieces
	for _, p := range pieces {
		k.held[p.Server] += int64(p.Workers)
		if out.Where != nil && !out.Where.Has(p.Server) {
			out.Where = out.Where.Clone()
			out.Where.Add(p.Server)
		}
	}
	if out.Where != nil {
		out.Where = k.sets.Of(out.Where)
	}
	k.jobs = append(k.jobs, out)
}

// pieces returns what a job holds on each of its nodes, or why that is not known.
func (k *slurmCluster) pieces(j *slurmJob, gpus int64, request cluster.Amount, title string) (pieces []piece, why string) {
	detailed, n := int64(0), int64(len(j.nodes))
	for _, d := range j.details {
		count, _, _ := gpusOf(d)
		detailed += count
	}
	exact := len(j.details) == len(j.nodes) && detailed == gpus
	switch {
	case n == 0:
		return nil, "it has no nodes"
	case !exact && gpus%n != 0:
		k.told.add("running jobs of which Slurm does not report how many GPUs they hold on each node: they are split as evenly as "+
			"possible", title)
	}
	guessed := false
	for i, host := range j.nodes {
		count := gpus / n
		if int64(i) < gpus%n {
			count++
		}
		p := piece{Piece: cluster.Piece{Amount: request}}
		if exact {
			count, _, p.gpus = gpusOf(j.details[i])
		}
		if count == 0 {
			continue
		}
		id, known := k.ids[host]
		if !known {
			return nil, fmt.Sprintf("node %s is not among the nodes with GPUs", cut(host))
		}
		guessed = guessed || p.gpus == nil
		p.Server, p.Workers = id, int32(min(count, cluster.MaxGPUs))
		pieces = append(pieces, p)
	}
	if guessed {
		k.told.add("running jobs whose GPU indices Slurm does not report: the lowest free ones are assigned", title)
	}
	return pieces, ""
}

// subtract takes what a job without GPUs holds from the servers of its nodes, in equal parts.
func (k *slurmCluster) subtract(j *slurmJob, t *tres) {
	for _, host := range j.nodes {
		id, known := k.ids[host]
		if !known {
			continue
		}
		v, n := &k.servers[id], int64(len(j.nodes))
		if v.CPUMilli != cluster.Unlimited {
			v.CPUMilli = max(v.CPUMilli-t.cpuMilli/n, 0)
		}
		if v.MemMiB != cluster.Unlimited {
			v.MemMiB = max(v.MemMiB-t.memBytes/n>>20, 0)
		}
	}
}

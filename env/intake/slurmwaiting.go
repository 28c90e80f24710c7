package intake

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/slurmtext"
)

// The states of jobs that hold what was allocated to them, of those that hold nothing and will not wait, and of those that wait
// until somebody releases them. A job may be in several states at once.
var (
	holdingStates = []string{
		"RUNNING", "SUSPENDED", "COMPLETING", "STOPPED", "CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "POWER_UP_NODE",
	}
	endedStates = []string{
		"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "REVOKED",
	}
	heldStates = []string{"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)

// free are the reasons for which jobs wait that Slurm starts as soon as GPUs are free. For any other reason (held, at a limit
// of an account or a quality of service, of a partition that is down, with a dependency) it starts them only when something
// else changes.
var free = []string{"", "None", "Priority", "Resources", "SchedDefer", "Cleaning", "WaitingForScheduling"}

// addJob adds the jobs that a record of squeue stands for: none if it has ended, several if it is an array.
func (k *slurmCluster) addJob(j *slurmJob) {
	title := j.title()
	if k.titles[title] {
		k.told.add("jobs that the input has twice: the second one is left out", title)
		return
	}
	k.titles[title] = true
	if j.Het > 0 {
		k.told.add("components of heterogeneous jobs: each counts as a job of its own", title)
	}
	switch {
	case j.is(holdingStates):
		if j.is([]string{"SUSPENDED", "STOPPED"}) {
			k.told.add("suspended jobs: they count as running", title)
		}
		k.running = append(k.running, j)
	case j.is(endedStates):
	case j.is(heldStates) || j.is([]string{"PENDING"}):
		k.addWaiting(j)
	case len(j.Nodes) > 0:
		k.unread = append(k.unread, unreadJob{j, fmt.Sprintf("its state is not known (%s)", cut(strings.Join(j.States, " ")))})
	default:
		k.told.add("jobs whose state is unknown, left out", fmt.Sprintf("%s is %s", title, cut(strings.Join(j.States, " "))))
	}
}

// heldBack returns why Slurm does not start a waiting job however many GPUs are free, or "" if it does.
func (k *slurmCluster) heldBack(j *slurmJob) string {
	down := func(p string) bool { return k.partitions[p] != "" }
	switch i := slices.IndexFunc(j.States, func(s string) bool { return slices.Contains(heldStates, s) }); {
	case !slices.Contains(free, j.Reason):
		return cut(j.Reason)
	case i >= 0:
		return j.States[i]
	case j.Hold:
		return "held"
	case j.Priority.set && j.Priority.n == 0:
		return "priority 0"
	case len(j.Partitions) > 0 && !slices.ContainsFunc(j.Partitions, func(p string) bool { return !down(p) }):
		return fmt.Sprintf("partition %s is %s", j.Partitions[0], k.partitions[j.Partitions[0]])
	}
	return ""
}

// addWaiting adds a waiting job, or one for each waiting task of an array.
func (k *slurmCluster) addWaiting(j *slurmJob) {
	names := k.tasksOf(j)
	tell := func(what string) {
		for _, name := range names {
			k.told.add(what, name)
		}
	}
	if why := k.heldBack(j); why != "" {
		tell("waiting jobs that Slurm holds back (" + why + "), left out")
		return
	}
	gpus, each, kind := j.requested()
	if gpus == 0 {
		all := slurmtext.Amounts{Resources: slices.Concat(
			j.Asks.Resources, j.PerJob.Resources, j.PerNode.Resources, j.PerTask.Resources)}
		if others := all.Others(); len(others) > 0 {
			tell("waiting jobs that ask for gres/" + cut(others[0]) + " and for no GPU, left out")
		} else {
			tell("waiting jobs without GPUs, left out")
		}
		return
	}
	if per, _, _ := j.PerSocket.GPUs(); per > 0 && j.Sockets == 0 {
		tell("jobs that ask for GPUs on each socket and do not say of how many: one socket of each node is taken")
	}
	out, why := k.draft(j, &j.Asks, gpus, kind)
	if why != "" {
		tell(why)
		return
	}
	switch {
	case each > 1 && gpus%each == 0:
		out.Tensor = int32(each)
	case each == 0 && j.NodeCount <= 1 && gpus > 1 && gpus <= k.largest:
		out.Tensor = int32(gpus)
	}
	if out.Where != nil && len(slices.Collect(out.Where.All())) == 0 {
		tell("waiting jobs whose partitions and features no node with GPUs has: they do not start in the snapshot")
	}
	if j.Reservation != "" {
		tell("waiting jobs of a reservation, which is not kept")
	}
	if j.Priority.set {
		k.priorities[j.Priority.n] = true
		k.ranked = append(k.ranked, names...)
	}
	out.start = out.submit // what Slurm reports is when it expects to start the job
	for _, name := range names {
		one := out
		one.Name = name
		k.jobs = append(k.jobs, one)
	}
}

// draft returns the job with what does not depend on whether it runs, or why a snapshot cannot represent it.
func (k *slurmCluster) draft(j *slurmJob, a *slurmtext.Amounts, gpus int64, kind string) (out job, why string) {
	title := j.title()
	for _, other := range a.Others() {
		k.told.add("jobs that ask for gres/"+cut(other)+", which a snapshot does not model", title)
	}
	request, fits := perGPU(a.CPUMilli, a.MemBytes, gpus)
	if !fits || gpus > cluster.MaxServers*cluster.MaxGPUs/2 || gpus > math.MaxInt32 {
		return job{}, "jobs with more CPU or memory for each GPU, or with more GPUs, than a snapshot can represent, left out"
	}
	out = job{submit: time.Unix(j.Submit, 0), start: time.Unix(j.Start, 0)}
	out.JobSpec = cluster.JobSpec{
		Name: title, User: j.User, Tenant: j.Account, Workers: int32(gpus), Request: request, GPUType: kind, Where: k.places(j, title),
	}
	if k.LimitAsEstimate && j.Limit > 0 && j.Limit <= int64(longestAge/time.Minute) {
		out.Estimate = time.Duration(j.Limit) * time.Minute
	}
	return out, ""
}

// tasksOf returns the names of the jobs that a waiting record stands for: its own, or those of an array's tasks.
func (k *slurmCluster) tasksOf(j *slurmJob) (names []string) {
	title := j.title()
	if j.Tasks == "" {
		if j.Array > 0 && !j.Task.set {
			k.told.add("arrays whose waiting tasks Slurm does not list: each counts as one job", title)
		}
		return []string{title}
	}
	span, atOnce, limited := strings.Cut(strings.Trim(j.Tasks, "[]"), "%")
	if limited {
		k.told.add("arrays that limit how many of their tasks run at once, which is not kept", title+" at most "+cut(atOnce))
	}
	if whole, found := strings.CutSuffix(span, ",..."); found {
		k.told.add("arrays whose list of waiting tasks Slurm has cut (see SLURM_BITSTR_LEN): the tasks beyond are left out", title)
		span = whole
	}
	tasks, err := slurmtext.ExpandRanges(strings.Trim(span, "[]"), min(mostObjects, max(k.budget, 0)))
	if err != nil {
		k.told.add("arrays whose list of waiting tasks is not understood, left out", title+": want "+err.Error())
		return nil
	}
	k.budget -= len(tasks)
	for _, task := range tasks {
		names = append(names, fmt.Sprintf("%d_%s", cmp.Or(j.Array, j.ID), task))
	}
	return names
}

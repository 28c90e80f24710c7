package mirror

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/names"
)

// plan is what the builder stores about a Job besides the Job itself.
type plan struct {
	pods.Key
	created time.Time
	pod     *corev1.Pod        // any pod of the gang
	nodes   string             // see ask.nodes
	volumes []string           // volumes that only some nodes can reach, sorted by name, without duplicates
	where   *cluster.ServerSet // the servers that the gang may use
	start   time.Time          // start of a running gang
	pieces  []piece            // of a running gang, sorted by node
}

// piece is the number of a gang's pods on a node.
type piece struct {
	node   string
	pods   int32
	amount cluster.Amount // for each GPU: of the pod that holds most
}

// classify puts the pods of a gang into Jobs, Partial, Refused or Waiting. Pods with scheduling gates always go to Waiting.
func (b *builder) classify(c *podGang) {
	b.takeAll(b.ending(c))
	need := c.Need()
	if c.Err == nil && int32(len(c.bound)) >= need {
		c.free = b.surplus(c)
	}
	own, waiting := slices.Concat(c.bound, c.free), c.gated
	if len(own)+len(waiting) == 0 {
		b.view.Ended[pods.JobName(c.Title(), "")] = true // of the pods that are left all have succeeded
	}
	if c.Err != nil || len(own) == 0 {
		b.wait(c, slices.Concat(own, waiting), need)
		b.takeAll(c.bound)
		return
	}
	job, p, f := b.draft(c, own, need)
	if f == nil && job.PodGPUs == 1 {
		need = max(need, job.Spec.Least())
	}
	switch {
	case f != nil && len(c.bound) > 0 && int32(len(c.bound)) < need: // it cannot be completed as it is, and holds GPUs
		b.refuse(c.free, f)
		b.view.Partial = append(b.view.Partial, Partial{
			Job: Job{
				Group: c.group, Bound: c.bound, PodGPUs: 1, Fixed: true,
				Spec: cluster.JobSpec{Name: pods.JobName(c.Title(), ""), Tenant: c.Namespace},
			},
			Lacks: need - int32(len(c.bound)), Since: b.firstBound(c.bound), plan: plan{Key: c.Key, pod: c.bound[0]},
		})
	case f != nil:
		b.refuse(own, f)
	case !job.Running && len(c.bound) > 0:
		b.view.Partial = append(b.view.Partial, Partial{
			Job: job, Lacks: need - int32(len(c.bound)), Since: b.firstBound(c.bound), plan: p,
		})
	case !job.Running && int32(len(own)) < need:
		waiting = slices.Concat(own, waiting)
	default:
		b.view.Jobs, b.plans = append(b.view.Jobs, job), append(b.plans, p)
	}
	if !job.Running {
		b.takeAll(c.bound)
	}
	b.wait(c, waiting, need)
}

// surplus returns the free pods by which a running gang may grow. It refuses the other free pods; the gang itself is not refused.
func (b *builder) surplus(c *podGang) (fit []*corev1.Pod) {
	for _, pod := range c.free {
		if _, _, f := b.common([]*corev1.Pod{c.bound[0], pod}); f != nil {
			b.refuse([]*corev1.Pod{pod}, f)
		} else {
			fit = append(fit, pod)
		}
	}
	return fit
}

func (b *builder) takeAll(pods []*corev1.Pod) {
	for _, pod := range pods {
		b.take(pod)
	}
}

func (b *builder) refuse(pods []*corev1.Pod, f *fault) {
	for _, pod := range pods {
		b.view.Refused = append(b.view.Refused, Refusal{Pod: pod, Reason: f.reason, Message: f.message})
	}
}

func (b *builder) wait(c *podGang, pods []*corev1.Pod, need int32) {
	if len(pods) == 0 {
		return
	}
	slices.SortStableFunc(pods, ByName)
	w := Incomplete{Group: c.group, Pods: pods, Have: int32(len(c.bound) + len(c.free)), Want: need}
	var why []string
	if c.Err != nil {
		why = append(why, c.Err.Error())
	} else if w.Have < need {
		why = append(why, fmt.Sprintf("%d of the %d pods that must run together are ready to be bound", w.Have, need))
	}
	if n := len(c.gated); n > 0 {
		why = append(why, fmt.Sprintf("%d have scheduling gates: spec.schedulingGates[0].name of pod %s is %q",
			n, c.gated[0].Name, c.gated[0].Spec.SchedulingGates[0].Name))
	}
	w.Why = strings.Join(why, "; ")
	b.view.Waiting = append(b.view.Waiting, w)
}

// draft returns the job of a gang. The job is running if at least need pods of the gang are bound; if not, it is drafted with all
// existing pods. An invalid number that users may change at any time does not make draft refuse a running gang: the number then
// counts as not given.
func (b *builder) draft(c *podGang, own []*corev1.Pod, need int32) (Job, plan, *fault) {
	running := int32(len(c.bound)) >= need
	a, volumes, f := b.common(own)
	if f != nil {
		return Job{}, plan{}, f
	}
	t, f := b.terms(c, own, a.gpus)
	if f != nil && !running {
		return Job{}, plan{}, f
	}
	p := plan{Key: c.Key, pod: own[0], nodes: a.nodes, volumes: volumes}
	job := Job{Group: c.group, Priority: a.priority, Running: running, Bound: c.bound, Free: c.free, PodGPUs: a.gpus}
	job.Spec = cluster.JobSpec{
		Name: pods.JobName(c.Title(), ""), Tenant: c.Namespace,
		Request: a.request, Model: t.Model, Estimate: t.Estimate,
	}
	together, pods := need, int32(len(own))
	if running && !c.Elastic(a.gpus) {
		pods = int32(len(c.bound))
	}
	if a.gpus == 1 {
		workers, least, most := t.Size(need, pods, int32(len(c.bound)), running)
		if job.Spec.Workers = workers; least != most {
			job.Spec.MinWorkers, job.Spec.MaxWorkers = least, most
		}
		together = max(need, job.Spec.Least())
	} else {
		if pods > mostGPUs/a.gpus {
			return Job{}, plan{}, faultf(reasonJob, "%d pods ask for %d GPUs each, want at most %d together", pods, a.gpus, mostGPUs)
		}
		job.Spec.Workers, job.Spec.Tensor = pods*a.gpus, a.gpus
	}
	p.created = whole(own, together)
	job.Whole, job.Spec.Submit = p.created, b.since(p.created)
	if err := job.Spec.Validate(); err != nil {
		return Job{}, plan{}, faultf(reasonJob, "%v", err)
	}
	if !names.OK(job.Spec.Name) || !names.OK(job.Spec.Tenant) {
		return Job{}, plan{}, faultf(reasonJob, "name is %q, want a printable one", job.Spec.Name)
	}
	if running {
		p.start, p.pieces = b.started(c.bound, need), b.pieces(c.bound)
		job.Resizing = slices.ContainsFunc(c.bound, resizing)
		if at := slices.IndexFunc(c.bound, b.stuck); at >= 0 {
			job.Stuck = c.bound[at]
		}
	}
	for _, pod := range own {
		job.Fixed = job.Fixed || !b.resizable(pod)
		raise(&job.Least, b.least(pod, a.request))
	}
	for _, pod := range c.free {
		raise(&job.Loose, b.perGPU(b.holding(pod)))
	}
	return job, p, nil
}

// raise raises the CPU and memory of an amount to at least those of another.
func raise(a *cluster.Amount, least cluster.Amount) {
	a.GPUMilli = least.GPUMilli
	a.CPUMilli, a.MemMiB = max(a.CPUMilli, least.CPUMilli), max(a.MemMiB, least.MemMiB)
}

// common returns what all pods of a gang ask for, and the volumes of all pods. It returns a fault if the pods differ.
func (b *builder) common(pods []*corev1.Pod) (first ask, volumes []string, f *fault) {
	of := func(pod *corev1.Pod, f *fault) *fault {
		return faultf(f.reason, "pod %s/%s: %s", pod.Namespace, pod.Name, f.message)
	}
	for i, pod := range pods {
		a, f := b.askOf(pod)
		if f != nil {
			return ask{}, nil, of(pod, f)
		}
		names, f := b.volumes(pod)
		if f != nil && pod.Spec.NodeName == "" { // a pod with a node can reach its volumes, whatever this program sees of them
			return ask{}, nil, of(pod, f)
		}
		volumes = append(volumes, names...)
		if i == 0 {
			first = a
		}
		if a != first {
			return ask{}, nil, of(pod, faultf(reasonPodsDiffer, "it differs from pod %s of its gang in %s, want all pods alike",
				pods[0].Name, first.differs(&a)))
		}
	}
	slices.Sort(volumes)
	return first, slices.Compact(volumes), nil
}

// whole returns when the gang became complete: when the last of the need oldest pods was created. From then on the gang waits.
// The group's object may be older, and may have had other pods before.
func whole(own []*corev1.Pod, need int32) time.Time {
	made := make([]time.Time, len(own))
	for i, pod := range own {
		made[i] = pod.CreationTimestamp.Time
	}
	slices.SortFunc(made, time.Time.Compare)
	return made[min(int(need), len(own))-1]
}

// pieces returns the number of pods on each node, and what they hold, sorted by node.
func (b *builder) pieces(bound []*corev1.Pod) []piece {
	var pieces []piece
	for _, pod := range bound {
		node, held := pod.Spec.NodeName, b.perGPU(b.holding(pod))
		at := slices.IndexFunc(pieces, func(p piece) bool { return p.node == node })
		if at < 0 {
			at, pieces = len(pieces), append(pieces, piece{node: node, amount: held})
		}
		p := &pieces[at]
		p.pods++
		raise(&p.amount, held)
	}
	slices.SortFunc(pieces, func(x, y piece) int { return strings.Compare(x.node, y.node) })
	return pieces
}

// started returns the time by which need of the bound pods had started.
func (b *builder) started(bound []*corev1.Pod, need int32) time.Time {
	times := make([]time.Time, len(bound))
	for i, pod := range bound {
		times[i] = b.now
		if pod.Status.StartTime != nil {
			times[i] = pod.Status.StartTime.Time
		} else if t, ok := scheduled(pod); ok {
			times[i] = t
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	return times[need-1]
}

// firstBound returns when the first of the pods was bound.
func (b *builder) firstBound(bound []*corev1.Pod) time.Time {
	first := b.now
	for _, pod := range bound {
		t, ok := scheduled(pod)
		if !ok && pod.Status.StartTime != nil {
			t, ok = pod.Status.StartTime.Time, true
		}
		if ok && t.Before(first) {
			first = t
		}
	}
	return first
}

// scheduled returns when the pod was bound, if its conditions contain that.
func scheduled(pod *corev1.Pod) (time.Time, bool) {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time, !c.LastTransitionTime.IsZero()
		}
	}
	return time.Time{}, false
}

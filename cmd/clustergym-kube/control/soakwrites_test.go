package control

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// heard checks a write that the server carries out.
func (k *invariants) heard(verb string, pod *corev1.Pod, node string) {
	k.writes++
	k.counts[verb]++
	if k.mode != Live {
		k.breach("%s of pod %s in mode %s", verb, key(pod), k.mode)
	}
	if !own(pod) {
		k.breach("%s of pod %s of another scheduler", verb, key(pod))
	}
	switch verb {
	case "bind":
		k.bound[pod.UID] = node
		k.fresh[pod.UID] = k.w.l.rounds > k.rounds
		k.takes(pod, node)
		k.fits(pod, node, gpu, "cpu", "memory")
		if !k.begun[gangName(pod)] && !k.allowed(pod, false) {
			k.breach("pod %s is bound with %s, which bounds %+v do not allow: it requested %s", key(pod), sizes(pod), k.bounds[pod.Namespace], sizes(k.w.first[pod.UID]))
		}
	case "delete":
		k.mayDelete(pod)
	case "evict", "refuse":
		k.mayEvict(verb, pod)
	}
}

// takes checks that a node that a pod is bound to takes pods, by what the process sees.
func (k *invariants) takes(pod *corev1.Pod, name string) {
	x, there, _ := k.w.stores[1].GetByKey(name)
	if !there {
		k.breach("pod %s is bound to node %s, which is not there", key(pod), name)
		return
	}
	node := x.(*corev1.Node)
	if node.Spec.Unschedulable || !mirror.Ready(node) || k.w.nodes[name] != nil && inference(k.w.nodes[name]) && !lent(k.w.nodes[name]) {
		k.breach("pod %s is bound to node %s, which takes no pods", key(pod), name)
	}
}

// fits checks that the node of a pod has room for it, by what the process sees, and has bound and resized itself.
func (k *invariants) fits(pod *corev1.Pod, name string, of ...corev1.ResourceName) {
	x, there, _ := k.w.stores[1].GetByKey(name)
	if !there {
		return
	}
	node := x.(*corev1.Node)
	for _, r := range of {
		room, held := amountOf(node.Status.Allocatable, r), requested(pod, r)
		for _, other := range k.w.pods {
			if other.UID == pod.UID || mirror.Ended(other) || k.at(other) != name {
				continue
			}
			held += k.holding(other, r)
		}
		if held > room {
			k.breach("node %s holds %d of %d %s with pod %s", name, held, room, r, key(pod))
		}
	}
}

// at returns the node of a pod as far as the process knows it.
func (k *invariants) at(pod *corev1.Pod) string {
	if node := k.bound[pod.UID]; node != "" {
		return node
	}
	x, there, _ := k.w.stores[0].GetByKey(key(pod))
	if seen, _ := x.(*corev1.Pod); there && seen.UID == pod.UID {
		return seen.Spec.NodeName
	}
	return ""
}

// requested returns what a pod requests of a resource: of CPU in thousandths of a core.
func requested(pod *corev1.Pod, r corev1.ResourceName) (n int64) {
	for i := range pod.Spec.Containers {
		n += amountOf(pod.Spec.Containers[i].Resources.Requests, r)
	}
	return n
}

// mayDelete checks that a deleted pod is of a gang that never ran, as far as the process saw, and that was partly bound for too
// long.
func (k *invariants) mayDelete(pod *corev1.Pod) {
	_, half := k.next[gangName(pod)]
	since := k.early[gangName(pod)]
	switch {
	case k.whole[pod.UID]:
		k.breach("pod %s of a gang that ran is deleted and not evicted", key(pod))
	case !slices.ContainsFunc(k.w.gangs, func(g *wanted) bool { return g.key() == gangName(pod) }): // garbage of a gang that has ended
	case !half && k.unsure[pod.UID]: // the round has learned that it is bound, and for how long its gang is partly bound
	case !half:
		k.breach("pod %s is deleted, and its gang is not partly bound", key(pod))
	case k.w.now().Sub(since) < soakDeadline:
		k.breach("pod %s is deleted after %v of the deadline of %v", key(pod), k.w.now().Sub(since), soakDeadline)
	}
}

// completed reports whether the program has bound the pods in this round that a gang lacked, or has learned that they are bound.
func (k *invariants) completed(name string) bool {
	for _, g := range k.w.gangs {
		if g.key() == name {
			bound, succeeded := k.tally(k.seen()[name])
			return bound >= g.least-succeeded
		}
	}
	return false
}

// mayEvict checks that an evicted pod is of a gang that lost pods for too long, or that policy and limits allow to stop its gang.
func (k *invariants) mayEvict(verb string, pod *corev1.Pod) {
	name := gangName(pod)
	_, half := k.next[name]
	if half && k.completed(name) {
		half, k.running[name] = false, true
	}
	refused, was := k.spared[name]
	if verb == "refuse" && !k.w.lost {
		k.spared[name] = k.w.now()
	}
	if half {
		if took := k.w.now().Sub(k.early[name]); took < soakLoss {
			k.breach("pod %s is evicted after %v of the deadline of %v", key(pod), took, soakLoss)
		}
		return
	}
	if k.stopped[name] || k.reclaims(name, true) {
		return
	}
	k.stopped[name] = true
	now := k.w.now()
	k.stops = append(slices.DeleteFunc(k.stops, func(at time.Time) bool { return now.Sub(at) >= time.Hour }), now)
	switch {
	case !k.running[name] && !k.completed(name):
		k.breach("pod %s is evicted, and its gang neither runs nor lacks pods", key(pod))
	case len(k.stops) > k.w.play.stops:
		k.breach("pod %s is evicted: %d gangs are stopped within an hour, at most %d may be", key(pod), len(k.stops), k.w.play.stops)
	case was && now.Sub(refused) < sparing:
		k.breach("pod %s is evicted %v after a budget refused it", key(pod), now.Sub(refused))
	case !k.reclaims(name, false) && !strings.Contains(k.w.play.policy, baselines.MoveSuffix) && !slices.ContainsFunc(k.waiting, func(p *corev1.Pod) bool {
		return k.w.play.across || p.Namespace == pod.Namespace || *p.Spec.Priority > *pod.Spec.Priority
	}):
		k.breach("pod %s is evicted, and no gang waits that it has to yield to", key(pod))
	}
}

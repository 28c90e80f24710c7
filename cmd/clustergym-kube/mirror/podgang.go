package mirror

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
	"github.com/clustergym/clustergym/env/pods"
)

// podGang is a gang as found from its pods, each list sorted by name. Users wrote the group, so it may contain errors.
type podGang struct {
	*pods.Gang
	group                     gang.Group
	bound, free, gated, ended []*corev1.Pod // those of the Gang
}

// podGangs groups the pods of the configured schedulers into gangs, in the order of their first pods, and adds up what all other
// pods use on the nodes. Pods that have ended use nothing, except those that ending returns.
func (b *builder) podGangs() []*podGang {
	var own []*corev1.Pod
	for _, pod := range b.Pods {
		if pod == nil || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		ours := slices.Contains(b.Schedulers, pod.Spec.SchedulerName)
		ended := pod.Status.Phase == corev1.PodSucceeded
		node := pod.Spec.NodeName
		if node != "" && !ended {
			b.load(node).pods++
		}
		switch {
		case ours && (ended || pod.DeletionTimestamp == nil):
			own = append(own, pod)
		case !ended && node != "":
			gpus := b.take(pod)
			l := b.load(node)
			if stays(pod) {
				l.fixed.add(b.holding(pod))
				l.stay++
			}
			l.foreign = l.foreign || !ours && gpus > 0
		}
	}
	return b.group(own)
}

// group groups pods into gangs.
func (b *builder) group(own []*corev1.Pod) (all []*podGang) {
	read := make([]*pods.Pod, len(own))
	for i, pod := range own {
		read[i] = gang.Neutral(pod)
		read[i].Index = i
	}
	groups := map[pods.Key]gang.Group{}
	of := func(list []*pods.Pod) (found []*corev1.Pod) {
		for _, p := range list {
			found = append(found, own[p.Index])
		}
		return found
	}
	for _, c := range pods.Gangs(read, func(p *pods.Pod) pods.Group {
		g := b.Groups.Of(own[p.Index])
		if _, known := groups[g.Key]; !known && !p.Succeeded {
			groups[g.Key] = g
		}
		return g.Group
	}, func(p *pods.Pod) string {
		pod := own[p.Index]
		return fmt.Sprint(b.amountOf(b.original(pod, requests(pod))), schedulinghelpers.PodPriority(pod), constraint(pod))
	}) {
		all = append(all, &podGang{c, groups[c.Key], of(c.Bound), of(c.Free), of(c.Gated), of(c.Ended)})
	}
	return all
}

// take adds what a pod on a node uses to the resources taken besides the running gangs, and returns the pod's GPUs.
func (b *builder) take(pod *corev1.Pod) int64 {
	a := b.holding(pod)
	b.load(pod.Spec.NodeName).taken.add(a)
	if a.gpus > 0 {
		b.tenants[pod.Namespace] = sum(b.tenants[pod.Namespace], a.gpus)
	}
	return a.gpus
}

// endsFor is how long the room of a pod that has succeeded stays taken while other pods of its gang still run.
const endsFor = 5 * time.Second

// ending returns the pods that have just succeeded of a gang that ends. The pods of a gang end one after the other. If each node
// became free at once, small jobs would take the first, and a large gang would hardly ever find room for all its pods, although
// the nodes of a gang of its size become free within a second. A gang with pods that wait does not end: those that succeed are
// replaced.
func (b *builder) ending(c *podGang) (pods []*corev1.Pod) {
	if len(c.bound) == 0 || len(c.free)+len(c.gated) > 0 {
		return nil
	}
	for _, pod := range c.ended {
		if since := b.now.Sub(finished(pod)).Abs(); since <= endsFor && pod.Spec.NodeName != "" {
			pods = append(pods, pod)
		}
	}
	return pods
}

// finished returns when the last container of a pod ended, or the zero time if its status does not say so.
func finished(pod *corev1.Pod) (at time.Time) {
	for i := range pod.Status.ContainerStatuses {
		if end := pod.Status.ContainerStatuses[i].State.Terminated; end != nil && end.FinishedAt.After(at) {
			at = end.FinishedAt.Time
		}
	}
	return at
}

// stays reports whether the pod stays as long as its node: a pod of a DaemonSet, or a static pod.
func stays(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
}

// ByName compares pods by namespace and name.
func ByName(a, b *corev1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

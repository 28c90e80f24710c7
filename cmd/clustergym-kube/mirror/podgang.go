package mirror

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/gang"
)

// podGang is a gang as found from its pods, each list sorted by name. Users wrote the group, so it may contain errors.
type podGang struct {
	gangKey
	group              gang.Group
	err                error // why the group is not known
	bound, free, gated []*corev1.Pod
	ended              []*corev1.Pod // those that have succeeded
	other              int32         // a different MinCount that one of the pods states, 0 if all agree
}

// gangKey identifies a gang. Groups of different APIs, and a pod alone, may have the same name.
type gangKey struct {
	namespace, name string
	api             string // API version of the group's object, "label" without an object, "pod" for a pod alone
}

func keyOf(g *gang.Group, alone bool) gangKey {
	k := gangKey{g.Namespace, g.Name, "label"}
	switch {
	case alone:
		k.api = "pod"
	case g.Ref != nil:
		k.api = g.Ref.APIVersion
	}
	return k
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
		node := b.NodeOf(pod)
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
	slices.SortStableFunc(own, ByName)
	known := map[gangKey]*podGang{}
	var all []*podGang
	for _, pod := range own {
		g, alone, err := b.groupOf(pod)
		key := keyOf(&g, alone)
		c := known[key]
		if c == nil {
			c = &podGang{gangKey: key}
			known[key] = c
			all = append(all, c)
		}
		c.add(pod, b.NodeOf(pod), &g, err)
	}
	return all
}

func (b *builder) groupOf(pod *corev1.Pod) (g gang.Group, alone bool, err error) {
	ok := false
	if b.Groups != nil {
		g, ok, err = b.Groups.Of(pod)
	}
	if !ok && err == nil {
		return gang.Group{Namespace: pod.Namespace, Name: pod.Name, MinCount: 1}, true, nil
	}
	g.Namespace, g.Name, g.MinCount = cmp.Or(g.Namespace, pod.Namespace), cmp.Or(g.Name, pod.Name), max(g.MinCount, 1)
	return g, false, err
}

func (c *podGang) add(pod *corev1.Pod, node string, g *gang.Group, err error) {
	if pod.Status.Phase == corev1.PodSucceeded {
		c.ended = append(c.ended, pod)
		return
	}
	switch {
	case c.group.MinCount == 0:
		c.group = *g
	case c.group.MinCount != g.MinCount && c.other == 0:
		c.other = g.MinCount
	}
	switch {
	case node != "":
		c.bound = append(c.bound, pod)
	case len(pod.Spec.SchedulingGates) > 0:
		c.gated = append(c.gated, pod)
	default:
		c.free = append(c.free, pod)
	}
	if c.err == nil {
		c.err = err
	}
}

// take adds what a pod on a node uses to the resources taken besides the running gangs, and returns the pod's GPUs.
func (b *builder) take(pod *corev1.Pod) int64 {
	a := b.holding(pod)
	b.load(b.NodeOf(pod)).taken.add(a)
	if a.gpus > 0 {
		b.tenants[pod.Namespace] = sum(b.tenants[pod.Namespace], a.gpus)
	}
	return a.gpus
}

// succeeded returns the number of the gang's pods that have succeeded and need no room any more. It counts only pods of the same
// controller as the live pods, because an earlier run may have had the same name.
func (c *podGang) succeeded() int32 {
	live := slices.Concat(c.bound, c.free, c.gated)
	if len(c.ended) == 0 || len(live) == 0 {
		return 0
	}
	n, now := int32(0), controller(live[0])
	for _, pod := range c.ended {
		if controller(pod) == now {
			n++
		}
	}
	return n
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
		if since := b.now.Sub(finished(pod)).Abs(); since <= endsFor && b.NodeOf(pod) != "" {
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

func controller(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
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

package e2e

import (
	"net/http"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// object returns the object in the body of a write, nil if there is none.
func (c *call) object() runtime.Object {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(c.body, nil, nil)
	if err != nil {
		return nil
	}
	return object
}

// watched notes that the program has begun a watch.
func (r *rules) watched(p *replica, path string) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	before := len(r.unseen)
	delete(r.unseen, p.name+path[strings.LastIndexByte(path, '/'):])
	if before > 0 && len(r.unseen) == 0 {
		r.open--
		r.calm = time.Now()
	}
}

// lease follows who holds the lease.
func (r *rules) lease(p *replica, c *call) {
	lease, ok := c.object().(*coordinationv1.Lease)
	if !ok || lease.Spec.HolderIdentity == nil {
		return
	}
	held := *lease.Spec.HolderIdentity != ""
	c.answered = func(code int) {
		switch {
		case code >= http.StatusMultipleChoices:
		case held:
			r.leads(p)
		default:
			r.ended(p)
		}
	}
}

// ask checks a request that writes, whatever becomes of it.
func (r *rules) ask(p *replica, c *call) {
	if c.kind == "" {
		return
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	path := c.read.URL.Path
	if r.holder != p && !p.killed.Load() {
		r.breach("%s writes (%s %s) and does not hold the lease", p.name, c.kind, path)
	}
	if !r.live && r.known(r.since) {
		r.breach("%s %s in another mode than live", c.kind, path)
	}
	object := c.object()
	leaving := c.leaving(object)
	if leaving != "" {
		r.asked[leaving] = c.kind
	}
	if (c.kind == "evict" || c.kind == "delete pods") && leaving == "" {
		r.breach("%s %s without the pod's UID", c.kind, path)
	}
	pod := r.podAt(path)
	if pod == nil { // the checker has not seen it yet
		return
	}
	if pod.Spec.SchedulerName != "clustergym" {
		r.breach("%s of pod %s of another scheduler", c.kind, path)
	}
	switch c.kind {
	case "bind":
		if o, ok := object.(*corev1.Binding); ok && o.UID == pod.UID {
			r.askBind(c, pod, o.Target.Name)
		}
	case "delete pods":
		if leaving == pod.UID && pod.DeletionTimestamp == nil {
			r.askDelete(pod)
		}
	case "evict":
		if leaving == pod.UID && pod.DeletionTimestamp == nil {
			r.askEvict(c, pod)
		}
	}
}

// leaving returns the UID of the pod that a request with this object removes, "" if it removes none.
func (c *call) leaving(object runtime.Object) types.UID {
	var options *metav1.DeleteOptions
	switch o := object.(type) {
	case *policyv1.Eviction:
		options = o.DeleteOptions
	case *metav1.DeleteOptions:
		options = o
	}
	if options == nil || options.Preconditions == nil || options.Preconditions.UID == nil {
		return ""
	}
	return *options.Preconditions.UID
}

// podAt returns the pod of a path, nil if there is none.
func (r *rules) podAt(path string) *corev1.Pod {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 6 || parts[4] != "pods" {
		return nil
	}
	for _, pod := range r.w.pods {
		if pod.Namespace == parts[3] && pod.Name == parts[5] {
			return pod
		}
	}
	return nil
}

func (r *rules) askBind(c *call, pod *corev1.Pod, node string) {
	b := r.at(pod.UID)
	switch is := pod.Spec.NodeName; {
	case b.carried != "" && b.carried != node && b.epoch == r.epoch:
		r.breach("double binding: the process has bound pod %s/%s to %s, and asks for %s", pod.Namespace, pod.Name, b.carried, node)
	case is != "" && is != node && r.known(b.seen):
		r.breach("double binding: pod %s/%s is on %s, and the program asks for %s", pod.Namespace, pod.Name, is, node)
	}
	b.asked[node] = true
	epoch := r.epoch
	c.answered = func(code int) {
		r.w.mu.Lock()
		defer r.w.mu.Unlock()
		if code < http.StatusMultipleChoices {
			b.carried, b.epoch = node, epoch
		}
	}
}

// askDelete checks that a pod that the program deletes is of a gang that never ran, as far as the process saw, and that is partly
// bound for longer than its deadline.
func (r *rules) askDelete(pod *corev1.Pod) {
	g := r.gang(gangOf(pod))
	name := pod.Namespace + "/" + pod.Name
	switch {
	case r.ran[pod.UID] == r.epoch:
		r.breach("pod %s of a gang that ran is deleted and not evicted", name)
	case !g.half && r.known(g.left):
		r.breach("pod %s is deleted, and its gang is not partly bound", name)
	case time.Since(g.early) < soakGang-early:
		r.breach("pod %s is deleted after %v of the deadline of %v", name, time.Since(g.early), soakGang)
	}
}

// askEvict checks that a pod that the program evicts is of a gang that lost pods for too long, or that policy and limits allow to
// stop its gang.
func (r *rules) askEvict(c *call, pod *corev1.Pod) {
	g := r.gang(gangOf(pod))
	epoch := r.epoch
	c.answered = func(code int) {
		if code == http.StatusTooManyRequests { // of the server: a disruption budget
			r.w.mu.Lock()
			defer r.w.mu.Unlock()
			if g.refusedIn != epoch {
				g.spared = time.Now()
			}
			g.refused, g.refusedIn = time.Now(), epoch
			r.refusals++
		}
	}
	if g.whole && r.known(g.wholeAt) && g.refusedIn == r.epoch && r.known(g.spared) && time.Since(g.spared) < sparing {
		r.breach("pod %s/%s is evicted %v after a budget refused it", pod.Namespace, pod.Name, time.Since(g.spared))
	}
	if time.Since(g.stopped) < oneRound { // it goes on to stop the gang
		return
	}
	if (g.half || !r.known(g.left)) && time.Since(g.early) >= soakLoss-early {
		return
	}
	name := pod.Namespace + "/" + pod.Name
	g.stopped = time.Now()
	r.stops++
	r.recent++
	r.inEpoch++
	yields := func(to class) bool {
		own := classOf(pod)
		return to.priority > own.priority || to.priority == own.priority && (r.w.play.across || to.space == own.space)
	}
	wanted := false
	for _, other := range r.w.pods {
		wanted = wanted || unbound(other) && yields(classOf(other))
	}
	for to, at := range r.waiting {
		wanted = wanted || time.Since(at) < longAgo && !r.known(at) && yields(to)
	}
	switch {
	case !g.whole && r.known(g.wholeLeft):
		r.breach("pod %s is evicted after %v of the deadline of %v, and its gang does not run", name, time.Since(g.early), soakLoss)
	case r.inEpoch > r.w.play.stops || r.recent > r.w.play.stops:
		r.breach("pod %s is evicted: the process stops %d gangs within an hour, %d since the ledger was lost, at most %d may be",
			name, r.inEpoch, r.recent, r.w.play.stops)
	case !wanted:
		r.breach("pod %s is evicted, and no gang waits that it has to yield to", name)
	}
}

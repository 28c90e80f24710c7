package e2e

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

const (
	// notice is the time within which the program has noticed a change and made a round, unless a fault hinders it.
	notice = 4 * time.Second
	// longAgo is the time after which no round is under way that saw a change otherwise, whatever the faults.
	longAgo = 15 * time.Second
	// oneRound is the longest time that the writes of one round take.
	oneRound = 30 * time.Second
	// early is by how much the checker may see a gang partly bound later than the program does.
	early = time.Second
	// askBack is the time after which the program asks again for an eviction that a budget refused.
	askBack = 5 * time.Second
	// sparing is the time after such a refusal within which the policy may not stop the gang, less one round.
	sparing = 4*time.Minute + 30*time.Second
)

// rules checks what must hold at every request of the program and after every change of a pod. Its fields are guarded by the
// checker's mutex.
type rules struct {
	w      *soak
	open   int             // faults that hinder the program now
	calm   time.Time       // when the last one ended
	unseen map[string]bool // resources of which a watch has to begin after the API server's restart

	holder  *replica // that may write
	epoch   int      // processes that have become the holder
	epochAt time.Time

	live  bool // the mode
	since time.Time

	nodes   map[string]*nodeFacts
	bound   map[types.UID]*binding
	waiting map[class]time.Time   // when a pod of that class last stopped to wait
	states  map[string]*gangFacts // by namespace/name
	ran     map[types.UID]int     // pods of gangs that a process saw run: its epoch
	asked   map[types.UID]string  // deletions that the program asked for: evict or delete pods
	protect map[string]int        // gangs that disruption budgets protect
	garbage bool                  // the ledger is garbage

	stops    int // all
	recent   int // since the ledger was last lost
	inEpoch  int
	refusals int // by disruption budgets
}

// nodeFacts are what the test has made of a node.
type nodeFacts struct {
	room, was int64 // GPUs
	closed    bool
	gone      bool
	busy      bool // a fault changes it
	changed   time.Time
}

// binding is what is known about the node of a pod.
type binding struct {
	asked   map[string]bool // nodes that the program asked for
	rival   string          // the node that the test bound it to
	carried string          // the node of the binding that was carried out for the process of the epoch
	epoch   int
	seen    time.Time // when the checker first saw it bound
}

// class are the pods that others have to yield to equally.
type class struct {
	space    string
	priority int32
}

func classOf(pod *corev1.Pod) class {
	c := class{space: pod.Namespace}
	if pod.Spec.Priority != nil {
		c.priority = *pod.Spec.Priority
	}
	return c
}

// gangFacts is the history of a gang.
type gangFacts struct {
	whole, half       bool
	wholeAt, halfAt   time.Time // since when
	early             time.Time // since when the program may have seen it partly bound
	left              time.Time // when it was last partly bound
	wholeLeft         time.Time // when it was last whole
	stopped           time.Time // when an eviction of its pods as those of a gang that runs was first asked for
	refused           time.Time // when a disruption budget last refused one
	spared            time.Time // when one first refused one of the process of the epoch
	refusedIn, toldOf int       // the epoch of that; the epoch for which it was told that the gang is partly bound for too long
}

func newRules(w *soak) *rules {
	r := &rules{
		w: w, open: 1, live: true, nodes: map[string]*nodeFacts{}, bound: map[types.UID]*binding{}, waiting: map[class]time.Time{},
		states: map[string]*gangFacts{}, ran: map[types.UID]int{}, asked: map[types.UID]string{}, protect: map[string]int{},
		unseen: map[string]bool{},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for node, room := range w.room {
		r.nodes[node] = &nodeFacts{room: room, was: room}
	}
	w.onPod, w.ownRules = r.see, true
	return r
}

func (r *rules) breach(format string, args ...any) { r.w.checker.fault(format, args...) }

// see processes a change of a pod.
func (r *rules) see(was, pod *corev1.Pod, deleted bool) {
	name := pod.Namespace + "/" + pod.Name
	if was != nil && unbound(was) && (deleted || !unbound(pod)) {
		r.waiting[classOf(pod)] = time.Now()
	}
	if node := pod.Spec.NodeName; node != "" && (was == nil || was.Spec.NodeName == "") {
		b := r.at(pod.UID)
		b.seen = time.Now()
		if b.asked[node] && b.rival != node {
			r.fits(pod, node)
		}
	}
	if leaves := deleted || pod.DeletionTimestamp != nil; leaves && !r.w.mine[pod.UID] && (was == nil || was.DeletionTimestamp == nil) {
		if r.asked[pod.UID] == "" {
			r.breach("pod %s is deleted, and neither the test nor the program has asked for it", name)
		}
	}
	r.turn(pod)
}

func (r *rules) at(uid types.UID) *binding {
	b := r.bound[uid]
	if b == nil {
		b = &binding{asked: map[string]bool{}}
		r.bound[uid] = b
	}
	return b
}

// fits checks that a node that the program has bound a pod to takes pods and has room for it. Pods that others have bound there
// count when the program must have noticed them.
func (r *rules) fits(pod *corev1.Pod, node string) {
	n := r.nodes[node]
	if n == nil || n.closed && r.known(n.changed) {
		r.breach("pod %s/%s is bound to node %s, which takes no pods", pod.Namespace, pod.Name, node)
		return
	}
	room := n.room
	if !r.known(n.changed) {
		room = max(room, n.was)
	}
	held := gpusOf(pod)
	for _, other := range r.w.pods {
		if other.UID == pod.UID || other.Spec.NodeName != node || mirror.Ended(other) {
			continue
		}
		if b := r.at(other.UID); b.asked[node] && b.rival != node || r.known(b.seen) {
			held += gpusOf(other)
		}
	}
	if held > room {
		r.breach("node %s holds %d GPUs of %d with pod %s/%s", node, held, room, pod.Namespace, pod.Name)
	}
}

// turn notes whether the gang of a pod is whole or partly bound.
func (r *rules) turn(pod *corev1.Pod) {
	name := gangOf(pod)
	bound, need := r.w.members(name)
	if r.w.need[name] == 0 {
		return
	}
	g := r.gang(name)
	now := time.Now()
	switch whole := bound > 0 && bound >= need; {
	case whole && !g.whole:
		g.wholeAt, g.stopped = now, time.Time{}
	case !whole && g.whole:
		g.wholeLeft = now
		if r.known(g.wholeAt) {
			r.ran[pod.UID] = r.epoch
		}
	}
	g.whole = bound > 0 && bound >= need
	switch half := bound > 0 && bound < need; {
	case half && !g.half:
		if g.halfAt = now; g.left.IsZero() || r.known(g.left) {
			g.early = now
		}
	case !half && g.half:
		g.left = now
	}
	g.half = bound > 0 && bound < need
}

func (r *rules) gang(name string) *gangFacts {
	g := r.states[name]
	if g == nil {
		g = &gangFacts{}
		r.states[name] = g
	}
	return g
}

// tick checks what must hold as time passes.
func (r *rules) tick() {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, pod := range r.w.pods { // what the process has seen run
		if g := r.states[gangOf(pod)]; g != nil && g.whole && r.known(g.wholeAt) && pod.Spec.NodeName != "" {
			r.ran[pod.UID] = r.epoch
		}
	}
	for name, g := range r.states {
		if !g.half || g.toldOf == r.epoch || !r.live || !r.known(r.since) || !r.known(g.halfAt) || r.excused(name, g) {
			continue
		}
		from := g.halfAt
		if r.epochAt.After(from) {
			from = r.epochAt
		}
		most := 2 * soakLoss
		if g.wholeAt.IsZero() && g.halfAt.After(r.epochAt.Add(notice)) { // no process can take it for one that ran
			most = 2 * soakGang
		}
		if took := time.Since(from); took > most+notice {
			g.toldOf = r.epoch
			bound, need := r.w.members(name)
			r.breach("gang %s has %d of %d pods bound for %v, at most %v are allowed", name, bound, need, took, most)
		}
	}
}

// excused reports whether something outside the program keeps a gang partly bound.
func (r *rules) excused(name string, g *gangFacts) bool {
	return r.protect[name] > 0 || time.Since(g.refused) < askBack+notice || r.garbage
}

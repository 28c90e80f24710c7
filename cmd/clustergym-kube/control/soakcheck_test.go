package control

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// invariants checks what must hold after every write of the program and after every round.
type invariants struct {
	w        *world
	breaches []string
	bound    map[types.UID]string // where the program has bound pods

	// Of this process:
	mode    Mode
	whole   map[types.UID]bool       // pods of gangs that it has seen whole
	aged    map[string]bool          // gangs that it found partly bound, and takes as gangs that ran
	half    map[string]time.Time     // gangs that it has seen partly bound: since when
	early   map[string]time.Time     // when the program may have noticed at the earliest: the round before, by a lost answer
	next    map[string]time.Time     // the same with this round
	began   time.Time                // the round
	earlier time.Time                // the round before
	rounds  int                      // that came to a decision before
	spared  map[string]time.Time     // gangs of which a budget refused an eviction: the last time
	offer   int                      // nodes that it saw inference offer
	bounds  map[string]amountBounds  // of CPU and memory that it saw, by namespace
	stuck   map[string][]*corev1.Pod // pods that it saw whose kubelets cannot resize them, by gang
	begun   map[string]bool          // gangs of which it knew a bound pod, or of which one may have been bound
	overdue bool                     // nodes on loan that inference wanted back by then
	current bool                     // it has seen all there was when the round began
	running map[string]bool          // gangs that it saw whole when the round began
	lately  map[string]bool          // the same of the round before that came to a decision
	fresh   map[types.UID]bool       // pods that the round has bound since it decided
	unsure  map[types.UID]bool       // pods of which it did not know whether they are bound when the round began
	waiting []*corev1.Pod            // pods that it saw wait
	stopped map[string]bool          // gangs of this round of which pods were evicted
	stops   []time.Time              // when it stopped gangs that ran
	writes  int
	longest time.Duration // for which a gang was partly bound, as a process saw it
	counts  map[string]int
}

func newInvariants(w *world) *invariants {
	return &invariants{w: w, bound: map[types.UID]string{}, counts: map[string]int{}}
}

func (k *invariants) breach(format string, args ...any) {
	k.breaches = append(k.breaches, fmt.Sprintf("round %d: ", k.w.round)+fmt.Sprintf(format, args...))
}

func (k *invariants) err() error {
	var all []error
	for _, b := range k.breaches[:min(len(k.breaches), 10)] {
		all = append(all, errors.New(b))
	}
	return errors.Join(all...)
}

// restarted forgets what an earlier process has seen.
func (k *invariants) restarted() {
	k.whole, k.half, k.spared = map[types.UID]bool{}, map[string]time.Time{}, map[string]time.Time{}
	k.stops, k.aged, k.early, k.lately = nil, map[string]bool{}, map[string]time.Time{}, nil
}

// seen returns the pods that the process sees, by gang; of other schedulers under "".
func (k *invariants) seen() map[string][]*corev1.Pod {
	gangs := map[string][]*corev1.Pod{}
	for _, x := range k.w.stores[0].List() {
		pod := x.(*corev1.Pod)
		name := ""
		if own(pod) {
			name = gangName(pod)
		}
		gangs[name] = append(gangs[name], pod)
	}
	return gangs
}

// tally returns how many pods of a gang are bound, as far as the process knows, and how many succeeded.
func (k *invariants) tally(pods []*corev1.Pod) (bound, succeeded int) {
	for _, pod := range pods {
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			succeeded++
		case pod.DeletionTimestamp != nil || mirror.Ended(pod):
		case pod.Spec.NodeName != "" || k.knows(pod):
			bound++
		}
	}
	return bound, succeeded
}

// doubts reports whether the process does not know if a pod is bound.
func (k *invariants) doubts(pod *corev1.Pod) bool {
	w := k.w.l.unseen[pod.UID]
	return w != nil && w.bindDoubt
}

// knows reports whether the process has learned that a pod is bound, though its watch does not show it.
func (k *invariants) knows(pod *corev1.Pod) bool {
	w := k.w.l.unseen[pod.UID]
	return w != nil && w.bind != nil && !w.bindDoubt
}

// before notes what the process sees when a round begins.
func (k *invariants) before() {
	w := k.w
	k.current = true
	for _, s := range w.stores {
		k.current = k.current && s.current(w.memory)
	}
	orders := w.l.orders(w.l.Now())
	k.mode = within(Live, orders.mode)
	k.bounds, k.stuck, k.begun = orders.amounts, map[string][]*corev1.Pod{}, map[string]bool{}
	k.offer, k.overdue = int(orders.offer), !w.l.Now().Before(orders.reclaimBy)
	k.running, k.stopped, k.waiting, k.fresh = map[string]bool{}, map[string]bool{}, nil, map[types.UID]bool{}
	k.next, k.began, k.rounds = map[string]time.Time{}, k.w.now(), w.l.rounds
	gangs := k.seen()
	k.unsure = map[types.UID]bool{}
	for uid, x := range w.l.unseen {
		k.unsure[uid] = x.bindDoubt
	}
	for _, g := range w.gangs {
		bound, succeeded := k.tally(gangs[g.key()])
		need := g.least - succeeded
		if bound >= need && bound > 0 {
			k.running[g.key()] = true
		}
		_, was := k.half[g.key()]
		if bound < need && (bound > 0 || was && slices.ContainsFunc(gangs[g.key()], k.doubts)) {
			k.next[g.key()] = k.began
			if !was {
				k.aged[g.key()] = k.lately[g.key()] || slices.ContainsFunc(gangs[g.key()], func(pod *corev1.Pod) bool { return k.whole[pod.UID] })
				k.early[g.key()] = k.began
				if k.rounds > 0 {
					k.early[g.key()] = k.earlier
				}
			}
			if was {
				k.next[g.key()] = k.half[g.key()]
			} else if k.rounds == 0 && k.old(gangs[g.key()]) {
				k.aged[g.key()] = true
			}
		}
	}
	delete(gangs, "")
	for name, pods := range gangs {
		k.stuck[name] = slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !stuck(pod, w.l.Now()) })
		bound, _ := k.tally(pods)
		k.begun[name] = bound > 0 || slices.ContainsFunc(pods, k.doubts)
		if bound > 0 && strings.Contains(name, "/junk") { // pods of nobody are gangs of one
			k.running[name] = true
		}
		k.waiting = append(k.waiting, slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
			return pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil
		})...)
	}
}

// asked checks a request to bind a pod, whether or not the server will carry it out.
func (k *invariants) asked(pod *corev1.Pod, node string) {
	if was := k.bound[pod.UID]; was != "" && was != node {
		k.breach("double binding: the program has bound pod %s to %s, and asks for %s", key(pod), was, node)
	}
}

// after checks that no gang is partly bound for longer than it may be. Only rounds count that met no fault and saw everything.
func (k *invariants) after() {
	w := k.w
	if w.l.rounds == k.rounds {
		return
	}
	k.half, k.earlier, k.lately = k.next, k.began, k.running
	gangs := k.seen()
	for _, g := range w.gangs { // the round took these as whole when it decided
		pods := slices.DeleteFunc(gangs[g.key()], func(pod *corev1.Pod) bool { return k.fresh[pod.UID] })
		if bound, succeeded := k.tally(pods); bound >= g.least-succeeded {
			for _, pod := range pods {
				k.whole[pod.UID] = k.whole[pod.UID] || pod.DeletionTimestamp == nil && k.at(pod) != ""
			}
		}
	}
	if w.dead || w.hurt || !k.current || k.mode != Live {
		return
	}
	for _, g := range w.gangs {
		since, half := k.half[g.key()]
		if !half {
			continue
		}
		deadline, bound := 2*soakDeadline, 0
		members := w.members(g)
		if k.aged[g.key()] || slices.ContainsFunc(members, func(pod *corev1.Pod) bool { return k.whole[pod.UID] }) {
			deadline = 2 * soakLoss
		}
		bound, succeeded := k.tally(members)
		took := k.began.Sub(since)
		k.longest = max(k.longest, took)
		if bound > 0 && bound < g.least-succeeded && took > deadline && !k.excused(g) {
			k.breach("gang %s has %d of %d pods bound for %v, at most %v are allowed", g.key(), bound, g.least, took, deadline)
		}
	}
}

// old reports whether pods were bound so long ago, by the clock of the program, that a new process takes their gang as one that ran.
func (k *invariants) old(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Status == corev1.ConditionTrue && k.w.now().Sub(c.LastTransitionTime.Time)+k.w.skew > 2*soakDeadline
		})
	})
}

// excused reports whether something outside the program keeps a gang partly bound.
func (k *invariants) excused(g *wanted) bool {
	if k.w.refuse[g.key()] {
		return true
	}
	at, was := k.spared[g.key()]
	if was && k.w.now().Sub(at) < askBack {
		return true
	}
	_, unread := k.w.maps["ns/"+ledgerName]
	return unread && k.w.maps["ns/"+ledgerName].Data[stopsKey] == garbageStops
}

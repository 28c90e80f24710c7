package control

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

var (
	soakFaults = flag.Int("faults", 6000, "how many faults TestSoak makes, in pieces of 100 that do not depend on each other")
	soakFrom   = flag.Int("faults.from", 0, "the first piece: a run that was stopped goes on from the piece that it printed last")

	serverFaults = flag.Int("server.faults", 120, "how many faults TestSoakOnServer makes, in pieces of 100")
	serverFrom   = flag.Int("server.faults.from", 0, "the first piece of TestSoakOnServer")
)

const soakPiece = 100

// plays take turns, a piece each.
var plays = []play{
	{policy: "fjf"}, {policy: "srsf:evict=true", stops: 6}, {policy: "srtf", stops: 6, across: true},
	{policy: "sjfskip+menu+know:speed=fit", amounts: true, whims: true, grows: true},
	{policy: "lyra+loan", stops: 6, loans: true, grows: true}, {policy: "lyra", stops: 6, across: true, grows: true},
	{policy: "fjf+loan", loans: true, grows: true}, {policy: "sjfskip"}, {policy: "sjfskip+menu+know:speed=fit", amounts: true},
	{policy: "srsf+menu+move+know:speed=fit", stops: 6, amounts: true, grows: true},
}

// TestSoak makes random faults while gangs come and go, and checks after each write and each round that no pod is bound twice, that
// no node holds more than it has, that no gang is partly bound for longer than it may be, and that no pod is stopped that the
// policy and the limits do not allow. After the last fault of a piece, all gangs end.
func TestSoak(t *testing.T) {
	soak(t, *soakFrom, *soakFaults, func(t *testing.T, do func(*testing.T, *realServer)) {
		synctest.Test(t, func(t *testing.T) { do(t, nil) })
	})
}

// TestSoakOnServer does the same on a real API server, which must also answer each request like the one in memory. The clock of the
// program then runs ahead of the server's.
func TestSoakOnServer(t *testing.T) {
	kubetest.Assets(t) // before there are pieces: without Kubernetes each would be skipped
	soak(t, *serverFrom, *serverFaults, func(t *testing.T, do func(*testing.T, *realServer)) {
		do(t, newRealServer(t))
	})
}

// soak makes as many faults in pieces from the first on. The function with calls its function with the server of a piece.
func soak(t *testing.T, first, faults int, with func(*testing.T, func(*testing.T, *realServer))) {
	total, writes := map[string]int{}, map[string]int{}
	rounds, gangs, done := 0, 0, 0
	var longest time.Duration
	began := time.Now()
	for piece := first; piece*soakPiece < faults; piece++ {
		p := plays[piece%len(plays)]
		ok := t.Run(fmt.Sprintf("%d-%s", piece, p.policy), func(t *testing.T) {
			with(t, func(t *testing.T, real *realServer) {
				w := newWorld(t, uint64(piece), p, real)
				for w.hits < min(soakPiece, faults-piece*soakPiece) && len(w.check.breaches) == 0 {
					w.fault()
					w.step(t.Context())
				}
				if len(w.check.breaches) == 0 {
					w.drain(t.Context())
				}
				if err := w.check.err(); err != nil {
					t.Errorf("after %d faults: %v\nThe program's log ends with:\n%s", w.hits, err, strings.Join(w.log, ""))
				}
				for kind, n := range w.counts {
					total[kind] += n
				}
				for verb, n := range w.check.counts {
					writes[verb] += n
				}
				rounds, gangs, done, longest = rounds+w.round, gangs+w.made, done+w.hits, max(longest, w.check.longest)
			})
		})
		if testing.Verbose() {
			fmt.Printf("piece %d: %d faults so far, %v\n", piece, done, time.Since(began).Round(time.Second))
		}
		if !ok {
			break
		}
	}
	t.Logf("%d faults in %d rounds with %d gangs, the longest partly bound for %v; writes %v\n%s",
		done, rounds, gangs, longest, writes, faultTable(total))
}

// fault makes one random fault. It counts when it takes effect: one of a request does when the program sends one.
func (w *world) fault() {
	if w.armed == nil && w.draw.IntN(2) == 0 {
		w.arm()
		return
	}
	all := []struct {
		kind string
		make func() bool // returns false if there is nothing that it could happen to
	}{
		{"program restarted", func() bool { w.restart(); return true }},
		{"pod deleted", w.deletePod}, {"pod deleted", w.deletePod}, {"pod failed", w.failPod},
		{"node not ready", w.breakNode}, {"node cordoned", w.cordon}, {"node removed", w.removeNode}, {"node lost GPUs", w.shrinkNode},
		{"another scheduler binds a pod", w.rivalBinds}, {"another scheduler takes GPUs", w.rivalTakes},
		{"watch delayed", w.delay}, {"watch delayed", w.delay},
		{"clock set forward", func() bool { w.setClock(1); return true }}, {"clock set back", func() bool { w.setClock(-1); return true }},
		{"garbage pod", w.garbagePod}, {"garbage annotation", w.garbageAnnotation}, {"garbage node", w.garbageNode},
		{"garbage ledger", w.garbageLedger}, {"ledger written by another", w.writeLedger}, {"ledger deleted", w.deleteLedger},
		{"mode off, shadow or garbage", w.turnOff}, {"control ConfigMap deleted", w.deleteSwitch},
		{"disruption budget", w.protect}, {"inference changes its offer", w.changeOffer},
		{"bounds of CPU and memory changed", w.changeBounds}, {"kubelet refuses resizes", w.hinder}, {"garbage throughput", w.garbageReport},
	}
	if f := all[w.draw.IntN(len(all))]; f.make() {
		w.count(f.kind)
	}
}

// arm lets one of the next requests, and maybe some after it, fail.
func (w *world) arm() {
	x := &trouble{kind: requestFaults[w.draw.IntN(len(requestFaults))], after: w.draw.IntN(6), times: 1}
	switch x.kind {
	case killedBefore, killedAfter:
	case firstRival:
		x.do = func(pod *corev1.Pod, _ string) {
			if pod != nil && pod.Spec.NodeName == "" {
				w.rival(pod)
			}
		}
	case fillRival:
		x.do = func(_ *corev1.Pod, node string) { w.take(node) }
	case slow, slowLost:
		x.wait = time.Duration(1+w.draw.IntN(40))*time.Second + 7*time.Millisecond // does not end together with a deadline
		x.times += w.draw.IntN(3)
	default:
		x.times += w.draw.IntN(10)
	}
	w.armed = x
}

// until ends a fault after some rounds.
func (w *world) until(rounds int, do func()) {
	w.later = append(w.later, undo{w.round + 1 + w.draw.IntN(rounds), do})
}

// some returns a random pod for which hold returns true, nil if there is none.
func (w *world) some(hold func(*corev1.Pod) bool) *corev1.Pod {
	pods := slices.DeleteFunc(w.podList(), func(pod *corev1.Pod) bool { return !hold(pod) })
	if len(pods) == 0 {
		return nil
	}
	return pods[w.draw.IntN(len(pods))]
}

func alive(pod *corev1.Pod) bool {
	return own(pod) && pod.DeletionTimestamp == nil && !mirror.Ended(pod)
}

func unplaced(pod *corev1.Pod) bool { return alive(pod) && pod.Spec.NodeName == "" }

func (w *world) deletePod() bool {
	pod := w.some(alive)
	if pod == nil {
		return false
	}
	w.end(pod)
	return true
}

func (w *world) failPod() bool {
	pod := w.some(func(pod *corev1.Pod) bool { return alive(pod) && pod.Spec.NodeName != "" })
	if pod == nil {
		return false
	}
	w.editPod(pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	return true
}

// change changes a random node for some rounds. Then it is as it was at the start.
func (w *world) change(rounds int, edit func(*corev1.Node)) bool {
	name := w.someNode()
	w.editNode(name, edit)
	w.until(rounds, func() { w.repair(name) })
	return true
}

// repair undoes what faults have changed of a node. A loan of the node is none of that.
func (w *world) repair(name string) {
	if now := w.nodes[name]; now != nil {
		w.editNode(name, func(n *corev1.Node) { n.Spec.Unschedulable, n.Status = false, w.node(name).Status })
	}
}

func (w *world) breakNode() bool {
	return w.change(20, func(n *corev1.Node) { n.Status.Conditions = nil })
}

func (w *world) cordon() bool {
	return w.change(20, func(n *corev1.Node) { n.Spec.Unschedulable = true })
}

func (w *world) shrinkNode() bool {
	return w.change(20, func(n *corev1.Node) {
		n.Status.Allocatable[gpu] = *resource.NewQuantity(w.draw.Int64N(soakGPUs), resource.DecimalSI)
	})
}

func (w *world) removeNode() bool {
	if len(w.sorted()) < 4 {
		return false
	}
	name := w.someNode()
	w.dropNode(name)
	w.until(20, func() { w.putNode(w.node(name)) })
	return true
}

// rival binds a pod of this scheduler to a node with room, as another scheduler would.
func (w *world) rival(pod *corev1.Pod) bool {
	for _, name := range w.sorted() {
		if w.free(name) >= requested(pod, gpu) {
			w.assign(pod, name)
			return true
		}
	}
	return false
}

// free returns the free GPUs of a node.
func (w *world) free(node string) int64 {
	q := w.nodes[node].Status.Allocatable[gpu]
	n := q.Value()
	for _, pod := range w.pods {
		if pod.Spec.NodeName == node && !mirror.Ended(pod) {
			n -= requested(pod, gpu)
		}
	}
	return n
}

func (w *world) rivalBinds() bool {
	pod := w.some(unplaced)
	return pod != nil && w.rival(pod)
}

// take runs a pod of another scheduler on a node for a while.
func (w *world) take(node string) bool {
	if w.nodes[node] == nil {
		return false
	}
	n := min(w.free(node), 1+w.draw.Int64N(4))
	if n <= 0 {
		return false
	}
	w.made++
	pod := crew{name: fmt.Sprint("other", w.made), pods: 1, least: 1, gpus: n}.list()[0]
	pod.Spec.SchedulerName, pod.Spec.NodeName, pod.UID = "other", node, ""
	if !w.putPod(pod) {
		return false
	}
	w.until(30, func() {
		if now := w.pods[key(pod)]; now != nil {
			w.dropPod(now)
		}
	})
	return true
}

func (w *world) rivalTakes() bool {
	return w.take(w.someNode())
}

func (w *world) delay() bool {
	of := w.stores[w.draw.IntN(len(w.stores))].resource
	if w.play.amounts && w.draw.IntN(2) == 0 {
		of = "pods" // which show resizes, too
	}
	w.delayed[of] += 1 + w.draw.IntN(8)
	return true
}

// setClock sets the wall clock of the program's machine by up to three days.
func (w *world) setClock(sign int) {
	by := []time.Duration{time.Second, time.Minute, time.Hour, 72 * time.Hour}[w.draw.IntN(4)]
	by = time.Duration(sign*(1+w.draw.IntN(int(by/time.Second)))) * time.Second
	if w.skew += by; w.skew.Abs() > 30*24*time.Hour {
		w.skew = 0
	}
}

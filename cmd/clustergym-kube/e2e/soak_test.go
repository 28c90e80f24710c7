package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/faulttest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

var (
	soakFaults = flag.Int("soak", 60, "how many faults TestSoak makes, in pieces of 100 that do not depend on each other")
	soakFrom   = flag.Int("soak.from", 0, "the first piece: a run that was stopped goes on from the piece that it printed last")
)

const (
	soakPiece               = 100
	soakNodes               = 5
	soakGangs               = 12                     // most gangs that have not ended
	soakSpaces, soakClasses = 6, 3                   // namespaces, and priorities
	soakCalm                = 25                     // faults between two calm periods
	soakGang                = 3 * time.Second        // the flag --gang-deadline
	soakLoss                = 2 * soakGang           // the flag --loss-deadline
	soakPause               = 300 * time.Millisecond // longest pause between two faults
)

// soakPlay is a policy with the limits that a piece of the soak runs it with.
type soakPlay struct {
	policy string
	stops  int
	across bool
	elect  bool // two replicas, of which one leads
	alone  bool // each gang has a namespace of its own, and all have one priority: none may be stopped for another
	guards bool // disruption budgets protect all gangs that run, now and then, without another fault
}

var plays = []soakPlay{
	{policy: "srtf", stops: 2, across: true}, {policy: "srtf", stops: 4}, {policy: "srsf:evict=true", stops: 2, elect: true}, {policy: "fjf"},
	{policy: "srtf", stops: 40, alone: true}, {policy: "srtf", stops: 40, across: true, guards: true},
}

func (p soakPlay) flags() []string {
	return []string{
		"--mode=live", "--policy=" + p.policy, fmt.Sprint("--preemptions-per-hour=", p.stops),
		fmt.Sprint("--preempt-across-namespaces=", p.across), fmt.Sprint("--leader-elect=", p.elect),
		"--gang-deadline=" + soakGang.String(), "--loss-deadline=" + soakLoss.String(), "--period=2s", "--verbose",
	}
}

// TestSoak makes random faults on a real API server while gangs come and go, and checks what rules says. After the last fault of a
// piece all gangs end. Equal seeds draw equal faults, but processes do not run in step: what they hit differs from run to run.
func TestSoak(t *testing.T) {
	total := map[string]int{}
	sum := soakSum{}
	began := time.Now()
	for piece := *soakFrom; piece*soakPiece < *soakFaults; piece++ {
		p := plays[piece%len(plays)]
		name := fmt.Sprintf("%d-%s", piece, strings.ReplaceAll(p.policy, ":", "-"))
		ok := t.Run(name, func(t *testing.T) {
			w := newSoak(t, uint64(piece), p)
			w.run(min(soakPiece, *soakFaults-piece*soakPiece))
			for kind, n := range w.counts {
				total[kind] += n
			}
			sum.add(w)
		})
		if testing.Verbose() {
			fmt.Printf("piece %d: %d faults so far, %v\n", piece, sum.faults, time.Since(began).Round(time.Second))
		}
		if !ok {
			break
		}
	}
	t.Logf("%+v\n%s", sum, faulttest.Table(total))
}

// soakSum are the figures of all pieces.
type soakSum struct {
	faults, gangs, pods, binds, evictions, deletions, stops, refusals, breaches int
	longest                                                                     time.Duration // for which a gang was partly bound
}

func (s *soakSum) add(w *soak) {
	s.faults += w.hits
	s.gangs += w.endedGangs
	s.pods += w.endedPods
	for _, p := range w.replicas {
		s.binds += p.tap.count("bind")
		s.evictions += p.tap.count("evict")
		s.deletions += p.tap.count("delete pods")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.stops += w.rules.stops
	s.refusals += w.rules.refusals
	s.breaches += len(w.checker.faults)
	s.longest = max(s.longest, w.worst.Round(time.Millisecond))
}

// soak is a cluster in which gangs come and go, the program that schedules it, and the faults that they meet.
type soak struct {
	*checker
	t        testing.TB
	draw     *rand.Rand // of the test's goroutine
	play     soakPlay
	rules    *rules
	load     *load
	replicas []*replica
	later    []undo
	counts   map[string]int // faults, by kind
	hits     int
	made     int // objects with a number in their name
	wire     wire
	ordered  bool // the mode is another than live

	endedGangs, endedPods int // gangs that ended, and their pods
}

// undo ends a fault.
type undo struct {
	at time.Time
	do func()
}

func newSoak(t *testing.T, seed uint64, p soakPlay) *soak {
	c := withNodes(t, soakNodes)
	for n := range soakSpaces {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("team-", n)}}
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if n >= soakClasses {
			continue
		}
		class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("class-", n)}, Value: int32(n)}
		if _, err := c.Client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	allow(t, c)
	w := &soak{checker: check(t, c), t: t, draw: rand.New(rand.NewPCG(seed, 23)), play: p, counts: map[string]int{}}
	w.wire.draw = rand.New(rand.NewPCG(seed, 24))
	w.rules = newRules(w)
	w.begin()
	gangs := rand.New(rand.NewPCG(seed, 25))
	w.load = &load{k: w.checker, open: soakGangs, every: 50 * time.Millisecond, draw: gangs, vary: func(g *madeGang) {
		g.again = map[int]int{}
		g.space, g.pods = fmt.Sprint("team-", gangs.IntN(soakSpaces)), 1+gangs.IntN(6)
		g.together = time.Duration(500+gangs.IntN(10_000)) * time.Millisecond
		if p.guards {
			g.together *= 2
		}
		class, estimate := fmt.Sprint("class-", gangs.IntN(soakClasses)), time.Duration(1+gangs.IntN(600))*time.Second
		if p.alone {
			g.space, class, g.pods, g.gpus = w.load.unused(), "class-1", g.pods+2, 4
		}
		g.edit = func(pod *corev1.Pod) {
			pod.Spec.PriorityClassName = class
			pod.Annotations["clustergym.dev/estimate"] = estimate.String()
		}
	}}
	if p.alone {
		w.load.open = soakSpaces
	}
	w.load.start()
	return w
}

// unused returns a namespace of the soak in which no gang is that has not ended. The caller holds the lock.
func (l *load) unused() string {
	for n := range soakSpaces {
		space := fmt.Sprint("team-", n)
		if !slices.ContainsFunc(l.gangs, func(g *madeGang) bool { return !g.over && g.space == space }) {
			return space
		}
	}
	panic("more gangs than namespaces")
}

// run makes faults until so many have taken effect, then lets all gangs end.
func (w *soak) run(faults int) {
	w.t.Helper()
	calm := soakCalm
	for w.sound() && w.hit() < faults {
		w.fault()
		w.pass(time.Duration(w.draw.Int64N(int64(soakPause))))
		if w.hit() >= calm {
			w.rest()
			if w.play.guards {
				w.protectAll()
			}
			calm = w.hit() + soakCalm
		}
	}
	if w.sound() {
		w.rest()
		w.endedGangs, w.endedPods = w.load.drain()
	}
	w.finish()
	if w.t.Failed() {
		w.t.Logf("after %d faults", w.hit())
	}
}

// sound reports whether no rule is broken.
func (w *soak) sound() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.checker.faults) == 0
}

func (w *soak) hit() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hits
}

// count counts a fault that has taken effect.
func (w *soak) count(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[kind]++
	w.hits++
}

// quiet lets time pass in which no fault begins and none ends.
func (w *soak) quiet(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		w.sweep()
		w.rules.tick()
	}
}

// pass lets time pass: faults end, processes that have ended start again, and the rules are checked.
func (w *soak) pass(d time.Duration) {
	until := time.Now().Add(d)
	for first := true; first || time.Now().Before(until); first = false {
		now := time.Now()
		w.later = slices.DeleteFunc(w.later, func(u undo) bool {
			if !u.at.After(now) {
				u.do()
			}
			return !u.at.After(now)
		})
		w.revive()
		w.sweep()
		w.rules.tick()
		time.Sleep(20 * time.Millisecond)
	}
}

// until ends a fault after a random time of at most d.
func (w *soak) until(d time.Duration, do func()) {
	w.later = append(w.later, undo{time.Now().Add(time.Duration(w.draw.Int64N(int64(d)))), do})
}

// rest ends all faults and waits until no gang is partly bound that was so at the beginning, and some time more.
func (w *soak) rest() {
	for _, u := range w.later {
		u.do()
	}
	w.later = nil
	w.wire.disarm()
	w.pass(notice + time.Second)
	w.mu.Lock()
	open := maps.Clone(w.half)
	w.mu.Unlock()
	for len(open) > 0 && w.sound() {
		w.pass(100 * time.Millisecond)
		w.mu.Lock()
		maps.DeleteFunc(open, func(gang string, since time.Time) bool { now, half := w.half[gang]; return !half || now != since })
		w.mu.Unlock()
	}
}

// sweep deletes the pods on nodes that do not exist, as the garbage collector does.
func (w *soak) sweep() {
	lost := func(pod *corev1.Pod) bool {
		n := w.rules.nodes[pod.Spec.NodeName]
		return bound(pod) && (n == nil || n.gone)
	}
	for _, pod := range w.list(lost) {
		var now int64
		_ = w.remove(w.t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: &now}) // again the next time
	}
}

// unbound reports whether a pod of the program waits.
func unbound(pod *corev1.Pod) bool { return alive(pod) && !bound(pod) }

// alive reports whether a pod is of the program and neither ended nor being deleted.
func alive(pod *corev1.Pod) bool {
	return pod.Spec.SchedulerName == "clustergym" && pod.DeletionTimestamp == nil && !mirror.Ended(pod)
}

package control

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/objectives"
)

// play is a policy with the limits that a soak runs it with.
type play struct {
	policy  string
	stops   int
	across  bool
	loans   bool // some nodes are of the inference pool, which lends them
	grows   bool // some gangs are elastic
	amounts bool // the program may give gangs more or less CPU and memory than they request
	whims   bool // it also changes them at random
}

// world is a cluster in memory in which gangs come and go, and the program that schedules it. Only its generator draws, and its
// clock is that of a bubble of synctest, so a seed gives the same world.
type world struct {
	*memory
	t      testing.TB
	draw   *rand.Rand
	play   play
	began  time.Time
	skew   time.Duration // by how much the wall clock of the program is wrong
	gangs  []*wanted
	made   int // gangs so far
	open   int // gangs at most
	round  int
	later  []undo // what ends by itself
	counts map[string]int
	hits   int
	check  *invariants
	log    lastLines

	offer    int               // nodes that inference offers
	by       time.Time         // when it wants the others back
	bounds   string            // of CPU and memory, in the form of the control ConfigMap
	hindered map[string]string // nodes whose kubelets refuse all resizes, and as what
	l        *Loop
	stores   []*store       // pods, nodes, configmaps
	delayed  map[string]int // by resource: rounds for which the watch shows nothing, or not all
}

// wanted is a gang as its owner wants it to be.
type wanted struct {
	space, name string
	pods        int // as many as its owner wants; of an elastic gang at most
	least       int // as many have to run together
	gpus        int64
	priority    int32
	run         time.Duration
	ran         time.Duration // since it is whole
	over        bool
	size        *sizing // nil in plays without amounts
}

func (g *wanted) key() string { return g.space + "/" + g.name }

// lastLines keeps the last lines written to it.
type lastLines []string

func (l *lastLines) Write(line []byte) (int, error) {
	if len(*l) == 30 {
		*l = (*l)[1:]
	}
	*l = append(*l, string(line))
	return len(line), nil
}

// undo ends a fault in a later round.
type undo struct {
	round int
	do    func()
}

const (
	soakNodes    = 6
	soakLent     = 2 // of these of the inference pool, in plays with loans
	soakGPUs     = 8
	soakDeadline = time.Minute
	soakLoss     = 3 * time.Minute
	soakSettle   = 20 * time.Second // of reports
)

func newWorld(t testing.TB, seed uint64, p play, real *realServer) *world {
	w := &world{
		memory: newMemory(), t: t, began: time.Now().Add(-time.Hour), draw: rand.New(rand.NewPCG(seed, 23)), play: p, open: 10, counts: map[string]int{},
		delayed: map[string]int{}, bounds: amountsTexts[0], hindered: map[string]string{},
	}
	if real != nil {
		ahead := time.Duration(0) // of the program's clock: nobody sleeps
		w.now, w.sleep = func() time.Time { return time.Now().Add(ahead) }, func(d time.Duration) { ahead += d }
		w.real = real
	}
	w.hit = func(x *trouble) { w.count(x.kind) }
	w.check = newInvariants(w)
	w.differs = func(request string, want, got error) {
		w.check.breach("%s: the real API server answers %v, and the one in memory %v", request, got, want)
	}
	w.heard, w.asked, w.marked, w.scaled, w.resized = w.check.heard, w.check.asked, w.check.marked, w.check.scaled, w.check.resized
	for i := range soakNodes {
		w.putNode(w.node(fmt.Sprint("n", i)))
	}
	w.putMap(w.orders("live"))
	w.restart()
	return w
}

// node returns a node as it is at the start. In a play with loans the last two are of the inference pool.
func (w *world) node(name string) *corev1.Node {
	n := node(name, soakGPUs, map[string]string{})
	if w.play.loans && name >= fmt.Sprint("n", soakNodes-soakLent) && name < "o" {
		n.Labels[mirror.PoolLabel] = mirror.InferencePool
	}
	n.Status.Allocatable["cpu"], n.Status.Allocatable["memory"] = resource.MustParse("64"), resource.MustParse("256Gi")
	if w.play.amounts { // so that gangs compete for them
		n.Status.Allocatable["cpu"], n.Status.Allocatable["memory"] = resource.MustParse("24"), resource.MustParse("160Gi")
	}
	return n
}

func (w *world) count(kind string) {
	w.counts[kind]++
	w.hits++
}

// restart starts a new process of the program, which reads the whole cluster.
func (w *world) restart() {
	registry := prometheus.NewRegistry()
	client := w.client()
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	readings, err := measure.New(soakSettle, nil, registry, log)
	if err != nil {
		w.t.Fatal(err)
	}
	d := decider(w.t, w.play.policy)
	if w.play.whims {
		d = deciderAfter(w.t, w.play.policy, resizeAtRandom(w.draw))
	}
	d.Objective = objectives.Usual()
	l, err := New(Config{
		Readings: readings, Mode: Live, Namespace: "ns", Client: client, Actor: &act.Actor{Client: client, Parallel: 1}, Decider: d,
		Mirror: reading, GangDeadline: soakDeadline, LossDeadline: soakLoss, Stops: w.play.stops, Across: w.play.across,
		Log: log, Starvation: time.Hour, Now: func() time.Time { return both(w.now().Add(w.skew), w.now().Sub(w.began)) },
	}, registry)
	if err != nil {
		w.t.Fatal(err)
	}
	w.stores = []*store{newStore(w.memory, "pods"), newStore(w.memory, "nodes"), newStore(w.memory, "configmaps")}
	clear(w.delayed)
	empty := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	l.watch = &watch{
		pods: corelisters.NewPodLister(w.stores[0]), nodes: corelisters.NewNodeLister(w.stores[1]),
		control: corelisters.NewConfigMapLister(w.stores[2]).ConfigMaps("ns"), quotas: corelisters.NewResourceQuotaLister(empty),
		claims: corelisters.NewPersistentVolumeClaimLister(empty), volumes: corelisters.NewPersistentVolumeLister(empty),
	}
	w.l, w.dead = l, false
	w.check.restarted()
}

// step lets some time pass, lets owners and kubelets act, and makes a round.
func (w *world) step(ctx context.Context) {
	w.round++
	w.later = slices.DeleteFunc(w.later, func(u undo) bool {
		if u.round <= w.round {
			u.do()
		}
		return u.round <= w.round
	})
	passed := time.Duration(w.draw.IntN(20_000)) * time.Millisecond
	w.sleep(passed)
	w.kubelets()
	w.owners(passed)
	w.watches()
	w.hurt = false
	w.check.before()
	w.l.Round(ctx)
	if w.l.costs.objective == nil {
		w.t.Fatalf("the costs of a round panicked:\n%s", strings.Join(w.log, ""))
	}
	w.forget()
	w.check.after()
	if w.dead {
		w.restart()
	}
}

// forget forgets the requests that the fake client has recorded.
func (w *world) forget() {
	if c, ok := w.l.Client.(interface{ ClearActions() }); ok {
		c.ClearActions()
	}
}

// watches shows the program what has changed.
func (w *world) watches() {
	current := true
	for _, s := range w.stores {
		n := len(w.changes[s.resource])
		if w.delayed[s.resource] > 0 {
			w.delayed[s.resource]--
			n = w.draw.IntN(n - s.seen + 1)
		}
		s.show(w.memory, n)
		current = current && s.current(w.memory)
	}
	if current { // nobody needs the changes any more
		clear(w.changes)
		for _, s := range w.stores {
			s.seen = 0
		}
	}
}

// calm ends all faults.
func (w *world) calm() {
	for _, u := range w.later {
		u.do()
	}
	w.later, w.armed, w.offer, w.by, w.bounds = nil, nil, 0, time.Time{}, amountsTexts[0]
	w.putMap(w.orders("live"))
	clear(w.delayed)
}

// drain lets all gangs end without a fault, and fails the test if one does not.
func (w *world) drain(ctx context.Context) {
	w.calm()
	w.open = 0
	for range 3000 {
		if len(w.gangs) == 0 && w.marks() == 0 {
			return
		}
		w.step(ctx)
	}
	if n := w.marks(); n > 0 {
		w.check.breach("%d nodes are on loan, long after inference wanted all back", n)
	}
	for _, g := range w.gangs {
		state := ""
		for _, pod := range w.members(g) {
			state += fmt.Sprintf(" %s on %q %s, deleted %v;", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.DeletionTimestamp)
		}
		w.check.breach("gang %s of %d pods with %d GPUs each has not ended, long after the last fault:%s", g.key(), g.pods, g.gpus, state)
	}
}

// sorted returns the names of the nodes that are there, without those of garbage.
func (w *world) sorted() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.nodes)), func(name string) bool { return name[0] != 'n' })
}

func (w *world) someNode() string {
	all := w.sorted()
	return all[w.draw.IntN(len(all))]
}

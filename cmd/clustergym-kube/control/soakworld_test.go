package control

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	ktesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// soak is a cluster in memory, with what happens in it and with the program that schedules its pods.
type soak struct {
	t       *testing.T
	draw    *rand.Rand
	skew    time.Duration // by which the program's clock is ahead
	pods    map[string]*corev1.Pod
	nodes   map[string]*corev1.Node
	orders  *corev1.ConfigMap
	ledger  *corev1.ConfigMap
	gangs   []*soakGang
	serial  int
	decider *decide.Decider
	process *soakProcess
	store   map[string]cache.Indexer // what the program was shown

	troubles []trouble
	lag      int  // rounds for which the program is still shown nothing new
	stale    int  // rounds since it was last shown something
	slow     bool // the server was slow in this round
	quiet    bool // no more faults
	excused  map[string]bool
	mine     map[types.UID]string // nodes to which the program has bound pods
	stops    []time.Time          // by the policy, on the program's clock
	rounds   int
	last     time.Time // when the last round began
	struck   int
	counts   map[string]int
	trail    []string // what happened last
	broken   []string
}

// soakGang is a gang, whose owner creates missing pods.
type soakGang struct {
	space, name string
	pods        int
	gpus        int64
	priority    int32
	run         time.Duration
	budget      bool // a disruption budget refuses evictions
	garbage     bool // somebody has annotated a pod with garbage

	whole   time.Time     // since when it runs; zero if it does not
	half    time.Time     // since when it is partly bound
	clear   time.Duration // how long of that nothing hindered the program
	ranFor  *soakProcess  // the process that saw it run before it lost pods
	never   *soakProcess  // the process that saw it before any pod was bound
	shown   int           // the pods that the program was last shown bound
	removed int           // the round in which pods of it were last removed
}

func (g *soakGang) key() string { return g.space + "/" + g.name }

// soakProcess is one run of the program, from its start to its end.
type soakProcess struct {
	loop   *Loop
	client *fake.Clientset
	mode   Mode
	dead   bool
	ctx    context.Context
	cancel context.CancelFunc
}

func (p *soakProcess) kill() {
	p.dead = true
	p.cancel()
}

func newSoak(t *testing.T, seed uint64) *soak {
	t.Helper()
	s := &soak{
		t: t, draw: rand.New(rand.NewPCG(seed, 23)), pods: map[string]*corev1.Pod{}, nodes: map[string]*corev1.Node{},
		orders: switchTo("live"), store: map[string]cache.Indexer{}, excused: map[string]bool{}, mine: map[types.UID]string{},
		counts: map[string]int{},
	}
	for i := range 6 {
		n := node(fmt.Sprintf("n%d", i), 8, nil)
		s.nodes[n.Name] = n
	}
	for i := range 9 {
		s.gangs = append(s.gangs, s.gang(i))
	}
	finder := new(policy.Finder)
	source, err := finder.Find("srtf")
	if err != nil {
		t.Fatal(err)
	}
	if s.decider, err = decide.New(decide.Config{Source: source, Fallback: finder.Fallback(""), Deadline: time.Minute}); err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

func (s *soak) next() string {
	s.serial++
	return fmt.Sprint(s.serial)
}

func (s *soak) gang(slot int) *soakGang {
	return &soakGang{
		space: []string{"a", "b"}[slot%2], name: fmt.Sprintf("g%d-%s", slot, s.next()), pods: 1 + s.draw.IntN(6),
		gpus: 1 + s.draw.Int64N(4), priority: s.draw.Int32N(3), run: time.Duration(1+s.draw.IntN(240)) * time.Minute,
	}
}

// note adds a line to what happened last.
func (s *soak) note(format string, args ...any) {
	s.trail = append(s.trail, fmt.Sprintf("round %d: ", s.rounds)+fmt.Sprintf(format, args...))
	s.trail = s.trail[max(0, len(s.trail)-60):]
}

func (s *soak) count(kind string) {
	s.counts[kind]++
	s.note("%s", kind)
	if kind[0] != '#' {
		s.struck++
	}
}

func (s *soak) since(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return time.Since(at)
}

// start starts a new process of the program, which reads the whole cluster first.
func (s *soak) start() {
	s.stop()
	p := &soakProcess{client: &fake.Clientset{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.client.AddReactor("*", "*", func(a ktesting.Action) (bool, runtime.Object, error) { return s.answer(p, a) })
	loop, err := New(Config{
		Mode: Live, Namespace: "ns", Client: p.client, Actor: &act.Actor{Client: p.client, Parallel: 1}, Decider: s.decider,
		Mirror: mirror.Config{Schedulers: []string{"clustergym"}, GPU: gpu, Estimate: time.Hour, Epoch: time.Unix(0, 0)},
		Stops:  3, Starvation: 6 * time.Hour, Log: slog.New(panics{s}),
		Now: func() time.Time { return time.Now().Round(0).Add(s.skew) },
	}, prometheus.NewRegistry())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, kind := range []string{"nodes", "pods", "quotas", "claims", "volumes", "control"} {
		s.store[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	}
	loop.watch = &watch{
		nodes: corelisters.NewNodeLister(s.store["nodes"]), pods: corelisters.NewPodLister(s.store["pods"]),
		quotas:  corelisters.NewResourceQuotaLister(s.store["quotas"]),
		claims:  corelisters.NewPersistentVolumeClaimLister(s.store["claims"]),
		volumes: corelisters.NewPersistentVolumeLister(s.store["volumes"]),
		control: corelisters.NewConfigMapLister(s.store["control"]).ConfigMaps("ns"),
	}
	p.loop, s.process, s.lag = loop, p, 0
	for _, g := range s.gangs {
		g.clear = 0 // a new process begins to count
	}
}

func (s *soak) stop() {
	if s.process != nil {
		s.process.cancel()
	}
}

// show shows the program the cluster as it is.
func (s *soak) show() {
	replace(s, "nodes", s.nodes)
	replace(s, "pods", s.pods)
	s.showOrders()
	clear(s.excused)
	s.note("the program is shown the cluster")
	for _, g := range s.gangs {
		g.shown = s.bound(g)
	}
	s.stale = 0
}

// showOrders shows the program the control ConfigMap as it is.
func (s *soak) showOrders() {
	orders := map[string]*corev1.ConfigMap{}
	if s.orders != nil {
		orders["control"] = s.orders
	}
	replace(s, "control", orders)
}

func replace[T interface{ DeepCopy() T }](s *soak, kind string, objects map[string]T) {
	var list []any
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		list = append(list, objects[key].DeepCopy())
	}
	if err := s.store[kind].Replace(list, ""); err != nil {
		s.t.Fatal(err)
	}
}

// round lets the program make a round, and checks the cluster after it. A program that was killed starts again.
func (s *soak) round() {
	if s.process.dead {
		s.start()
	}
	if s.stale++; s.lag > 0 {
		s.lag--
	} else {
		s.show()
	}
	s.rounds++
	p, struck, began := s.process, s.struck, time.Now()
	p.mode = within(Live, p.loop.orders(p.loop.Now()).mode)
	p.loop.Round(p.ctx)
	p.client.ClearActions()
	last := s.last
	s.last = began
	s.checkHalves(struck == s.struck && s.stale == 0 && !s.slow && p.mode == Live, began.Sub(last))
	s.slow = false
}

// bound returns the number of pods of a gang that have a node and go on.
func (s *soak) bound(g *soakGang) (n int) {
	for i := range g.pods {
		if pod := s.pods[g.pod(i)]; pod != nil && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && !mirror.Ended(pod) {
			n++
		}
	}
	return n
}

func (g *soakGang) pod(i int) string { return fmt.Sprintf("%s-%d", g.key(), i) }

func (s *soak) runs(g *soakGang) bool { return s.bound(g) >= g.pods }

// gangOf returns the gang of a pod, or nil.
func (s *soak) gangOf(pod *corev1.Pod) *soakGang {
	for _, g := range s.gangs {
		for i := range g.pods {
			if pod != nil && g.pod(i) == pod.Namespace+"/"+pod.Name {
				return g
			}
		}
	}
	return nil
}

// held returns the number of GPUs that the pods on a node hold.
func (s *soak) held(name string) (n int64) {
	for _, pod := range s.pods {
		if pod.Spec.NodeName == name && !mirror.Ended(pod) {
			n += gpusOf(pod)
		}
	}
	return n
}

func gpusOf(pod *corev1.Pod) int64 {
	q := pod.Spec.Containers[0].Resources.Requests[gpu]
	return q.Value()
}

func (s *soak) capacity(name string) int64 {
	n := s.nodes[name]
	if n == nil {
		return 0
	}
	q := n.Status.Allocatable[gpu]
	return q.Value()
}

// room returns a node that has room for a pod, or "".
func (s *soak) room(pod *corev1.Pod) string {
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if s.held(name)+gpusOf(pod) <= s.capacity(name) && mirror.Ready(s.nodes[name]) {
			return name
		}
	}
	return ""
}

// tend lets the cluster do its work: pods end, and owners create missing ones.
func (s *soak) tend() {
	now := time.Now()
	for _, key := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[key]
		if pod.DeletionTimestamp != nil && !now.Before(pod.DeletionTimestamp.Time) ||
			pod.Spec.NodeName != "" && s.nodes[pod.Spec.NodeName] == nil || pod.Status.Phase == corev1.PodFailed && s.draw.IntN(2) == 0 {
			delete(s.pods, key)
		}
	}
	for slot, g := range s.gangs {
		switch {
		case !s.runs(g):
			g.whole = time.Time{}
		case g.whole.IsZero():
			g.whole = now
		case now.Sub(g.whole) >= g.run:
			for i := range g.pods {
				delete(s.pods, g.pod(i))
			}
			s.count("# gangs that ended")
			g = s.gang(slot)
			s.gangs[slot] = g
		}
		for i := range g.pods {
			if s.pods[g.pod(i)] == nil && s.draw.IntN(10) < 7 {
				c := crew{space: g.space, name: g.name, pods: g.pods, least: g.pods, gpus: g.gpus, priority: g.priority}
				pod := c.list()[i]
				pod.UID, pod.CreationTimestamp = types.UID(s.next()), metav1.NewTime(now)
				pod.Annotations[mirror.EstimateAnnotation] = g.run.String()
				s.pods[g.pod(i)] = pod
			}
		}
	}
	if s.draw.IntN(5) == 0 {
		s.repair()
	}
}

// repair undoes what others have damaged.
func (s *soak) repair() {
	s.orders = switchTo("live")
	if s.ledger != nil && s.ledger.Data[stopsKey] == soakGarbage {
		s.ledger, s.stops = nil, nil // whoever deletes the ledger lets it begin anew
	}
	for i := range 6 {
		name := fmt.Sprintf("n%d", i)
		fresh := node(name, 8, nil)
		if n := s.nodes[name]; n == nil {
			s.nodes[name] = fresh
		} else {
			n.Spec, n.Status = fresh.Spec, fresh.Status
		}
	}
	for _, g := range s.gangs {
		g.budget = false
		if !g.garbage {
			continue
		}
		g.garbage = false
		for i := range g.pods {
			if pod := s.pods[g.pod(i)]; pod != nil {
				pod.Annotations[mirror.EstimateAnnotation] = g.run.String()
				pod.Annotations[soakLeast] = fmt.Sprint(g.pods)
				delete(pod.Annotations, mirror.MaxWorkersAnnotation)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.pods)) {
		if s.gangOf(s.pods[key]) == nil {
			delete(s.pods, key)
		}
	}
}

func (s *soak) control(m *corev1.ConfigMap) { s.orders = m }

func quantity(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

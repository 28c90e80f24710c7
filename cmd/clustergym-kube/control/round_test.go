package control

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// noon is the time at which the tests of this package read the cluster.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

const gpu = corev1.ResourceName("nvidia.com/gpu")

var reading = mirror.Config{
	Schedulers: []string{"clustergym"}, GPU: gpu, TypeLabel: "type", RackLabel: "rack", Epoch: time.Unix(0, 0),
}

func decider(t testing.TB, name string) *decide.Decider {
	t.Helper()
	source := must.Get(new(policy.Finder).Find(name))(t)
	d := must.Get(decide.New(decide.Config{Source: source, Deadline: time.Minute}))(t)
	return d
}

func node(name string, gpus int64, labels map[string]string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{gpu: *resource.NewQuantity(gpus, resource.DecimalSI), "pods": resource.MustParse("110")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// crew is a gang defined by labels, whose pods each have the given number of GPUs. Some pods may have nodes already.
type crew struct {
	space    string // namespace, default if empty
	name     string
	pods     int
	least    int
	gpus     int64
	priority int32
	on       []string // nodes of the first pods
	asked    time.Duration
	extra    map[string]string // annotations
	selector map[string]string // node selector
	open     bool              // it is a training job whose size nobody states
}

func (g crew) list() (all []*corev1.Pod) {
	for i := range g.pods {
		name := fmt.Sprintf("%s-%d", g.name, i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: cmp.Or(g.space, "default"), Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-g.asked)),
				Labels:      map[string]string{pods.GroupLabel: g.name},
				Annotations: map[string]string{pods.MinMemberNote: fmt.Sprint(g.least), pods.EstimateNote: "1h"},
			},
			Spec: corev1.PodSpec{
				SchedulerName: "clustergym", Priority: &g.priority, NodeSelector: g.selector,
				Containers: []corev1.Container{{Name: "c", Image: "c", Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{gpu: *resource.NewQuantity(g.gpus, resource.DecimalSI)},
				}}},
			},
		}
		maps.Copy(pod.Annotations, g.extra)
		if g.open {
			pod.Labels = map[string]string{"training.kubeflow.org/job-name": g.name}
			delete(pod.Annotations, pods.MinMemberNote)
		}
		if i < len(g.on) {
			pod.Spec.NodeName = g.on[i]
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: noon.Add(-time.Minute)}}
		}
		all = append(all, pod)
	}
	return all
}

func view(t rapid.TB, nodes []*corev1.Node, crews []crew, offer int32) (*mirror.View, *mirror.Objects) {
	t.Helper()
	o := &mirror.Objects{Nodes: nodes, Offer: offer, ReclaimBy: noon}
	for _, g := range crews {
		o.Pods = append(o.Pods, g.list()...)
	}
	v := must.Get(mirror.Build(o, &reading, noon))(t)
	return v, o
}

// draw draws nodes and gangs. Some gangs run, some are partly bound, and some are on a node of a type on which they could not be
// placed.
func draw(t *rapid.T) (nodes []*corev1.Node, crews []crew) {
	free := map[string]int64{}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		name := fmt.Sprintf("n%d", i)
		free[name] = int64(rapid.SampledFrom([]int{0, 2, 4, 8}).Draw(t, "GPUs"))
		labels := map[string]string{"type": rapid.SampledFrom([]string{"A", "A", "B"}).Draw(t, "type")}
		if rapid.IntRange(0, 4).Draw(t, "inference") == 0 {
			labels[mirror.PoolLabel] = mirror.InferencePool
		}
		nodes = append(nodes, node(name, free[name], labels))
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "gangs") {
		g := crew{
			name: fmt.Sprintf("g%d", i), pods: rapid.IntRange(1, 5).Draw(t, "pods"), gpus: rapid.Int64Range(1, 3).Draw(t, "GPUs a pod"),
			priority: rapid.Int32Range(0, 2).Draw(t, "priority"), asked: time.Duration(rapid.IntRange(1, 100).Draw(t, "asked")) * time.Hour,
		}
		g.least = rapid.IntRange(1, g.pods).Draw(t, "least")
		for range rapid.IntRange(0, g.pods).Draw(t, "bound") {
			n := rapid.SampledFrom(nodes).Draw(t, "on")
			if n.Labels[mirror.PoolLabel] == "" && free[n.Name] >= g.gpus {
				free[n.Name] -= g.gpus
				g.on = append(g.on, n.Name)
			}
		}
		crews = append(crews, g)
	}
	return nodes, crews
}

// TestRound checks, for several policies, that the changes of a round can be carried out at once: no node gets more than it has,
// gangs start completely, every pod is bound once, and the limits are respected.
func TestRound(t *testing.T) {
	for _, policy := range []string{"fifo", "sjfskip", "srtf", "las", "lyra+loan", "lyra", "prior"} {
		t.Run(policy, func(t *testing.T) {
			d := decider(t, policy)
			rapid.Check(t, func(t *rapid.T) {
				nodes, crews := draw(t)
				v, _ := view(t, nodes, crews, int32(rapid.IntRange(0, 2).Draw(t, "offer")))
				l := limits{
					stops: rapid.IntRange(0, 3).Draw(t, "stops"),
					waits: since(v, rapid.SampledFrom([]time.Duration{0, 24 * time.Hour, 50 * time.Hour}).Draw(t, "starvation")),
				}
				r := decideRound(v, d, "r", l)
				if len(r.failed) > 0 {
					t.Fatalf("not decided: %v", r.failed)
				}
				audit(t, r, nodes, crews, l)
			})
		})
	}
}

// audit checks a round against the objects and the limits.
func audit(t *rapid.T, r *round, nodes []*corev1.Node, crews []crew, l limits) {
	free, lent := map[string]int64{}, map[string]bool{}
	for _, n := range nodes {
		q := n.Status.Allocatable[gpu]
		free[n.Name] = q.Value()
		lent[n.Name] = n.Labels[mirror.PoolLabel] == "" || slices.Contains(r.loan, n.Name)
	}
	of := map[string]crew{}
	for _, g := range crews {
		of["default/"+g.name] = g
		for _, name := range g.on {
			free[name] -= g.gpus
		}
	}
	types := map[string]string{}
	for _, n := range nodes {
		types[n.Name] = n.Labels["type"]
	}
	seen := map[string]bool{}
	for _, b := range r.bind {
		g := of[b.key]
		where := map[string]bool{}
		if len(g.on) > 0 {
			where[types[g.on[0]]] = true
		}
		mixed := false
		for _, name := range g.on {
			mixed = mixed || !where[types[name]]
		}
		for _, x := range b.pods {
			if seen[x.Pod.Name] || x.Pod.Spec.NodeName != "" {
				t.Fatalf("pod %s is bound twice", x.Pod.Name)
			}
			seen[x.Pod.Name] = true
			if free[x.Node] -= g.gpus; free[x.Node] < 0 || !lent[x.Node] {
				t.Fatalf("pod %s goes to %s, which has %d GPUs too few, lent %t", x.Pod.Name, x.Node, -free[x.Node], lent[x.Node])
			}
			where[types[x.Node]] = true
		}
		if len(where) > 1 && !mixed {
			t.Fatalf("gang %s on GPUs of several types: %v", b.key, where)
		}
		if total := len(g.on) + len(b.pods); total < g.least {
			t.Fatalf("gang %s gets %d pods beside %d, want at least %d in all", b.key, len(b.pods), len(g.on), g.least)
		}
	}
	policy := len(r.stop) - r.forced
	if policy > l.stops {
		t.Fatalf("%d gangs stop, want at most %d", policy, l.stops)
	}
	highest := int32(-1)
	for _, g := range crews {
		if len(g.on) < g.least {
			highest = max(highest, g.priority)
		}
	}
	for _, id := range r.stop[:policy] {
		moves := len(r.view.State.Placement(id)) > 0 // the gang continues elsewhere, and no other gang gains
		if j := &r.view.Jobs[id]; !j.Running || highest >= 0 && j.Priority > highest && !moves {
			t.Fatalf("gang %s of priority %d stops for ones of %d, running %t", j.Spec.Name, j.Priority, highest, j.Running)
		}
	}
}

// TestPriorityGoesFirst checks that a gang of higher priority goes first, whatever the policy's order.
func TestPriorityGoesFirst(t *testing.T) {
	nodes := []*corev1.Node{node("a", 4, nil)}
	v, _ := view(t, nodes, []crew{
		{name: "early", pods: 2, least: 2, gpus: 2, asked: 3 * time.Hour},
		{name: "high", pods: 2, least: 2, gpus: 1, priority: 10, asked: time.Hour},
	}, 0)
	r := decideRound(v, decider(t, "fifo"), "r", limits{})
	if len(r.bind) != 1 || r.bind[0].key != "default/high" {
		t.Errorf("bound %+v, want the gang of high priority alone", r.bind)
	}
}

// TestPartIsCompletedFirst checks that a partly bound gang is completed before the policy is asked, with GPUs of the type that it
// has.
func TestPartIsCompletedFirst(t *testing.T) {
	nodes := []*corev1.Node{node("a", 2, map[string]string{"type": "A"}), node("b", 2, map[string]string{"type": "B"}),
		node("c", 1, map[string]string{"type": "A"})}
	v, _ := view(t, nodes, []crew{
		{name: "early", pods: 1, least: 1, gpus: 1, asked: 3 * time.Hour},
		{name: "part", pods: 3, least: 3, gpus: 1, on: []string{"a"}, asked: time.Hour},
	}, 0)
	if len(v.Partial) != 1 {
		t.Fatalf("%d gangs in part, want 1", len(v.Partial))
	}
	r := decideRound(v, decider(t, "fifo"), "r", limits{})
	got := map[string][]string{}
	for _, b := range r.bind {
		for _, x := range b.pods {
			got[b.key] = append(got[b.key], x.Node)
		}
	}
	slices.Sort(got["default/part"])
	if !slices.Equal(got["default/part"], []string{"a", "c"}) || !slices.Equal(got["default/early"], []string{"b"}) {
		t.Errorf("bound %v, want the rest of part on a and c, and early on b", got)
	}
}

// TestSurplusIsBound checks that a running gang gets a newly created pod, up to its maximum, if the policy leaves room for it.
func TestSurplusIsBound(t *testing.T) {
	for _, c := range []struct {
		name string
		g    crew
		want int
	}{
		{"pods of two GPUs", crew{pods: 3, least: 1, gpus: 2, on: []string{"a", "a"}}, 1},
		{"pods of one", crew{pods: 4, least: 1, gpus: 1, on: []string{"a", "a"}}, 2},
		{"pods of one, of an open gang", crew{pods: 4, gpus: 1, on: []string{"a", "a"}, open: true}, 2},
		{"all of an open gang that waits", crew{pods: 4, gpus: 2, open: true}, 4},
		{"none of one for which there is no room", crew{pods: 4, gpus: 3, open: true}, 0},
		{"up to a maximum", crew{pods: 4, least: 1, gpus: 1, on: []string{"a", "a"}, extra: map[string]string{pods.MaxWorkersNote: "3"}}, 1},
		{"not more than there is room for", crew{pods: 9, least: 1, gpus: 3, on: []string{"a", "a"}}, 1},
	} {
		c.g.name, c.g.asked = "g", time.Hour
		v, _ := view(t, []*corev1.Node{node("a", 10, nil)}, []crew{c.g}, 0)
		r := decideRound(v, decider(t, "fifo"), "r", limits{})
		n := 0
		for _, b := range r.bind {
			n += len(b.pods)
		}
		if n != c.want {
			t.Errorf("%s: %d pods bound, want %d", c.name, n, c.want)
		}
	}
}

// TestStartsWaitForStops checks that a gang that needs the GPUs of a stopped gang starts in a later round.
func TestStartsWaitForStops(t *testing.T) {
	nodes := []*corev1.Node{node("a", 4, nil)}
	long := crew{name: "long", pods: 1, least: 1, gpus: 4, on: []string{"a"}, asked: 5 * time.Hour,
		extra: map[string]string{pods.EstimateNote: "100h"}}
	v, _ := view(t, nodes, []crew{long, {name: "short", pods: 1, least: 1, gpus: 4, asked: time.Hour}}, 0)
	r := decideRound(v, decider(t, "srtf"), "r", limits{stops: 1})
	if len(r.stop) != 1 || len(r.bind) != 0 || len(r.later) != 1 {
		t.Errorf("stops %v, binds %v, later %v: want one stop, and the start later", r.stop, r.bind, r.later)
	}
	v, _ = view(t, nodes, []crew{long, {name: "short", pods: 1, least: 1, gpus: 4, asked: time.Hour}}, 0)
	r = decideRound(v, decider(t, "srtf"), "r", limits{})
	if len(r.stop) != 0 || len(r.held) == 0 || r.held[0].Reason != decide.HeldStops {
		t.Errorf("stops %v, held %+v: want the stop held where none is allowed", r.stop, r.held)
	}
}

// TestStopsForOtherNamespaces checks that a short estimate stops no gang of another namespace with the same priority, however the
// policy orders gangs, while gangs of the same namespace or of higher priority go first.
func TestStopsForOtherNamespaces(t *testing.T) {
	nodes := []*corev1.Node{node("a", 4, nil), node("b", 4, nil)}
	long := crew{name: "long", pods: 2, least: 2, gpus: 4, on: []string{"a", "b"}, asked: 5 * time.Hour,
		extra: map[string]string{pods.EstimateNote: "100h"}}
	short := func(space, name string, priority int32) crew {
		return crew{space: space, name: name, pods: 1, least: 1, gpus: 4, asked: time.Hour, priority: priority,
			extra: map[string]string{pods.EstimateNote: "1s"}}
	}
	for _, c := range []struct {
		name   string
		crews  []crew
		across bool
		want   int
	}{
		{"of another namespace", []crew{long, short("other", "short", 0)}, false, 0},
		{"of another namespace, if that is allowed", []crew{long, short("other", "short", 0)}, true, 1},
		{"of its own namespace", []crew{long, short("default", "short", 0)}, false, 1},
		{"of higher priority", []crew{long, short("other", "short", 1)}, false, 1},
		{"of both", []crew{long, short("default", "short", 0), short("other", "too", 0)}, false, 0},
	} {
		v, _ := view(t, nodes, c.crews, 0)
		r := decideRound(v, decider(t, "srtf"), "r", limits{stops: 1, across: c.across})
		if len(r.stop) != c.want {
			t.Errorf("a short gang %s: %d gangs stop, want %d", c.name, len(r.stop), c.want)
		}
		if held := slices.ContainsFunc(r.held, func(h decide.Held) bool { return h.Reason == decide.HeldProtected }); held != (c.want == 0) {
			t.Errorf("a short gang %s: held %+v", c.name, r.held)
		}
	}
}

// TestOverdueNodesAreTakenBack checks that overdue nodes are returned to inference, those with the fewest workers first.
func TestOverdueNodesAreTakenBack(t *testing.T) {
	lent := map[string]string{mirror.PoolLabel: mirror.InferencePool, mirror.LoanedToLabel: mirror.TrainingPool}
	v, _ := view(t, []*corev1.Node{node("a", 4, lent), node("b", 4, lent), node("t", 4, nil)}, []crew{
		{name: "three", pods: 3, least: 3, gpus: 1, on: []string{"a", "a", "a"}, asked: time.Hour},
		{name: "one", pods: 1, least: 1, gpus: 1, on: []string{"b"}, asked: time.Hour},
	}, 1)
	r := decideRound(v, decider(t, "fifo"), "r", limits{})
	if !slices.Equal(r.giveBack, []string{"b"}) || len(r.stop) != 1 || r.view.Jobs[r.stop[0]].Spec.Name != "default/one" || r.forced != 1 {
		t.Errorf("gives back %v and stops %v, want b and the gang on it", r.giveBack, r.stop)
	}
}

// TestObjectivesWakeRounds checks that a policy that decides by an objective wants to be asked when a waiting gang begins to cost.
func TestObjectivesWakeRounds(t *testing.T) {
	d := decider(t, "index")
	d.Objective = must.Get(objectives.Read(strings.NewReader("name: m\nterms: [{cost: wait, over: 10m, price: 1/min}]")))(t)
	v, _ := view(t, []*corev1.Node{node("a", 4, nil)}, []crew{{name: "waits", pods: 5, least: 5, gpus: 1, asked: time.Minute}, {
		name: "runs", pods: 4, least: 4, gpus: 1, on: []string{"a", "a", "a", "a"}, asked: time.Hour,
	}, {name: "fits", pods: 4, least: 4, gpus: 1, asked: 4 * time.Minute}}, 0)
	if r := decideRound(v, d, "r", limits{}); r.wake == nil || *r.wake != v.State.Now()+6*time.Minute {
		t.Errorf("wakes at %v, now %v, want in 6 min", r.wake, v.State.Now())
	}
}

// TestRoundWakes checks that a round reports when the policy wants to be asked again.
func TestRoundWakes(t *testing.T) {
	crews := []crew{{name: "runs", pods: 4, least: 4, gpus: 1, on: []string{"a", "a", "a", "a"}, asked: time.Hour},
		{name: "waits", pods: 4, least: 4, gpus: 1, asked: time.Hour}}
	for policy, want := range map[string]bool{"las": true, "fifo": false} {
		v, _ := view(t, []*corev1.Node{node("a", 4, nil)}, crews, 0)
		if r := decideRound(v, decider(t, policy), "r", limits{}); (r.wake != nil) != want || want && *r.wake <= v.State.Now() {
			t.Errorf("%s wakes at %v, now %v", policy, r.wake, v.State.Now())
		}
	}
}

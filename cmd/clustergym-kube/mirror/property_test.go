package mirror

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
)

var (
	nodeNames = []string{"a", "b", "c", "d", "gone"}
	counts    = []string{"0", "1", "1", "1", "2", "2", "4", "8", "500m", "-1", "16384", "9E", "1n", "-9E"}
	amounts   = []string{"0", "1", "4", "1500m", "16Gi", "-1", "9E", "1n", "123456789123456789123456789"}
	words     = []string{"", "0", "1", "2", "3", "-1", "many", "9999999999999999999", "90m", "inference", "training", "true", "x"}
)

func someQuantity(t *rapid.T, of []string) resource.Quantity {
	q := must.Get(resource.ParseQuantity(rapid.SampledFrom(of).Draw(t, "quantity")))(t)
	return q
}

func someList(t *rapid.T) corev1.ResourceList {
	l := corev1.ResourceList{gpu: someQuantity(t, counts)}
	for _, name := range []corev1.ResourceName{"cpu", "memory", "pods", "example.com/nic"} {
		if rapid.IntRange(0, 4).Draw(t, "has") == 0 {
			l[name] = someQuantity(t, amounts)
		}
	}
	return l
}

// rarely returns true with probability 1/n.
func rarely(t *rapid.T, n int) bool { return rapid.IntRange(1, n).Draw(t, "rarely") == n }

func someWords(t *rapid.T, keys ...string) map[string]string {
	m := map[string]string{}
	for _, key := range keys {
		if rarely(t, 4) {
			m[key] = rapid.SampledFrom(words).Draw(t, key)
		}
	}
	return m
}

func someTime(t *rapid.T) metav1.Time {
	return metav1.NewTime(now.Add(time.Duration(rapid.IntRange(-2000, 2).Draw(t, "hours")) * time.Hour))
}

func someNode(t *rapid.T, name string) *corev1.Node {
	n := aNode(name)
	n.Labels = someWords(t, PoolLabel, LoanedToLabel, ReturningLabel, config().TypeLabel, config().RackLabel, "zone")
	if rarely(t, 3) {
		n.Status.Allocatable = someList(t)
	}
	n.Spec.Unschedulable = rarely(t, 8)
	if rarely(t, 5) {
		n.Spec.Taints = []corev1.Taint{{Key: "zone", Effect: rapid.SampledFrom([]corev1.TaintEffect{
			corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}).Draw(t, "effect")}}
	}
	if rarely(t, 8) {
		n.Status.Conditions = nil
	}
	return n
}

func somePod(t *rapid.T, i int) *corev1.Pod {
	p := aPod(fmt.Sprint("p", i))
	p.CreationTimestamp = someTime(t)
	p.Annotations = someWords(t, pods.MinWorkersNote, pods.MaxWorkersNote, pods.EstimateNote, pods.ModelNote)
	if !rarely(t, 4) {
		p.Labels[pods.GroupLabel] = rapid.SampledFrom([]string{"g", "h", "p1"}).Draw(t, "group")
		p.Annotations[pods.MinMemberNote] = rapid.SampledFrom([]string{"1", "2", "2", "2", "2", "2", "none"}).Draw(t, "least")
	}
	if rarely(t, 6) {
		p.Spec.Containers[0].Resources.Requests = someList(t)
	}
	if rarely(t, 3) {
		p.Spec.SchedulerName = "default-scheduler"
	}
	if rapid.Bool().Draw(t, "bound") {
		p.Spec.NodeName = rapid.SampledFrom(nodeNames).Draw(t, "node")
	}
	p.Status.Phase = rapid.SampledFrom([]corev1.PodPhase{
		corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, "",
	}).Draw(t, "phase")
	if rapid.Bool().Draw(t, "started") {
		at := someTime(t)
		p.Status.StartTime = &at
	}
	if rarely(t, 8) {
		leaving(p)
	}
	if rarely(t, 8) {
		gated(p)
	}
	if rarely(t, 8) {
		selects("zone", rapid.SampledFrom(words).Draw(t, "zone"))(p)
	}
	return p
}

func someObjects(t *rapid.T) *Objects {
	o := &Objects{
		Offer: int32(rapid.IntRange(-1, 4).Draw(t, "offer")), ReclaimBy: someTime(t).Time,
	}
	for _, name := range nodeNames[:rapid.IntRange(0, 4).Draw(t, "nodes")] {
		o.Nodes = append(o.Nodes, someNode(t, name))
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "pods") {
		o.Pods = append(o.Pods, somePod(t, i))
		if rarely(t, 8) {
			o.Pods[i].Spec.NodeName = rapid.SampledFrom(nodeNames).Draw(t, "bound")
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "quotas") {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
		q.Spec.Hard = corev1.ResourceList{"requests." + gpu: someQuantity(t, counts)}
		o.Quotas = append(o.Quotas, q)
	}
	return o
}

// failer is implemented by tests and by rapid.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check checks the invariants of a View.
func check(t failer, o *Objects, c *Config, v *View) {
	t.Helper()
	in := map[types.UID]int{}
	count := func(pods []*corev1.Pod) {
		for _, p := range pods {
			in[p.UID]++
		}
	}
	for i := range v.Jobs {
		count(v.Jobs[i].Bound)
		count(v.Jobs[i].Free)
	}
	for i := range v.Partial {
		count(v.Partial[i].Bound)
		count(v.Partial[i].Free)
	}
	for i := range v.Refused {
		in[v.Refused[i].Pod.UID]++
	}
	for i := range v.Waiting {
		count(v.Waiting[i].Pods)
	}
	for _, p := range o.Pods {
		ours := slices.Contains(c.Schedulers, p.Spec.SchedulerName) && p.DeletionTimestamp == nil &&
			p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
		if want := map[bool]int{true: 1}[ours]; in[p.UID] != want {
			t.Fatalf("pod %s is in %d places, want %d:\n%s", p.Name, in[p.UID], want, tell(v))
		}
	}
	s := v.State
	for id := range cluster.ServerID(s.Servers()) {
		held := int32(0)
		for _, job := range s.Residents(id) {
			held += int32(len(s.GPUsOn(job, id)))
		}
		if spec := s.Server(id); held+s.FreeGPUs(id) != spec.GPUs || s.FreeCPU(id) < 0 || s.FreeMem(id) < 0 {
			t.Fatalf("server %+v: %d GPUs held, %d free, %d CPU milli and %d MiB free", spec, held, s.FreeGPUs(id), s.FreeCPU(id), s.FreeMem(id))
		}
	}
	for i := range v.Jobs {
		j, id := &v.Jobs[i], cluster.JobID(i)
		if j.Running != (s.Phase(id) == cluster.Running) {
			t.Fatalf("job %s is %v and runs: %t", j.Spec.Name, s.Phase(id), j.Running)
		}
		have := map[string]int32{}
		for _, p := range j.Bound {
			have[p.Spec.NodeName] += j.PodGPUs
		}
		for _, p := range s.Placement(id) {
			have[s.Server(p.Server).Name] -= p.Workers
		}
		for node, n := range have {
			if n != 0 {
				t.Fatalf("job %s has %d GPUs more on %s than the State says", j.Spec.Name, n, node)
			}
		}
	}
}

// digest returns a View as text.
func digest(t failer, v *View) string {
	for i := range v.Jobs {
		if !v.Jobs[i].Running {
			v.Submit(cluster.JobID(i))
		}
	}
	var snapshot bytes.Buffer
	if err := v.State.WriteSnapshot(&snapshot); err != nil {
		t.Fatalf("%v", err)
	}
	if _, err := cluster.ReadSnapshot(bytes.NewReader(snapshot.Bytes())); err != nil {
		t.Fatalf("%v:\n%.3000s", err, snapshot.Bytes())
	}
	rest, err := json.Marshal([]any{v.Partial, v.Refused, v.Waiting, v.Jobs})
	if err != nil {
		t.Fatalf("%v", err)
	}
	return snapshot.String() + string(rest)
}

func TestBuildHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someObjects(t)
		v := must.Get(Build(o, config(), now))(t)
		check(t, o, config(), v)
		digest(t, v)
	})
}

func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someObjects(t)
		first := must.Get(Build(o, config(), now))(t)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		other := *o
		other.Nodes, other.Pods, other.Quotas = slices.Clone(o.Nodes), slices.Clone(o.Pods), slices.Clone(o.Quotas)
		rng.Shuffle(len(o.Nodes), func(i, j int) { other.Nodes[i], other.Nodes[j] = other.Nodes[j], other.Nodes[i] })
		rng.Shuffle(len(o.Pods), func(i, j int) { other.Pods[i], other.Pods[j] = other.Pods[j], other.Pods[i] })
		rng.Shuffle(len(o.Quotas), func(i, j int) { other.Quotas[i], other.Quotas[j] = other.Quotas[j], other.Quotas[i] })
		second := must.Get(Build(&other, config(), now))(t)
		if a, b := digest(t, first), digest(t, second); a != b {
			t.Fatalf("another order gives another View:\n%.5000s\n%.5000s", a, b)
		}
	})
}

// FuzzBuild checks that Build accepts any nodes and pods, given as JSON in the form of the API server.
func FuzzBuild(f *testing.F) {
	g := inGang("g", 2)
	for _, o := range []*Objects{
		objects(nodes(aNode("a"), aNode("b", cordoned)), aPod("x", g, on("a")), aPod("y", g, on("b")), aPod("z", foreign, on("a"))),
		objects(nodes(aNode("a", tainted("t", "", corev1.TaintEffectNoSchedule))), aPod("x", selects("zone", "east"), claims("any")), aPod("y", gated)),
		objects(nodes(aNode("a")), aPod("x", requires(corev1.NodeSelectorRequirement{Key: "zone", Operator: "In", Values: []string{"e"}}))),
	} {
		n, err := json.Marshal(o.Nodes)
		p, err2 := json.Marshal(o.Pods)
		if err != nil || err2 != nil {
			f.Fatal(err, err2)
		}
		f.Add(n, p)
	}
	f.Fuzz(func(t *testing.T, n, p []byte) {
		o := withVolumes(objects(nil), aVolume("east", "a"))
		if len(n)+len(p) > 1<<16 || json.Unmarshal(n, &o.Nodes) != nil || json.Unmarshal(p, &o.Pods) != nil {
			t.Skip()
		}
		v := must.Get(Build(o, config(), now))(t)
		for i, pod := range o.Pods { // Kubernetes guarantees unique names
			if pod == nil || slices.ContainsFunc(o.Pods[:i], func(other *corev1.Pod) bool { return ByName(pod, other) == 0 || pod.UID == other.UID }) {
				return
			}
		}
		check(t, o, config(), v)
		digest(t, v)
	})
}

func BenchmarkBuild(b *testing.B) {
	o := &Objects{}
	for i := range 1000 {
		o.Nodes = append(o.Nodes, aNode(fmt.Sprintf("node-%04d", i), labelled("zone", fmt.Sprint(i%10), config().RackLabel, fmt.Sprint(i/32))))
	}
	tolerates := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{
			{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
			{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		}
	}
	for i := range 2000 {
		o.Pods = append(o.Pods, aPod(fmt.Sprint("running-", i), tolerates, inGang(fmt.Sprint("r", i/4), 4), on(fmt.Sprintf("node-%04d", i/4))))
	}
	for i := range 1000 {
		o.Pods = append(o.Pods, aPod(fmt.Sprint("pending-", i), tolerates, selects("zone", fmt.Sprint(i%10))))
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := build(b, o); len(v.Jobs) != 1500 || len(v.State.Running()) != 500 {
			b.Fatalf("%d jobs, %d run", len(v.Jobs), len(v.State.Running()))
		}
	}
}

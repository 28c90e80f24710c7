package mirror

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/env/pods"
	"github.com/clustergym/clustergym/internal/must"
)

// tell describes the gangs of a View, one per line.
func tell(v *View) string {
	var lines []string
	for i := range v.Jobs {
		j := &v.Jobs[i]
		s := &j.Spec
		word := "pending"
		if j.Running {
			word = "running"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %d..%d..%d workers by %d, bound %v, free %v",
			word, s.Name, s.Least(), s.Workers, s.Most(), s.Together(), called(j.Bound), called(j.Free)))
	}
	for i := range v.Partial {
		p := &v.Partial[i]
		lines = append(lines, fmt.Sprintf("partial %s for %v: bound %v, free %v", p.Spec.Name, now.Sub(p.Since), called(p.Bound), called(p.Free)))
	}
	for i := range v.Refused {
		r := &v.Refused[i]
		lines = append(lines, fmt.Sprintf("refused %s: %s", r.Pod.Name, r.Reason))
	}
	for i := range v.Waiting {
		w := &v.Waiting[i]
		lines = append(lines, fmt.Sprintf("waiting %s: %v, %d of %d", w.Group.Name, called(w.Pods), w.Have, w.Want))
	}
	return strings.Join(lines, "\n")
}

func TestGangs(t *testing.T) {
	boundAgo := func(ago time.Duration) change {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
			}}
		}
	}
	eight := asks(gpu, "8", "cpu", "32", "memory", "64Gi")
	g := inGang("g", 2)
	for _, test := range []struct {
		name string
		pods []*corev1.Pod
		want string
	}{
		{"a pod alone is a gang of one", []*corev1.Pod{aPod("a")}, "pending team/a: 1..1..1 workers by 1, bound [], free [a]"},
		{"a pod alone that has a node runs", []*corev1.Pod{aPod("a", on("n1"))}, "running team/a: 1..1..1 workers by 1, bound [a], free []"},
		{"a pod alone is not elastic", []*corev1.Pod{aPod("a", annotated(pods.MaxWorkersNote, "4"))},
			"pending team/a: 1..1..1 workers by 1, bound [], free [a]"},
		{"enough free pods of one GPU are an elastic job", []*corev1.Pod{aPod("a", g), aPod("b", g), aPod("c", g)},
			"pending team/g: 2..3..3 workers by 1, bound [], free [a b c]"},
		{"enough free pods of several GPUs are a rigid job", []*corev1.Pod{aPod("a", g, eight), aPod("b", g, eight), aPod("c", g, eight)},
			"pending team/g: 24..24..24 workers by 8, bound [], free [a b c]"},
		{"max-workers lets it grow beyond its pods", []*corev1.Pod{
			aPod("a", g, annotated(pods.MaxWorkersNote, "9")), aPod("b", g)},
			"pending team/g: 2..2..9 workers by 1, bound [], free [a b]"},
		{"max-workers below the number of pods leaves some over", []*corev1.Pod{
			aPod("a", g, annotated(pods.MaxWorkersNote, "2")), aPod("b", g), aPod("c", g)},
			"pending team/g: 2..2..2 workers by 1, bound [], free [a b c]"},
		{"min-workers is what it starts with", []*corev1.Pod{
			aPod("a", g, annotated(pods.MinWorkersNote, "3")), aPod("b", g), aPod("c", g), aPod("d", g)},
			"pending team/g: 3..4..4 workers by 1, bound [], free [a b c d]"},
		{"and what it waits for", []*corev1.Pod{aPod("a", g, annotated(pods.MinWorkersNote, "3")), aPod("b", g)},
			"waiting g: [a b], 2 of 3"},
		{"min-workers below what must run together is refused", []*corev1.Pod{
			aPod("a", g, annotated(pods.MinWorkersNote, "1")), aPod("b", g)}, "refused a: InvalidAnnotation\nrefused b: InvalidAnnotation"},
		{"too few pods wait", []*corev1.Pod{aPod("a", g)}, "waiting g: [a], 1 of 2"},
		{"gated pods do not count", []*corev1.Pod{aPod("a", g, gated), aPod("b", g)}, "waiting g: [a b], 1 of 2"},
		{"gated pods beyond what it needs wait by themselves", []*corev1.Pod{aPod("a", g), aPod("b", g, gated), aPod("c", g)},
			"pending team/g: 2..2..2 workers by 1, bound [], free [a c]\nwaiting g: [b], 2 of 2"},
		{"enough bound pods run", []*corev1.Pod{aPod("a", g, on("n1")), aPod("b", g, on("n2")), aPod("c", g)},
			"running team/g: 2..3..3 workers by 1, bound [a b], free [c]"},
		{"a rigid gang runs with what is bound", []*corev1.Pod{aPod("a", g, eight, on("n1")), aPod("b", g, eight, on("n2")), aPod("c", g, eight)},
			"running team/g: 16..16..16 workers by 8, bound [a b], free [c]"},
		{"one that runs with fewer than min-workers goes on", []*corev1.Pod{
			aPod("a", g, on("n1"), annotated(pods.MinWorkersNote, "3")), aPod("b", g, on("n2"))},
			"running team/g: 2..2..2 workers by 1, bound [a b], free []"},
		{"one that runs with more than max-workers goes on", []*corev1.Pod{
			aPod("a", g, on("n1"), annotated(pods.MaxWorkersNote, "2")), aPod("b", g, on("n2")), aPod("c", g, on("n2"))},
			"running team/g: 2..3..3 workers by 1, bound [a b c], free []"},
		{"one that runs with an annotation that means nothing goes on", []*corev1.Pod{
			aPod("a", g, on("n1"), annotated(pods.EstimateNote, "soon")), aPod("b", g, on("n2"))},
			"running team/g: 2..2..2 workers by 1, bound [a b], free []"},
		{"one that runs goes on without pods that are unlike it", []*corev1.Pod{
			aPod("a", g, on("n1")), aPod("b", g, on("n2")), aPod("c", g, eight), aPod("d", g)},
			"running team/g: 2..3..3 workers by 1, bound [a b], free [d]\nrefused c: PodsDiffer"},
		{"one that runs goes on though its claim is not known", []*corev1.Pod{aPod("a", g, on("n1"), claims("unknown")), aPod("b", g, on("n2"))},
			"running team/g: 2..2..2 workers by 1, bound [a b], free []"},
		{"too few bound pods are partial", []*corev1.Pod{aPod("a", g, on("n1"), boundAgo(40*time.Minute)), aPod("b", g)},
			"partial team/g for 40m0s: bound [a], free [b]"},
		{"a pod that is being deleted is not bound", []*corev1.Pod{aPod("a", g, on("n1")), aPod("b", g, on("n2"), leaving)},
			"partial team/g for 30m0s: bound [a], free []"},
		{"a pod that failed is not there", []*corev1.Pod{aPod("a", g), aPod("b", g, on("n1"), inPhase(corev1.PodFailed))}, "waiting g: [a], 1 of 2"},
		{"a pod that has succeeded needs no room any more", []*corev1.Pod{
			aPod("a", g, on("n1")), aPod("b", g, on("n1"), inPhase(corev1.PodSucceeded))},
			"running team/g: 1..1..1 workers by 1, bound [a], free []"},
		{"but not one of another controller", []*corev1.Pod{
			aPod("a", g), aPod("b", g, on("n1"), inPhase(corev1.PodSucceeded), ownedBy("last run"))}, "waiting g: [a], 1 of 2"},
		{"a group that nobody knows waits", []*corev1.Pod{aPod("a", g, func(p *corev1.Pod) { clear(p.Annotations) })}, "waiting g: [a], 1 of 1"},
		{"pods must agree on how many they are", []*corev1.Pod{aPod("a", g), aPod("b", inGang("g", 3)), aPod("c", g)},
			"refused a: PodsDiffer\nrefused b: PodsDiffer\nrefused c: PodsDiffer"},
		{"a pod alone and a gang may share a name", []*corev1.Pod{aPod("g"), aPod("x", inGang("g", 1))},
			"pending team/g: 1..1..1 workers by 1, bound [], free [x]\npending team/g (pod): 1..1..1 workers by 1, bound [], free [g]"},
		{"pods of other schedulers are none of our business", []*corev1.Pod{aPod("a", foreign), aPod("b", foreign, on("n1"))}, ""},
		{"pods that have ended are gone", []*corev1.Pod{aPod("a", inPhase(corev1.PodSucceeded)), aPod("b", on("n1"), inPhase(corev1.PodFailed))}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := build(t, objects(nodes(aNode("n1"), aNode("n2")), test.pods...))
			if got := tell(v); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func ownedBy(uid string) change {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(uid), Controller: &yes}}
	}
}

func created(ago time.Duration) change {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(now.Add(-ago)) }
}

// TestGangsWaitFromWhenTheyAreWhole checks that a gang waits from the creation of the pod that completed it. The group's object,
// and pods that waited for that pod, may be older.
func TestGangsWaitFromWhenTheyAreWhole(t *testing.T) {
	group := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"minMember": int64(2)}}}
	group.SetCreationTimestamp(metav1.NewTime(now.Add(-900 * time.Hour)))
	o := objects(nodes(aNode("n1")), aPod("x", inGang("g", 2), created(3*time.Hour)), aPod("y", inGang("g", 2), created(2*time.Hour)),
		aPod("z", inGang("g", 2), created(time.Minute)), aPod("done", inGang("g", 2), created(800*time.Hour), inPhase(corev1.PodFailed)))
	o.Groups.Defined = map[string]func(string, string) *unstructured.Unstructured{
		pods.Plugins: func(string, string) *unstructured.Unstructured { return group },
	}
	if v := build(t, o); len(v.Jobs) != 1 || v.Jobs[0].Spec.Submit != 998*time.Hour {
		t.Errorf("got %s since %v, want one gang since 998h", tell(v), v.Jobs[0].Spec.Submit)
	}
	group.SetAnnotations(map[string]string{pods.MinWorkersNote: "3"}) // an elastic gang needs as many pods as its minimum
	if v := build(t, o); v.Jobs[0].Spec.Submit != 1000*time.Hour-time.Minute {
		t.Errorf("with 3 pods at least since %v, want since the third was made", v.Jobs[0].Spec.Submit)
	}
}

func TestJobsComeInOrderOfSubmission(t *testing.T) {
	g := inGang("g", 2)
	v := build(t, objects(nodes(aNode("n1")),
		aPod("b", created(2*time.Hour)), aPod("a", created(2*time.Hour)), aPod("ahead", created(-time.Hour)),
		aPod("x", g, created(150*time.Minute)), aPod("y", g, created(3*time.Hour))))
	var got []string
	for i := range v.Jobs {
		got = append(got, fmt.Sprint(v.Jobs[i].Spec.Name, " ", v.Jobs[i].Spec.Submit))
	}
	want := []string{"team/g 997h30m0s", "team/a 998h0m0s", "team/b 998h0m0s", "team/ahead 1000h0m0s"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestProgressIsTheTimeSinceEnoughPodsHadStarted(t *testing.T) {
	g := inGang("g", 2)
	v := build(t, objects(nodes(aNode("n1")),
		aPod("a", g, started(50*time.Minute), on("n1")), aPod("b", g, started(20*time.Minute), on("n1")),
		aPod("c", g, started(10*time.Minute), on("n1")), aPod("old", started(2000*time.Hour), on("n1"))))
	for name, want := range map[string][2]time.Duration{
		"team/g":   {20 * time.Minute, 60 * time.Minute},
		"team/old": {2000 * time.Hour, 1000 * time.Hour}, // GPU time counts only after the epoch
	} {
		for _, id := range v.State.Running() {
			if v.Jobs[id].Spec.Name != name {
				continue
			}
			if p, a := v.State.Progress(id), v.State.Attained(id); p != want[0] || a != want[1] || v.State.Rate(id) != 1 {
				t.Errorf("%s: progress %v, GPU time %v at rate %v, want %v at rate 1", name, p, a, v.State.Rate(id), want)
			}
		}
	}
	if n := len(v.State.Running()); n != 2 || v.State.Now() != now.Sub(epoch) {
		t.Errorf("%d jobs run at %v, want 2 at %v", n, v.State.Now(), now.Sub(epoch))
	}
}

func TestGPUTimeDoesNotOverflow(t *testing.T) {
	big := aNode("n1", func(n *corev1.Node) { n.Status.Allocatable = list(gpu, "16384") })
	v := build(t, objects(nodes(big), aPod("a", asks(gpu, "16384"), started(900*time.Hour), on("n1"))))
	if p, a := v.State.Progress(0), v.State.Attained(0); p != 900*time.Hour || a < 72*365*24*time.Hour || a > 74*365*24*time.Hour {
		t.Errorf("progress %v, GPU time %v, want 900h and 73 years", p, a)
	}
}

func TestTermsOfAJob(t *testing.T) {
	c := config()
	c.Estimate = time.Hour
	v, err := Build(objects(nodes(aNode("n1")), aPod("a", asks(gpu, "3", "cpu", "10", "memory", "10Gi")),
		aPod("b", annotated(pods.EstimateNote, "90m"), annotated(pods.ModelNote, "resnet"))), c, now)
	must.Do(t, err)
	a, b := &v.Jobs[0].Spec, &v.Jobs[1].Spec
	if a.Request.CPUMilli != 3334 || a.Request.MemMiB != 3414 || a.Workers != 3 || a.Tensor != 3 || a.Estimate != time.Hour || a.Tenant != "team" {
		t.Errorf("got %+v", a)
	}
	if b.Estimate != 90*time.Minute || b.Model != "resnet" {
		t.Errorf("got %+v", b)
	}
}

package mirror

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/env/cluster"
)

// room describes each server: its free GPUs, all its GPUs, and its special states.
func room(v *View) string {
	var all []string
	for id := range cluster.ServerID(v.State.Servers()) {
		s := v.State.Server(id)
		text := fmt.Sprintf("%s %d/%d", s.Name, v.State.FreeGPUs(id), s.GPUs)
		if s.Pool == cluster.Inference {
			text += " inference"
		}
		if v.State.OnLoan(id) {
			text += " on loan"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func TestRoomOnNodes(t *testing.T) {
	gpus := func(n string) change { return asks(gpu, n) }
	allocatable := func(pairs ...string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Status.Allocatable = list(pairs...) }
	}
	notReady := func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }
	silent := func(n *corev1.Node) { n.Status.Conditions = nil }
	deleted := func(n *corev1.Node) { t := metav1.NewTime(now); n.DeletionTimestamp = &t }
	inference, loaned := labelled(PoolLabel, InferencePool), labelled(LoanedToLabel, TrainingPool)
	g := inGang("g", 2)
	for _, test := range []struct {
		name  string
		nodes []*corev1.Node
		pods  []*corev1.Pod
		want  string
	}{
		{"nodes are servers in the order of names", nodes(aNode("b"), aNode("a")), nil, "a 8/8, b 8/8"},
		{"a node without GPUs is none", nodes(aNode("a", allocatable("cpu", "4")), aNode("b")), nil, "b 8/8"},
		{"without nodes there is a server that is none", nil, nil, "(no node) 0/0"},
		{"pods of other schedulers hold GPUs", nodes(aNode("a")), []*corev1.Pod{aPod("x", foreign, gpus("3"), on("a"))}, "a 5/5"},
		{"unless they have ended", nodes(aNode("a")), []*corev1.Pod{aPod("x", foreign, gpus("3"), on("a"), inPhase(corev1.PodSucceeded))}, "a 8/8"},
		{"of a gang that ends all pods hold GPUs until the last has ended", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a")), aPod("y", g, gpus("3"), on("b"), ended(2*time.Second))}, "a 5/8, b 5/5"},
		{"by clocks that differ a little", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a")), aPod("y", g, gpus("3"), on("b"), ended(-2*time.Second))}, "a 5/8, b 5/5"},
		{"but not for long", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a")), aPod("y", g, gpus("3"), on("b"), ended(6*time.Second))}, "a 5/8, b 8/8"},
		{"not if nobody knows since when", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a")), aPod("y", g, gpus("3"), on("b"), inPhase(corev1.PodSucceeded))}, "a 5/8, b 8/8"},
		{"not if others take the places of those that end", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a")), aPod("y", g, gpus("3"), on("b"), ended(time.Second)), aPod("z", g, gpus("3"))}, "a 5/8, b 8/8"},
		{"and not once all have ended", nodes(aNode("a"), aNode("b")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a"), ended(0)), aPod("y", g, gpus("3"), on("b"), ended(time.Second))}, "a 8/8, b 8/8"},
		{"pods that are being deleted hold GPUs", nodes(aNode("a")), []*corev1.Pod{aPod("x", gpus("3"), on("a"), leaving)}, "a 5/5"},
		{"partial gangs hold GPUs", nodes(aNode("a")), []*corev1.Pod{aPod("x", g, gpus("3"), on("a"))}, "a 5/5"},
		{"refused pods hold GPUs", nodes(aNode("a")), []*corev1.Pod{aPod("x", asks(gpu, "3", "example.com/x", "1"), on("a"))}, "a 5/5"},
		{"pods of a group that nobody knows hold GPUs", nodes(aNode("a")), []*corev1.Pod{
			aPod("x", g, gpus("3"), on("a"), func(p *corev1.Pod) { clear(p.Annotations) })}, "a 5/5"},
		{"init containers count", nodes(aNode("a")), []*corev1.Pod{aPod("x", foreign, on("a"), func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list(gpu, "6")}}}
		})}, "a 2/2"},
		{"running gangs hold GPUs of the State", nodes(aNode("a")), []*corev1.Pod{aPod("x", gpus("3"), on("a"))}, "a 5/8"},
		{"a node that others have overcommitted has nothing free", nodes(aNode("a")), []*corev1.Pod{
			aPod("x", foreign, gpus("9"), on("a")), aPod("y", gpus("2"), on("a"))}, "a 0/2"},
		{"a node that is cordoned has what runs there", nodes(aNode("a", cordoned), aNode("b", cordoned)), []*corev1.Pod{
			aPod("y", gpus("2"), on("a"))}, "a 0/2, b 0/0"},
		{"so has one that is not ready", nodes(aNode("a", notReady), aNode("b", silent)), []*corev1.Pod{aPod("y", gpus("2"), on("a"))}, "a 0/2, b 0/0"},
		{"one that is being deleted", nodes(aNode("a", deleted)), []*corev1.Pod{aPod("y", gpus("2"), on("a"))}, "a 0/2"},
		{"one that is gone", nodes(aNode("b")), []*corev1.Pod{aPod("y", gpus("2"), on("a"))}, "a 0/2, b 8/8"},
		{"one that has lost its GPUs", nodes(aNode("a", allocatable("cpu", "8"))), []*corev1.Pod{aPod("y", gpus("2"), on("a"))}, "a 0/2"},
		{"one on loan without GPUs stays on loan", nodes(aNode("a", inference, loaned, allocatable("cpu", "8")), aNode("b")), nil,
			"a 0/0 inference on loan, b 8/8"},
		{"one that is being returned", nodes(aNode("a", inference, loaned, labelled(ReturningLabel, "true"))), []*corev1.Pod{
			aPod("y", gpus("2"), on("a"))}, "a 0/2 inference on loan"},
		{"one without free pod slots", nodes(aNode("a", allocatable(gpu, "8", "pods", "2"))), []*corev1.Pod{
			aPod("y", gpus("2"), on("a")), aPod("z", foreign, asks(), on("a"))}, "a 0/2"},
		{"each free GPU needs a pod slot", nodes(aNode("a", allocatable(gpu, "8", "pods", "4"))), []*corev1.Pod{
			aPod("y", gpus("2"), on("a"))}, "a 3/5"},
		{"absurd numbers of GPUs are cut", nodes(aNode("a", allocatable(gpu, "9E")), aNode("b", allocatable(gpu, "-3"))), nil, "a 16384/16384"},
		{"more GPUs than a node can have are refused", nodes(aNode("a")), []*corev1.Pod{
			aPod("y", gpus("16384"), on("a")), aPod("z", gpus("1"), on("a"))}, "a 0/16384"},
		{"the inference pool lends what it does not use", nodes(aNode("a", inference), aNode("b", inference)), []*corev1.Pod{
			aPod("x", foreign, on("a"))}, "b 8/8 inference"},
		{"what is on loan is on loan", nodes(aNode("a", inference, loaned), aNode("b", inference)), []*corev1.Pod{
			aPod("x", foreign, on("a"))}, "a 7/7 inference on loan, b 8/8 inference"},
		{"where gangs run without a loan counts as on loan and takes no more pods", nodes(aNode("a", inference)), []*corev1.Pod{
			aPod("x", on("a")), aPod("y", foreign, on("a"))}, "a 0/1 inference on loan"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := room(build(t, objects(test.nodes, test.pods...))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCPUAndMemoryOfNodes(t *testing.T) {
	sidecar := func(p *corev1.Pod) {
		always := corev1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []corev1.Container{{
			RestartPolicy: &always, Resources: corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi")},
		}}
		p.Spec.Overhead = list("cpu", "500m")
	}
	podLevel := func(p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: list("cpu", "20", "memory", "200Gi")}
	}
	for _, test := range []struct {
		name     string
		pods     []*corev1.Pod
		cpu, mem int64 // free amounts
	}{
		{"nothing runs", nil, 64000, 512 << 10},
		{"others hold some", []*corev1.Pod{aPod("x", foreign, on("a"))}, 60000, 496 << 10},
		{"sidecars and overhead count", []*corev1.Pod{aPod("x", foreign, sidecar, on("a"))}, 58500, 495 << 10},
		{"what is asked for the whole pod counts", []*corev1.Pod{aPod("x", foreign, podLevel, on("a"))}, 44000, 312 << 10},
		{"running gangs hold some", []*corev1.Pod{aPod("x", sidecar, on("a"))}, 58500, 495 << 10},
		{"a gang that holds too much runs all the same", []*corev1.Pod{aPod("x", asks(gpu, "1", "cpu", "900", "memory", "9Ti"), on("a"))}, 0, 0},
		{"also where others do", []*corev1.Pod{aPod("x", on("a")), aPod("y", foreign, asks("cpu", "900", "memory", "9Ti"), on("a"))}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := build(t, objects(nodes(aNode("a")), test.pods...))
			if cpu, mem := v.State.FreeCPU(0), v.State.FreeMem(0); cpu != test.cpu || mem != test.mem {
				t.Errorf("%d CPU milli and %d MiB are free, want %d and %d", cpu, mem, test.cpu, test.mem)
			}
		})
	}
	v := build(t, objects(nodes(aNode("a", func(n *corev1.Node) { n.Status.Allocatable = list(gpu, "8") }))))
	if s := v.State.Server(0); s.CPUMilli != cluster.Unlimited || s.MemMiB != cluster.Unlimited {
		t.Errorf("%+v, want no bound that the node does not state", s)
	}
}

func TestTypesAndRacks(t *testing.T) {
	kind, rack := config().TypeLabel, config().RackLabel
	g := inGang("g", 2)
	v := build(t, objects(nodes(
		aNode("a", labelled(kind, "H100", rack, "r9")), aNode("b", labelled(kind, "A100", rack, "r10")), aNode("c", labelled(rack, "r9")),
		aNode("d", labelled(kind, "no|type")),
	), aPod("x", g, on("a")), aPod("y", g, on("b")), aPod("z")))
	var got []string
	for id := range cluster.ServerID(v.State.Servers()) {
		s := v.State.Server(id)
		got = append(got, fmt.Sprintf("%s %q %d", s.Name, s.GPUType, s.Rack))
	}
	if text := strings.Join(got, ", "); text != `a "H100" 2, b "A100" 1, c "" 2, d "" 0` {
		t.Errorf("got %s", text)
	}
	if !v.Jobs[0].Spec.Mixed || v.Jobs[1].Spec.Mixed {
		t.Errorf("%s mixed: %t, %s mixed: %t, want only the one that runs on two types",
			v.Jobs[0].Spec.Name, v.Jobs[0].Spec.Mixed, v.Jobs[1].Spec.Name, v.Jobs[1].Spec.Mixed)
	}
}

func TestManyTypes(t *testing.T) {
	var all []*corev1.Node
	for i := range 40 {
		all = append(all, aNode(fmt.Sprint("n", 10+i), labelled(config().TypeLabel, fmt.Sprint("t", 10+i))))
	}
	v := build(t, objects(all))
	if n := len(v.State.Types()); n != 16 || v.State.Server(14).GPUType != "t24" || v.State.Server(15).GPUType != "" {
		t.Errorf("%d types, %+v, %+v: want 15 of them known", n, v.State.Server(14), v.State.Server(15))
	}
}

func TestGPUsGoByJobOnEveryServer(t *testing.T) {
	g := inGang("g", 2)
	v := build(t, objects(nodes(aNode("a"), aNode("b")), aPod("x", g, on("a")), aPod("y", g, on("b")),
		aPod("z", on("b"), asks(gpu, "2")), aPod("e", on("a"))))
	var got []string
	for i := range v.Jobs {
		id := cluster.JobID(i)
		got = append(got, fmt.Sprint(v.Jobs[i].Spec.Name, v.State.GPUsOn(id, 0), v.State.GPUsOn(id, 1)))
	}
	if text := strings.Join(got, ", "); text != "team/e[0] [], team/g[1] [0], team/z[] [1 2]" {
		t.Errorf("got %s", text)
	}
}

func TestQuotas(t *testing.T) {
	quota := func(namespace, hard string, change ...func(*corev1.ResourceQuota)) *corev1.ResourceQuota {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		q.Spec.Hard = list("requests."+gpu, hard)
		for _, f := range change {
			f(q)
		}
		return q
	}
	scoped := func(q *corev1.ResourceQuota) {
		q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	}
	for _, test := range []struct {
		name   string
		quotas []*corev1.ResourceQuota
		pods   []*corev1.Pod
		want   int64 // GPUs, -1 for no limit
	}{
		{"none", nil, nil, -1},
		{"the least of several", []*corev1.ResourceQuota{quota("team", "9"), quota("team", "5"), quota("team", "7")}, nil, 5},
		{"of this namespace", []*corev1.ResourceQuota{quota("other", "9")}, nil, -1},
		{"of all pods", []*corev1.ResourceQuota{quota("team", "0", scoped)}, nil, -1},
		{"less what others hold", []*corev1.ResourceQuota{quota("team", "5")}, []*corev1.Pod{aPod("x", foreign, asks(gpu, "3"), on("a"))}, 2},
		{"never below 0", []*corev1.ResourceQuota{quota("team", "5")}, []*corev1.Pod{aPod("x", foreign, asks(gpu, "6"), on("a"))}, 0},
		{"never below what runs", []*corev1.ResourceQuota{quota("team", "5")}, []*corev1.Pod{aPod("x", asks(gpu, "6"), on("a"))}, 6},
		{"absurd", []*corev1.ResourceQuota{quota("team", "8E")}, nil, 1<<31 - 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := objects(nodes(aNode("a")), append(test.pods, aPod("job", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(epoch) }))...)
			o.Quotas = test.quotas
			v := build(t, o)
			v.Submit(0)
			got := v.State.Quota(0)
			if got >= 0 {
				got /= cluster.WholeGPU
			}
			if got != test.want {
				t.Errorf("%s may have %d GPUs, want %d", v.Jobs[0].Spec.Name, got, test.want)
			}
		})
	}
}

func TestOffer(t *testing.T) {
	loan := labelled(PoolLabel, InferencePool, LoanedToLabel, TrainingPool)
	o := objects(nodes(aNode("a", loan), aNode("b", loan)), aPod("x", on("b")))
	o.Offer, o.ReclaimBy = 1, now.Add(time.Minute)
	v := build(t, o)
	owed, by := v.State.Owed()
	if v.State.Lent() != 2 || owed != 1 || by != o.ReclaimBy.Sub(epoch) {
		t.Errorf("%d lent, %d owed by %v, want 2, 1 and %v", v.State.Lent(), owed, by, o.ReclaimBy.Sub(epoch))
	}
}

func TestTheClockMustBeNearTheEpoch(t *testing.T) {
	for _, at := range []time.Time{{}, epoch.Add(-1), epoch.AddDate(101, 0, 0), epoch.AddDate(1000, 0, 0)} {
		if _, err := Build(objects(nil), config(), at); err == nil {
			t.Errorf("a View of %v, want an error", at)
		}
	}
}

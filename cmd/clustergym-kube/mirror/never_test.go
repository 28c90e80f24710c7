package mirror

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// bare returns a node with 8 GPUs, of the given type if it is not "", and with no information about CPU and memory.
func bare(name, kind string) *corev1.Node {
	return aNode(name, labelled(config().TypeLabel, kind), func(n *corev1.Node) { n.Status.Allocatable = list(gpu, "8") })
}

// of sets a controller of the given kind as the pod's owner.
func of(kind string) change {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, UID: types.UID("owner"), Controller: &yes}}
	}
}

// TestNever checks that Never says why a gang can never start, in terms of Kubernetes, and is empty for a gang that only waits.
func TestNever(t *testing.T) {
	inference := labelled(PoolLabel, InferencePool)
	pods := func(n int, changes ...change) (all []*corev1.Pod) {
		for i := range n {
			all = append(all, aPod("x"+string(rune('0'+i)), append([]change{inGang("g", n)}, changes...)...))
		}
		return all
	}
	with := func(own []*corev1.Pod, others ...*corev1.Pod) []*corev1.Pod { return append(own, others...) }
	for _, test := range []struct {
		name  string
		nodes []*corev1.Node
		pods  []*corev1.Pod
		offer int32
		quota string
		want  string // part of the reason, "" for none
	}{
		{"it waits for room", nodes(aNode("a")), with(pods(2, asks(gpu, "4")), aPod("y", asks(gpu, "8"), on("a"))), 0, "", ""},
		{"or for pods of other schedulers", nodes(aNode("a")), with(pods(2, asks(gpu, "4")), aPod("y", foreign, on("a"))), 0, "", ""},
		{"or for pods that are leaving", nodes(aNode("a")), with(pods(1, asks(gpu, "8")), aPod("y", asks(gpu, "8"), leaving, on("a"))), 0, "", ""},
		{"but not for what stays with the node", nodes(aNode("a")), with(pods(1, asks(gpu, "8", "cpu", "62")),
			aPod("y", foreign, asks("cpu", "4"), of("DaemonSet"), on("a"))), 0, "",
			"each pod asks for 8 GPUs, 62000m CPU and 0Mi of memory, and no node of the 1 that will do has all of that"},
		{"a typo in a selector", nodes(aNode("a"), aNode("b", cordoned)), pods(2, selects("zone", "est")), 0, "",
			"no node with GPUs will do, because of nodes that are cordoned, not ready, being returned or being deleted (1), " +
				"the pods' node selector or required node affinity (1)"},
		{"a taint", nodes(aNode("a", tainted("t", "", corev1.TaintEffectNoSchedule))), pods(1), 0, "", "because of taints that the pods do not tolerate (1)"},
		{"no nodes", nil, pods(1), 0, "", "no node has GPUs"},
		{"pods that are too large", nodes(aNode("a"), aNode("b")), pods(1, asks(gpu, "16")), 0, "",
			"each pod asks for 16 GPUs, and no node of the 2 that will do has more than 8"},
		{"more pods than nodes hold", nodes(aNode("a"), aNode("b")), pods(5, asks(gpu, "4")), 0, "",
			"it needs at least 5 pods of 4 GPUs at once, and the nodes that will do (2) take 4 such pods when they are empty"},
		{"pods that leave a rest on each node", nodes(aNode("a"), aNode("b")), pods(3, asks(gpu, "5")), 0, "", "take 2 such pods"},
		{"GPUs of two types", nodes(bare("a", "A"), bare("b", "B")), pods(3, asks(gpu, "4")), 0, "", "take 2 such pods"},
		{"more than the namespace may hold", nodes(aNode("a")), pods(5), 0, "4",
			"it needs at least 5 pods of 1 GPU at once, and the resource quotas of namespace team allow 4 GPUs"},
		{"as much as it may", nodes(aNode("a")), with(pods(4), aPod("y", on("a"))), 0, "4", ""},
		{"nodes that inference offers", nodes(aNode("a"), aNode("b", inference), aNode("c", inference)), pods(2, asks(gpu, "8")), 1, "", ""},
		{"and no more of them", nodes(aNode("a"), aNode("b", inference), aNode("c", inference)), pods(3, asks(gpu, "8")), 1, "", "take 2 such"},
		{"nodes that it does not offer", nodes(aNode("b", inference)), pods(1), 0, "",
			"because of nodes of inference, none of which may be on loan (1)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := objects(test.nodes, test.pods...)
			o.Offer = test.offer
			if test.quota != "" {
				q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
				q.Spec.Hard = list("requests."+gpu, test.quota)
				o.Quotas = append(o.Quotas, q)
			}
			v := build(t, o)
			at := slices.IndexFunc(v.Jobs, func(j Job) bool { return !j.Running })
			if at < 0 {
				t.Fatalf("nothing waits: %s", tell(v))
			}
			if got := v.Jobs[at].Never; (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestElasticGangsAskForWhatThereIs checks that an elastic gang with more pods than could ever fit asks for as many workers as
// could fit.
func TestElasticGangsAskForWhatThereIs(t *testing.T) {
	var pods []*corev1.Pod
	for i := range 12 {
		pods = append(pods, aPod("x"+string(rune('a'+i)), inGang("g", 2)))
	}
	v := build(t, objects(nodes(aNode("n")), pods...))
	if j := &v.Jobs[0]; j.Never != "" || j.Spec.Workers != 8 || j.Spec.Least() != 2 || j.Spec.Most() != 12 || j.Spec.Validate() != nil {
		t.Errorf("got %+v, %q, want 2 to 12 workers around 8", j.Spec, j.Never)
	}
}

// TestNeverIsWhatEmptyNodesSay checks that a gang can never start if and only if it cannot start in a cluster where nothing runs.
func TestNeverIsWhatEmptyNodesSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := someObjects(t)
		v := must.Get(Build(o, config(), now))(t)
		empty := *o
		empty.Pods = slices.DeleteFunc(slices.Clone(o.Pods), func(p *corev1.Pod) bool {
			return p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded
		})
		seen := func(n *corev1.Node) bool {
			for id := range cluster.ServerID(v.State.Servers()) {
				if v.State.Server(id).Name == n.Name {
					return true
				}
			}
			return false
		}
		empty.Nodes = slices.DeleteFunc(slices.Clone(o.Nodes), func(n *corev1.Node) bool { return !seen(n) }) // inference uses it

		lent := map[string]bool{} // nodes that are on loan stay so while nothing runs
		for id := range cluster.ServerID(v.State.Servers()) {
			if v.State.OnLoan(id) {
				lent[v.State.Server(id).Name] = true
			}
		}
		empty.Offer = max(o.Offer, int32(len(lent)))
		for i := range v.Jobs {
			if j := &v.Jobs[i]; !j.Running {
				if could := couldStart(t, &empty, j.Free[0], lent); could != (j.Never == "") {
					t.Fatalf("%s could start where nothing runs: %t, but it says %q", j.Spec.Name, could, j.Never)
				}
			}
		}
	})
}

// couldStart tries to start the gang of a pod on each set of servers that may be open at the same time. Those in lent are always
// open.
func couldStart(t *rapid.T, o *Objects, pod *corev1.Pod, lent map[string]bool) bool {
	v := must.Get(Build(o, config(), now))(t)
	at := slices.IndexFunc(v.Jobs, func(j Job) bool { return slices.Contains(j.Free, pod) })
	if at < 0 {
		t.Fatalf("no gang of pod %s among %s", pod.Name, tell(v))
	}
	id, s := cluster.JobID(at), v.State
	v.Submit(id)
	for open := range 1 << s.Servers() {
		tx, closed := s.Begin(nil), false
		for server := range s.Servers() {
			closed = closed || open>>server&1 == 0 && lent[s.Server(cluster.ServerID(server)).Name]
			if open>>server&1 != 0 {
				_ = tx.Loan(cluster.ServerID(server)) // fails if the server may not be lent
			}
		}
		room := s.Room(id, s.Spec(id).Request, make([]int32, s.Servers()))
		tx.Rollback(0)
		tx.End()
		if !closed && room >= int64(s.Spec(id).Least()) {
			return true
		}
	}
	return false
}

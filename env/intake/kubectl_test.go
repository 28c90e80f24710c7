package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/formattest"
)

func kubeList(items ...string) string {
	return `{"kind":"List","items":[` + strings.Join(items, ",\n") + `]}`
}

// kubeNode returns a ready node. more is text at the end of its spec.
func kubeNode(name string, gpus int, more string) string {
	return fmt.Sprintf(`{"kind":"Node","metadata":{"name":%q,"labels":{"nvidia.com/gpu.product":"A100","disk":"fast","n":"%d"}},"spec":{"providerID":"x"%s},
"status":{"allocatable":{"nvidia.com/gpu":"%d","cpu":"32","memory":"256Gi"},"conditions":[{"type":"Ready","status":"True"}]}}`,
		name, gpus, more, gpus)
}

// kubePod returns a pod with the given number of GPUs, on a node if node is not "". meta and spec are more text at their ends.
func kubePod(name string, gpus int, node, meta, spec string) string {
	phase := "Pending"
	if node != "" {
		phase = "Running"
	}
	return fmt.Sprintf(`{"kind":"Pod","metadata":{"name":%q,"namespace":"a","creationTimestamp":"2026-11-24T06:00:00Z"%s},
"spec":{"nodeName":%q,"containers":[{"resources":{"requests":{"nvidia.com/gpu":"%d","cpu":"%d","memory":"%dGi"}}}]%s},
"status":{"phase":%q,"startTime":"2026-11-24T07:00:00Z"}}`, name, meta, node, gpus, gpus, gpus, spec, phase)
}

const (
	ownedByJob      = `,"ownerReferences":[{"kind":"Job","name":"j","uid":"1","controller":true}]`
	ownedByTraining = `,"ownerReferences":[{"kind":"PyTorchJob","name":"j","uid":"3","controller":true}]`
	ownedByReplica  = `,"ownerReferences":[{"kind":"ReplicaSet","name":"r","uid":"2","controller":true}]`
)

func inGroup(least string) string {
	return `,"labels":{"scheduling.x-k8s.io/pod-group":"g"},"annotations":{"clustergym.dev/min-member":"` + least + `"}`
}

// podGroupOf returns the group g, of the API with the given version and spec.
func podGroupOf(version, spec string) string {
	return `{"kind":"PodGroup","apiVersion":"` + version + `","metadata":{"name":"g","namespace":"a"},"spec":{` + spec + `}}`
}

func TestPodsBecomeJobs(t *testing.T) {
	n8, native := kubeNode("n", 8, ""), `,"schedulingGroup":{"podGroupName":"g"}`
	for _, c := range []struct {
		name  string
		items []string
		want  string
		notes []string
	}{
		{"pods alone", []string{n8, kubePod("p", 2, "n", "", ""), kubePod("q", 1, "", "", "")}, "a/p 2/2@n:[0 1]; a/q 1/1", nil},
		{"pods of one Job, which may be a queue of tasks", []string{n8, kubePod("p", 2, "n", ownedByJob, ""), kubePod("q", 2, "n", ownedByJob, "")},
			"a/p 2/2@n:[0 1]; a/q 2/2@n:[2 3]", []string{"whose pods name no group", ": 1, for example Job a/j"}},
		{"pods that train together", []string{n8, kubePod("p", 2, "n", ownedByTraining, ""), kubePod("q", 2, "n", ownedByTraining, "")},
			"a/j 4/2@n:[0 1 2 3]", nil},
		{"replicas", []string{n8, kubePod("p", 2, "n", ownedByReplica, ""), kubePod("q", 2, "n", ownedByReplica, "")},
			"a/p 2/2@n:[0 1]; a/q 2/2@n:[2 3]", nil},
		{"two nodes", []string{kubeNode("m", 4, ""), n8, kubePod("p", 4, "n", ownedByTraining, ""), kubePod("q", 4, "m", ownedByTraining, "")},
			"a/j 8/4@m:[0 1 2 3],n:[0 1 2 3]", nil},
		{"a gang that runs and has another pod", []string{n8, kubePod("p", 2, "n", ownedByTraining, ""), kubePod("q", 2, "", ownedByTraining, "")},
			"a/j 2/2@n:[0 1]; a/j/q 2/2", []string{"each of these is a waiting job of its own: 1, for example a/q"}},
		{"a gang of which too few run", []string{n8, kubePod("p", 2, "n", inGroup("3"), ""), kubePod("q", 2, "", inGroup("3"), ""),
			kubePod("r", 2, "", inGroup("3"), "")}, "a/g 2/2@n:[0 1]; a/g/q 4/2", []string{"too few pods run", ": 1, for example a/g"}},
		{"an elastic gang", []string{n8, kubePod("p", 1, "n", inGroup("1"), ""), kubePod("q", 1, "", inGroup("1"), "")}, "a/g 2/1 1-2@n:[0]", nil},
		{"a gang that lacks pods", []string{n8, kubePod("p", 1, "", inGroup("2"), "")}, "", []string{"do not exist yet, left out: 1, for example a/g"}},
		{"a wrong size", []string{n8, kubePod("p", 1, "", inGroup("x"), "")}, "a/g 1/1", []string{`min-member is "x"`, "all their pods"}},
		{"a PodGroup", []string{n8, kubePod("p", 1, "", `,"labels":{"scheduling.x-k8s.io/pod-group":"g"}`, ""),
			kubePod("q", 1, "", `,"labels":{"scheduling.x-k8s.io/pod-group":"g"}`, ""),
			podGroupOf("scheduling.x-k8s.io/v1alpha1", `"minMember":2`)}, "a/g 2/1", nil},
		{"a native group", []string{n8, kubePod("p", 1, "", "", native), kubePod("q", 1, "", "", native),
			podGroupOf("scheduling.k8s.io/v1alpha2", `"schedulingPolicy":{"gang":{"minCount":2}}`)}, "a/g 2/1", nil},
		{"a native group that is no gang", []string{n8, kubePod("p", 1, "", "", native), kubePod("q", 1, "", "", native),
			podGroupOf("scheduling.k8s.io/v1alpha2", `"schedulingPolicy":{"basic":{}}`)}, "a/p 1/1; a/q 1/1", nil},
		{"pods that differ", []string{n8, kubePod("p", 4, "n", inGroup("2"), ""), kubePod("q", 2, "n", inGroup("2"), "")},
			"a/g 6/2@n:[0 1 2 3 4 5]", []string{"different numbers of GPUs"}},
		{"pods that train together in other roles", []string{n8, kubePod("p", 1, "n", ownedByTraining, ""), kubePod("q", 2, "n", ownedByTraining, ""),
			kubePod("r", 2, "n", ownedByTraining, "")}, "a/j 4/2@n:[0 1 2 3]; a/p 1/1@n:[4]", nil},
		{"more than there is", []string{kubeNode("n", 2, ""), kubePod("p", 4, "n", "", "")}, "a/p 4/4@n:[0 1 2 3]", []string{"more GPUs than are allocatable"}},
		{"a node that is not there", []string{n8, kubePod("p", 4, "m", "", "")}, "", []string{"a/p on m"}},
		{"gates", []string{n8, kubePod("p", 4, "", "", `,"schedulingGates":[{"name":"x"}]`)}, "", []string{"scheduling gates, left out: 1, for example a/p"}},
		{"slices", []string{n8, strings.ReplaceAll(kubePod("p", 1, "", "", ""), "nvidia.com/gpu", "nvidia.com/mig-1g.5gb")}, "",
			[]string{"nvidia.com/mig-1g.5gb", "left out: 1, for example a/p"}},
		{"ended", []string{n8, strings.Replace(kubePod("p", 1, "n", "", ""), "Running", "Succeeded", 1)}, "", nil},
		{"another kind", []string{n8, `{"kind":"Service","metadata":7}`}, "", []string{"ignored: 1, for example Service"}},
		{"affinity to pods", []string{n8, kubePod("p", 1, "", "", `,"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{}]}}`)},
			"a/p 1/1", []string{"required podAntiAffinity"}},
		{"volumes", []string{n8, kubePod("p", 1, "", "", `,"volumes":[{"name":"a","emptyDir":{}},{"persistentVolumeClaim":{"claimName":"c"}},{"ephemeral":{}},{"ephemeral":null}]`)},
			"a/p 1/1", []string{"required volumes of claims a snapshot cannot represent: 1, for example a/p"}},
		{"host ports", []string{n8, kubePod("p", 1, "", "", `,"initContainers":[{"ports":[{"containerPort":1},{"hostPort":0},{"hostPort":80},{"hostPort":81}]}]`)},
			"a/p 1/1", []string{"required host ports a snapshot cannot represent: 1, for example a/p"}},
		{"init containers", []string{n8, kubePod("p", 1, "", "",
			`,"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"nvidia.com/gpu":1}}},{"resources":{"requests":{"nvidia.com/gpu":"3"}}}]`)},
			"a/p 4/4", nil},
	} {
		r, err := readKubectl(kubeList(c.items...))
		check(t, c.name, r, err, c.want, c.notes...)
	}
}

// TestNodesBecomeServers checks CPU, memory, what is closed, and times.
func TestNodesBecomeServers(t *testing.T) {
	system := `{"kind":"Pod","metadata":{"name":"s","namespace":"k"},"spec":{"nodeName":"n","overhead":{"cpu":"100m"},
"containers":[{"resources":{"requests":{"cpu":"400m","memory":"1Gi"}}}]},"status":{"phase":"Running"}}`
	r, err := readKubectl(kubeList(kubeNode("n", 8, ""), kubeNode("m", 2, `,"unschedulable":true`), kubeNode("o", 2, `,"unschedulable":true`),
		strings.Replace(kubeNode("q", 2, ""), "True", "Unknown", 1), kubeNode("z", 0, ""), system, kubePod("p", 1, "m", "", "")))
	check(t, "nodes", r, err, "a/p 1/1@m:[0]", "indices", "free GPUs are out of order in the snapshot: 1, for example m")
	if err != nil {
		return
	}
	s := r.State
	n := s.Server(1)
	if s.Servers() != 4 || n.Name != "n" || n.CPUMilli != 31500 || n.MemMiB != 255*1024 || n.GPUType != "A100" {
		t.Errorf("%d servers, n is %+v", s.Servers(), n)
	}
	if s.Down(0) || !s.Failed(0, 1) || s.Failed(0, 0) || s.Down(1) || !s.Down(2) || !s.Down(3) {
		t.Errorf("down %t %t %t %t", s.Down(0), s.Down(1), s.Down(2), s.Down(3))
	}
	if s.Now() != 2*time.Hour || s.Progress(0) != time.Hour || s.Attained(0) != time.Hour {
		t.Errorf("at %v: progress %v, attained %v", s.Now(), s.Progress(0), s.Attained(0))
	}
}

func TestNodeConstraints(t *testing.T) {
	tainted := `,"taints":[{"key":"team","value":"x","effect":"NoSchedule"}]`
	affinity := func(expression string) string {
		return `,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[` + expression + `]}}}`
	}
	match := func(key, operator, values string) string {
		return affinity(`{"matchExpressions":[{"key":"` + key + `","operator":"` + operator + `","values":[` + values + `]}]}`)
	}
	for _, c := range []struct{ spec, want string }{
		{``, "a b"},
		{`,"tolerations":[{"operator":"Exists"}]`, "a b c"},
		{`,"tolerations":[{"key":"team","value":"x","effect":"NoSchedule"}]`, "a b c"},
		{`,"tolerations":[{"key":"team","value":"y"}]`, "a b"},
		{`,"nodeSelector":{"disk":"fast"}`, "a b"},
		{`,"nodeSelector":{"disk":"slow"}`, ""},
		{match("n", "In", `"2","9"`), "a"},
		{match("n", "NotIn", `"2"`), "b"},
		{match("n", "Exists", ``), "a b"},
		{match("x", "DoesNotExist", ``), "a b"},
		{match("n", "Gt", `"3"`), "b"},
		{match("n", "Lt", `"3"`), "a"},
		{match("n", "Like", `"3"`), ""},
		{affinity(`{}`), ""},
		{affinity(`{},{"matchFields":[{"key":"metadata.name","operator":"In","values":["b"]}]}`), "b"},
	} {
		r, err := readKubectl(kubeList(kubeNode("a", 2, ""), kubeNode("b", 4, ""), kubeNode("c", 2, tainted), kubePod("p", 1, "", "", c.spec)))
		if err != nil {
			t.Fatal(err)
		}
		var may []string
		for i := range r.State.Servers() {
			if id := cluster.ServerID(i); r.State.MayUse(0, id) {
				may = append(may, r.State.Server(id).Name)
			}
		}
		if got := strings.Join(may, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.spec, got, c.want)
		}
	}
}

func TestBadListsOfKubectl(t *testing.T) {
	n := kubeNode("n", 8, "")
	for _, c := range []struct{ text, want string }{
		{`{}`, "items: missing, want a list"},
		{`[]`, "pods.json: no nodes, want the output of kubectl get"},
		{kubeList(), "pods.json: no nodes, want the output of kubectl get"},
		{kubeList(kubeNode("n", 0, "")), "1 nodes, none with allocatable nvidia.com/gpu"},
		{kubeList(n, strings.Replace(kubePod("p", 1, "", "", ""), `"nodeName":""`, `"nodeName":7`, 1)),
			"pods.json: line 4: items[1].spec.nodeName: 7, want at most 256 bytes of printable text"},
		{kubeList(n, strings.Replace(kubePod("p", 1, "", "", ""), `"cpu":"1"`, `"cpu":"one"`, 1)),
			`items[1].spec.containers[0].resources.requests.cpu: "one", want a quantity`},
		{kubeList(n, strings.Replace(kubePod("p", 1, "", "", ""), `gpu":"1"`, `gpu":"0.5"`, 1)), "want a whole number of GPUs"},
		{kubeList(n, strings.Replace(kubePod("p", 1, "", "", ""), "2026-11-24T06", "yesterday", 1)), `items[1].metadata.creationTimestamp: "yesterday`},
		{kubeList(n, n), "items[1].metadata.name: n, want each node once"},
		{kubeList(n, kubePod("p", 1, "", "", ""), kubePod("p", 1, "", "", "")), "items[2].metadata.name: a/p, want each pod once"},
		{kubeList(n, `{"kind":"Pod"}`), `items[1].metadata.name: "", want the name of the pod`},
		{kubeList(n, `7`), "items[1]: 7, want an object"},
		{kubeList(n, strings.Repeat("[", 20_000)), "items[1]"},
		{`{"items":[` + strings.Repeat(" ", 1<<20) + `]}`, "pods.json: more than 1048576 bytes"},
	} {
		if _, err := readKubectl(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %v, want %s", c.text, err, c.want)
		}
	}
}

func FuzzKubectl(f *testing.F) {
	formattest.Fuzz(f, formattest.Format[*Result]{
		Read:  func(text []byte) (*Result, error) { return readKubectl(string(text)) },
		Check: func(t *testing.T, r *Result) { written(t, r) },
	},
		kubeList(kubeNode("n", 8, ""), kubePod("p", 2, "n", ownedByJob, ""), kubePod("q", 1, "", inGroup("1"), "")),
		kubeList(kubeNode("n", 2, `,"unschedulable":true`), kubePod("p", 16384, "n", "", ""), podGroupOf("scheduling.k8s.io/v1", `"minMember":1`)),
		kubeList(kubeNode("n", 8, ""), queueIn("one", "all", 3, `,"lendingLimit":1`), localQueue("q", "one"), workloadOf("w", "q", "", "")),
		kubeNode("n", 8, "")+"["+kubeList(kubePod("p", 2, "n", "", ""))+"]",
		kubeList(kubeNodeOf("n", "", offering(`"nvidia.com/gpu":1,"a/gpu":3`, `"nvidia.com/gpu":4`)), queueIn("one", "", 3, ""), localQueue("q", "one"),
			workloadOf("w", "q", "", `"admission":{"clusterQueue":"one","podSetAssignments":[{"name":"main","count":2,"resourceUsage":{"nvidia.com/gpu":3}}]}`+
				`,"reclaimablePods":[{"name":"main","count":1}],"conditions":[{"type":"Evicted","status":"True"}]`), ownerOf("Job", "w", "JobSet", "x")),
		"\xff\xfe{\x00}\x00",
		kubeList(kubeNode("n", 2, ""), kubePod("p", 0, "n", marked("runai-gpu-group=x runai-gpu-group/y=", "gpu-fraction=0.5 gpu-fraction-num-devices=2"), ""),
			kubePod("q", 0, "n", marked("runai-gpu-group=x", "gpu-memory=1"), ""), kubePod("r", 1, "n", marked("app=kai-resource-reservation", ""), "")),
		kubeList(kubeNode("n", 4, ""), kubePod("p", 1, "n", marked("jobset.sigs.k8s.io/jobset-name=s job-name=w", "scheduling.k8s.io/group-name=g"), ""),
			kubePod("q", 2, "", marked("training.kubeflow.org/job-name=s", "")+ownedByTraining, ""), podGroupOf("scheduling.volcano.sh/v1beta1", `"minMember":2`)),
	)
}

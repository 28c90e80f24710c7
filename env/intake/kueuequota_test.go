package intake

import (
	"fmt"
	"strings"
	"testing"
)

// setOf returns the Workload of an object of the given kind and name: two pods of two GPUs each.
func setOf(kind, name, queue, status string) string {
	return strings.NewReplacer(`"kind":"Job"`, `"kind":"`+kind+`"`, `"job-`, `"`+strings.ToLower(kind)+`-`).
		Replace(workloadOf(name, queue, "", status))
}

func labelled(key, value string) string { return fmt.Sprintf(`,"labels":{%q:%q}`, key, value) }

// ownerOf returns an object, and what controls it.
func ownerOf(kind, uid, byKind, byUID string) string {
	return fmt.Sprintf(`{"kind":%q,"metadata":{"name":%q,"namespace":"a","uid":%q,"ownerReferences":[{"kind":%q,"name":"x","uid":%q,"controller":true}]}}`,
		kind, uid, uid, byKind, byUID)
}

// TestWorkloadsOfPods checks that running pods count for the quota of the queue that has admitted them, however they are tied to
// their Workload, and that they do not count twice.
func TestWorkloadsOfPods(t *testing.T) {
	const admitted = `"admission":{"clusterQueue":"one"}`
	queues := []string{kubeNode("n", 8, ""), queueIn("one", "", 4, ""), localQueue("q", "one"), workloadOf("w", "q", "", "")}
	ownedByJobOf := ownedBy("js-w-0")
	for _, c := range []struct {
		name  string
		items []string
		meta  string // of the pod
		note  string
	}{
		{"a JobSet, by annotation", []string{setOf("JobSet", "js", "q", admitted)}, ownedByJobOf + `,"annotations":{"kueue.x-k8s.io/workload":"jobset-js"}`, ""},
		{"a Job, beside its finished Workload", []string{workloadOf("j", "q", "", admitted),
			strings.Replace(workloadOf("j", "q", "", `"conditions":[{"type":"Finished","status":"True"}]`), `"job-j"`, `"job-j-old"`, 1)}, ownedBy("j"), ""},
		{"a JobSet, by label", []string{setOf("JobSet", "js", "q", admitted)}, ownedByJobOf + labelled("jobset.sigs.k8s.io/jobset-name", "js"), ""},
		{"a JobSet, by its Jobs", []string{setOf("JobSet", "js", "q", admitted), ownerOf("Job", "js-w-0", "JobSet", "js")}, ownedByJobOf, ""},
		{"a TrainJob, by the label of its JobSet", []string{setOf("TrainJob", "tj", "q", admitted)}, ownedByJobOf + labelled("jobset.sigs.k8s.io/jobset-name", "tj"), ""},
		{"a TrainJob, by a chain", []string{setOf("TrainJob", "tj", "q", admitted), ownerOf("Job", "js-w-0", "JobSet", "js"), ownerOf("JobSet", "js", "TrainJob", "tj")},
			ownedByJobOf, ""},
		{"an MPIJob", []string{setOf("MPIJob", "m", "q", admitted)}, ownedByJobOf + labelled("training.kubeflow.org/job-name", "m"), ""},
		{"a RayCluster", []string{setOf("RayCluster", "r", "q", admitted)}, labelled("ray.io/cluster", "r"), ""},
		{"a Job without its reference", []string{workloadOf("j", "q", "", admitted)}, labelled("batch.kubernetes.io/job-name", "j"), ""},
		{"a group of pods", []string{strings.Replace(workloadOf("j", "q", "", admitted), `"controller":true`, `"controller":false`, 1)},
			labelled("kueue.x-k8s.io/pod-group-name", "job-j"), ""},
		{"a pod of its own", []string{workloadOf("p", "q", "", admitted)}, `,"uid":"p"`, ""},
		{"the label of a queue alone", []string{setOf("AppWrapper", "x", "q", admitted)}, labelled("kueue.x-k8s.io/cluster-queue-name", "one"), ""},
		{"the label of a Job", []string{strings.Replace(ownerOf("Job", "js-w-0", "", ""), `"uid"`, `"labels":{"kueue.x-k8s.io/queue-name":"q"},"uid"`, 1),
			setOf("AppWrapper", "x", "q", admitted)}, ownedByJobOf, ""},
		{"owners in a circle", []string{ownerOf("Job", "js-w-0", "JobSet", "js"), ownerOf("JobSet", "js", "Job", "js-w-0"), setOf("AppWrapper", "x", "q", admitted)},
			ownedByJobOf, "a/x (4 GPUs)"},
		{"nothing", []string{setOf("JobSet", "js", "q", admitted)}, ownedByJobOf, "a/js (4 GPUs)"},
		{"no name", []string{strings.ReplaceAll(setOf("JobSet", "js", "q", admitted), `"jobset-js"`, `""`)}, ownedByJobOf, "a/js (4 GPUs)"},
	} {
		r, err := readKubectl(kubeList(append(append(c.items, queues...), kubePod("p", 4, "n", c.meta, ""))...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		const what = "admitted Workloads that hold quota for pods that are not in the input: the quota of their queue is smaller by that: 1, for example "
		all, tenant := noted(r), "queue/one 0"
		if c.note == "" && strings.Contains(all, "hold quota") || c.note != "" && !strings.Contains(all, what+c.note) {
			t.Errorf("%s: notes\n%s\nwant %q", c.name, all, c.note)
		}
		if c.note != "" {
			tenant = "a -1"
		}
		if got := quotasLeft(r.State); got != "queue/one 0; "+tenant && got != tenant+"; queue/one 0" {
			t.Errorf("%s: %s, want nothing left of %s", c.name, got, tenant)
		}
	}
}

// TestQuotaOfAbsentPods checks what a Workload in each state takes of a quota of ten GPUs for which it has no pods.
func TestQuotaOfAbsentPods(t *testing.T) {
	const (
		admission = `"admission":{"clusterQueue":"one","podSetAssignments":[%s]}`
		reserved  = `"conditions":[{"type":"QuotaReserved","status":"True"}],`
	)
	with := func(assignment string) string { return strings.Replace(admission, "%s", assignment, 1) }
	for _, c := range []struct {
		name, spec, status string
		want               int
		jobs               string
	}{
		{"admitted", "", with(""), 6, ""},
		{"quota reserved, admission checks pending", "", reserved + with(""), 6, ""},
		{"fewer pods", "", with(`{"name":"main","count":1}`), 8, ""},
		{"a usage", "", with(`{"name":"main","count":2,"resourceUsage":{"nvidia.com/gpu":"6"}}`), 4, ""},
		{"a usage of something else", "", with(`{"name":"main","count":2,"resourceUsage":{"example.com/gpu":"6"}}`), 10, ""},
		{"null", "", with(`{"name":"main","count":null,"resourceUsage":null}`), 6, ""},
		{"pods that have ended", "", with(`{"name":"main","count":2}`) + `,"reclaimablePods":[{"name":"main","count":1}]`, 8, ""},
		{"part of a usage", "", with(`{"name":"main","count":2,"resourceUsage":{"nvidia.com/gpu":"5"}}`) + `,"reclaimablePods":[{"name":"main","count":1}]`, 7, ""},
		{"all pods have ended", "", with("") + `,"reclaimablePods":[{"name":"main","count":3},{"name":"driver"}]`, 10, ""},
		{"finished", "", `"conditions":[{"type":"Finished","status":"True"}],` + with(""), 10, ""},
		{"being evicted", "", `"conditions":[{"type":"Evicted","status":"True"},{"type":"QuotaReserved","status":"True"}],` + with(""), 6, ""},
		{"evicted", "", `"conditions":[{"type":"Evicted","status":"True"},{"type":"QuotaReserved","status":"False"}]`, 10, "a/x 4/2; "},
		{"evicted, back later", "", `"requeueState":{"count":2,"requeueAt":"2026-11-24T08:10:00Z"}`, 10, ""},
		{"evicted, back since", "", `"requeueState":{"count":2,"requeueAt":"2026-11-24T07:50:00Z"}`, 10, "a/x 4/2; "},
		{"deactivated", `,"active":false`, "", 10, ""},
		{"deactivated, still admitted", `,"active":false`, with(""), 6, ""},
		{"of another queue", "", `"admission":{"clusterQueue":"two"}`, 10, ""},
	} {
		r, err := readKubectl(kubeList(kubeNode("n", 8, ""), queueIn("one", "", 10, ""), localQueue("q", "one"), workloadOf("x", "q", c.spec, c.status),
			kubePod("z", 1, "", labelled("kueue.x-k8s.io/queue-name", "q"), "")))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := summary(r.State); got != c.jobs+"a/z 1/1" && got != "a/z 1/1; "+strings.TrimSuffix(c.jobs, "; ") {
			t.Errorf("%s: jobs %s, want %s", c.name, got, c.jobs)
		}
		left, _, _ := strings.Cut(quotasLeft(r.State), ";")
		if want := fmt.Sprintf("queue/one %d", c.want); left != want {
			t.Errorf("%s: %s, want %s", c.name, left, want)
		}
		if said := strings.Contains(noted(r), fmt.Sprintf("a/x (%d GPU", 10-c.want)); said != (c.want < 10) {
			t.Errorf("%s: notes\n%s", c.name, noted(r))
		}
	}
}

// TestPodsElsewhereHoldQuota checks pods on nodes that are not in the input.
func TestPodsElsewhereHoldQuota(t *testing.T) {
	r, err := readKubectl(kubeList(kubeNode("n", 8, ""), queueIn("one", "", 10, ""), localQueue("q", "one"), workloadOf("x", "q", "", `"admission":{"clusterQueue":"one"}`),
		kubePod("p", 2, "far", ownedBy("x"), ""), kubePod("o", 2, "n", ownedBy("x"), ""), workloadOf("w", "q", "", "")))
	check(t, "pods elsewhere", r, err, "a/o 2/2@n:[0 1]; a/w 4/2", "for the quota of their queue: 1, for example a/p on far")
	if err == nil && quotasLeft(r.State) != "queue/one 6; queue/one 6" {
		t.Errorf("%s, want 6 GPUs left of 10", quotasLeft(r.State))
	}
	r, err = readKubectl(kubeList(kubeNode("n", 8, ""), queueIn("one", "", 10, ""), localQueue("q", "one"), workloadOf("x", "q", "", `"admission":{"clusterQueue":"one"}`),
		kubePod("p", 2, "", ownedBy("x"), ""), kubePod("o", 2, "n", ownedBy("x"), "")))
	check(t, "pods that wait", r, err, "a/o 2/2@n:[0 1]; a/p 2/2", "admitted Workloads whose pods wait for nodes: in a plan others may take their quota: 1, for example a/x")
}

// TestQueuesThatAdmitNothing checks that what waits in a stopped queue is left out, and what runs is not.
func TestQueuesThatAdmitNothing(t *testing.T) {
	stopped := func(queue, policy string) string {
		return strings.Replace(queue, `"spec":{`, `"spec":{"stopPolicy":`+policy+`,`, 1)
	}
	idle := func(queue, reason string) string {
		return queue[:len(queue)-1] + `,"status":{"conditions":[{"type":"Active","status":"False","reason":` + reason + `}]}}`
	}
	one, q := queueIn("one", "all", 8, ""), localQueue("q", "one")
	for _, c := range []struct {
		queue, local string
		note         string // "" if the queue is not stopped
	}{
		{stopped(one, `"Hold"`), q, "left out: 1, for example a/w (ClusterQueue one: stopPolicy Hold)"},
		{stopped(one, `"HoldAndDrain"`), q, "a/w (ClusterQueue one: stopPolicy HoldAndDrain)"},
		{stopped(one, `"None"`), q, ""},
		{stopped(one, `null`), stopped(q, `""`), ""},
		{one, stopped(q, `"Hold"`), "a/w (LocalQueue q: stopPolicy Hold)"},
		{one, stopped(q, `"HoldAndDrain"`), "a/w (LocalQueue q: stopPolicy HoldAndDrain)"},
		{idle(one, `"FlavorNotFound"`), q, "a/w (ClusterQueue one: not active: FlavorNotFound)"},
		{idle(one, `null`), q, "a/w (ClusterQueue one: not active: no reason given)"},
		{idle(stopped(one, `"Hold"`), `"Stopped"`), q, "a/w (ClusterQueue one: stopPolicy Hold)"},
		{strings.Replace(idle(one, `"Ready"`), "False", "True", 1), q, ""},
		{one, idle(q, `"ClusterQueueIsInactive"`), "a/w (LocalQueue q: not active: ClusterQueueIsInactive)"},
	} {
		r, err := readKubectl(kubeList(kubeNode("n", 8, ""), c.queue, c.local, workloadOf("w", "q", "", ""), queueIn("two", "all", 1, ""),
			workloadOf("j", "q", "", `"admission":{"clusterQueue":"one"}`), kubePod("p", 4, "n", ownedBy("j"), "")))
		if c.note == "" {
			check(t, c.queue, r, err, "a/p 4/4@n:[0 1 2 3]; a/w 4/2")
			continue
		}
		check(t, c.note, r, err, "a/p 4/4@n:[0 1 2 3]", "Workloads of queues that admit nothing, left out: 1, for example ", c.note)
		if drains := strings.Contains(noted(r), "queues that drain: what runs of them is taken to run on: 1, for example a/j"); drains != strings.Contains(c.note, "Drain") {
			t.Errorf("%s: notes\n%s", c.note, noted(r))
		}
	}
}

// TestWhatWorkloadsAskFor checks the rest of what is read of a Workload that waits, or said to be ignored.
func TestWhatWorkloadsAskFor(t *testing.T) {
	one, q := queueIn("one", "", 8, ""), localQueue("q", "one")
	w := workloadOf("w", "q", "", "")
	limits := strings.Replace(w, `{"requests":{"nvidia.com/gpu":"2","cpu":"4"}}`, `{"limits":{"nvidia.com/gpu":"2","cpu":"4"},"requests":{"memory":"1Gi"}}`, 1)
	init := strings.Replace(w, `"containers":[{"resources":{"requests":{"nvidia.com/gpu":"2","cpu":"4"}}}]`,
		`"containers":[],"initContainers":[{"restartPolicy":"Always","resources":{"limits":{"nvidia.com/gpu":1}}},{"resources":{"limits":{"nvidia.com/gpu":1}}}]`, 1)
	tainted := kubeNode("n", 8, `,"taints":[{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}]`)
	for _, c := range []struct {
		name  string
		items []string
		want  string
		notes []string
	}{
		{"limits", []string{kubeNode("n", 8, ""), limits}, "a/w 4/2", nil},
		{"limits of init containers", []string{kubeNode("n", 8, ""), init}, "a/w 4/2", nil},
		{"a priority", []string{kubeNode("n", 8, ""), workloadOf("w", "q", `,"priority":7,"priorityClassRef":{"name":"top"}`, "")}, "a/w 4/2",
			[]string{"with a priority, which a snapshot does not keep: 1, for example a/w (7)"}},
		{"a class of priority", []string{kubeNode("n", 8, ""), workloadOf("w", "q", `,"priorityClassRef":{"name":"top"}`, "")}, "a/w 4/2", []string{"a/w (top)"}},
		{"a class of v1beta1", []string{kubeNode("n", 8, ""), workloadOf("w", "q", `,"priorityClassName":"top"`, "")}, "a/w 4/2", []string{"a/w (top)"}},
		{"fewer pods", []string{kubeNode("n", 8, ""), strings.Replace(w, `"count":2`, `"count":2,"minCount":1`, 1)}, "a/w 4/2", []string{"(minCount): taken to need all: 1, for example a/w"}},
		{"a topology", []string{kubeNode("n", 8, ""), strings.Replace(w, `"count":2`, `"count":2,"topologyRequest":{"required":"rack"}`, 1)}, "a/w 4/2",
			[]string{"required topology a snapshot cannot represent: 1, for example a/w"}},
		{"a preferred topology", []string{kubeNode("n", 8, ""), strings.Replace(w, `"count":2`, `"count":2,"minCount":null,"topologyRequest":{"preferred":"rack"}`, 1)}, "a/w 4/2", nil},
		{"a taint of GPUs", []string{tainted, w}, "a/w 4/2", []string{"do not tolerate the taint nvidia.com/gpu of nodes with GPUs: their pods are taken to: 1, for example a/w"}},
		{"checks", []string{kubeNode("n", 8, ""), w, strings.Replace(queueIn("two", "", 8, ""), `"spec":{`, `"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"x"}]},`, 1)},
			"a/w 4/2", []string{"ClusterQueues with admission checks, which are taken to pass: 1, for example two"}},
		{"checks of v1beta1", []string{kubeNode("n", 8, ""), w, strings.Replace(queueIn("two", "", 8, ""), `"spec":{`, `"spec":{"admissionChecks":["x"],`, 1)},
			"a/w 4/2", []string{"taken to pass: 1, for example two"}},
		{"flavors", []string{kubeNode("n", 8, ""), w, strings.Replace(queueIn("two", "", 8, ""), `"nominalQuota":"0"`, `"nominalQuota":"1"`, 1)}, "a/w 4/2",
			[]string{"GPUs of several flavors: all count as one quota: 1, for example two"}},
		{"other devices, too", []string{kubeNode("n", 8, ""), w, strings.ReplaceAll(workloadOf("x", "q", "", ""), "nvidia.com/gpu", "amd.com/gpu")}, "a/w 4/2",
			[]string{"Workloads that ask for amd.com/gpu and for no nvidia.com/gpu, left out: 1, for example a/x"}},
		{"devices beside GPUs", []string{kubeNode("n", 8, ""), strings.Replace(w, `"cpu":"4"`, `"rdma/hca":"1"`, 1)}, "a/w 4/2",
			[]string{"Workloads with GPUs that also ask for rdma/hca, which a snapshot does not model: 1, for example a/w"}},
		{"claims", []string{kubeNode("n", 8, ""), w, strings.Replace(strings.ReplaceAll(workloadOf("x", "q", "", ""), "nvidia.com/gpu", "memory"), `"spec":{"containers"`, `"spec":{"resourceClaims":[{"name":"g"}],"containers"`, 1)},
			"a/w 4/2", []string{"Workloads with resource claims, whose devices are not counted: if these are GPUs of a node, they count as free: 1, for example a/x"}},
		{"pods that wait for it", []string{kubeNode("n", 8, ""), setOf("JobSet", "js", "q", ""),
			kubePod("p", 2, "", ownedBy("js-w-0")+labelled("jobset.sigs.k8s.io/jobset-name", "js"), "")}, "a/js-w-0 2/2", nil},
	} {
		r, err := readKubectl(kubeList(append(c.items, one, q, endedPod)...))
		check(t, c.name, r, err, c.want, c.notes...)
		if err == nil && !r.State.MayUse(0, 0) {
			t.Errorf("%s: the job may not use the node", c.name)
		}
	}
}

func TestQuotasOfCohorts(t *testing.T) {
	cohort := func(name, more string) string {
		return strings.NewReplacer(`"kind":"ClusterQueue"`, `"kind":"Cohort"`, `"cohort":""`, more).Replace(queueIn(name, "", 3, ""))
	}
	items := []string{kubeNode("n", 8, ""), queueIn("one", "all", 2, ""), localQueue("q", "one"), workloadOf("w", "q", "", ""), endedPod, cohort("unused", `"x":1`)}
	r, err := readKubectl(kubeList(append(items, cohort("all", `"x":1`))...))
	check(t, "a cohort", r, err, "a/w 4/2")
	if err == nil && quotasLeft(r.State) != "cohort/all 5" {
		t.Errorf("%s, want that of the queue and that of the cohort", quotasLeft(r.State))
	}
	for _, parent := range []string{`"parentName":"root"`, `"parent":"root"`} {
		r, err = readKubectl(kubeList(append(items, cohort("all", parent))...))
		check(t, parent, r, err, "a/w 4/2", "each counts on its own: 1, for example all")
	}
	if _, err = readKubectl(kubeList(append(items, cohort("all", `"x":1`), cohort("all", `"x":1`))...)); err == nil || !strings.Contains(err.Error(), "want each Cohort once") {
		t.Errorf("two of one name: %v", err)
	}
}

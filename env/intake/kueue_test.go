package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

// queueIn returns a ClusterQueue with a quota of GPUs in each of two flavors, in a cohort unless it is "".
func queueIn(name, cohort string, gpus int, more string) string {
	return fmt.Sprintf(`{"kind":"ClusterQueue","apiVersion":"kueue.x-k8s.io/v1beta1","metadata":{"name":%q},"spec":{"cohort":%q,
"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"any","resources":[{"name":"cpu","nominalQuota":"9"}]}]},
{"flavors":[{"name":"a","resources":[{"name":"nvidia.com/gpu","nominalQuota":%d%s}]},{"name":"b","resources":[{"name":"nvidia.com/gpu","nominalQuota":"0"}]}]}]}}`,
		name, cohort, gpus, more)
}

func localQueue(name, of string) string {
	return fmt.Sprintf(`{"kind":"LocalQueue","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"name":%q,"namespace":"a"},"spec":{"clusterQueue":%q}}`, name, of)
}

// workloadOf returns a Workload of two pods of two GPUs each and one pod without, owned by a Job whose uid is the name.
func workloadOf(name, queue, more, status string) string {
	return fmt.Sprintf(`{"kind":"Workload","apiVersion":"kueue.x-k8s.io/v1beta1","metadata":{"name":"job-%[1]s","namespace":"a",
"creationTimestamp":"2026-11-24T06:30:00Z","ownerReferences":[{"kind":"Job","name":%[1]q,"uid":%[1]q,"controller":true}]},
"spec":{"queueName":%[2]q%[3]s,"podSets":[{"name":"main","count":2,"template":{"metadata":{"annotations":{"clustergym.dev/estimate":"90m"}},
"spec":{"containers":[{"resources":{"requests":{"nvidia.com/gpu":"2","cpu":"4"}}}]}}},
{"name":"driver","template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"1"}}}]}}}]},"status":{%[4]s}}`, name, queue, more, status)
}

func ownedBy(job string) string {
	return fmt.Sprintf(`,"ownerReferences":[{"kind":"Job","name":%[1]q,"uid":%[1]q,"controller":true}]`, job)
}

// TestKueue checks that cohorts and queues become tenants with quotas, and Workloads that wait become jobs.
func TestKueue(t *testing.T) {
	node := kubeNode("n", 8, "")
	const admitted = `"admission":{"clusterQueue":"one"}`
	for _, c := range []struct {
		name   string
		items  []string
		want   string
		quotas string // of each job: its tenant and how many GPUs the tenant may still take
		notes  []string
	}{
		{"a cohort and a queue alone", []string{node, queueIn("one", "all", 3, ""), queueIn("two", "all", 2, ""), queueIn("own", "", 1, ""),
			localQueue("q", "one"), localQueue("r", "own"), kubePod("p", 4, "n", ownedBy("j"), ""), workloadOf("j", "q", "", admitted),
			workloadOf("w", "q", "", ""), workloadOf("v", "r", "", "")},
			"a/p 4/4@n:[0 1 2 3]; a/v 4/2; a/w 4/2", "cohort/all 1; queue/own 1; cohort/all 1", nil},
		{"labels of pods", []string{node, queueIn("one", "", 4, ""), localQueue("q", "one"),
			kubePod("o", 1, "", `,"labels":{"kueue.x-k8s.io/cluster-queue-name":"one"}`, ""),
			kubePod("p", 1, "", `,"labels":{"kueue.x-k8s.io/queue-name":"q"}`, ""), kubePod("q", 1, "", "", "")},
			"a/o 1/1; a/p 1/1; a/q 1/1", "queue/one 4; queue/one 4; a -1", nil},
		{"Workloads that do not wait", []string{node, queueIn("one", "", 4, ""), localQueue("q", "one"), workloadOf("j", "q", "", admitted),
			workloadOf("e", "q", "", `"conditions":[{"type":"Finished","status":"True"}]`), workloadOf("i", "q", `,"active":false`, "")},
			"", "", []string{"not active, left out: 1, for example a/job-i"}},
		{"pods with gates", []string{node, queueIn("one", "", 4, ""), localQueue("q", "one"), workloadOf("w", "q", "", ""),
			kubePod("p", 2, "", ownedBy("w"), `,"schedulingGates":[{"name":"kueue.x-k8s.io/admission"}]`)},
			"a/w 4/2", "queue/one 4", []string{"scheduling gates, left out: 1, for example a/p"}},
		{"limits, and more than the quota", []string{node, queueIn("one", "all", 1, `,"borrowingLimit":2`), localQueue("q", "one"),
			kubePod("p", 2, "n", ownedBy("j"), ""), workloadOf("j", "q", "", admitted)},
			"a/p 2/2@n:[0 1]", "cohort/all 0", []string{"all of a cohort count as one quota: 1, for example one", "hold more GPUs than their quota"}},
		{"no quota of GPUs", []string{node, strings.ReplaceAll(queueIn("one", "", 4, ""), "nvidia.com/gpu", "memory"), localQueue("q", "one"),
			workloadOf("w", "q", "", "")}, "a/w 4/2", "queue/one -1", []string{"taken to be unlimited: 1, for example queue/one"}},
		{"a queue that is not there", []string{node, workloadOf("w", "q", "", "")}, "a/w 4/2", "a -1", []string{`for example a/w of queue "q"`}},
		{"a Workload of another API", []string{node, strings.ReplaceAll(workloadOf("w", "q", "", ""), "kueue.x-k8s.io", "else.io")}, "", "",
			[]string{"ignored: 1, for example Workload"}},
	} {
		r, err := readKubectl(kubeList(c.items...))
		check(t, c.name, r, err, c.want, c.notes...)
		if err != nil {
			continue
		}
		if got := quotasLeft(r.State); got != c.quotas {
			t.Errorf("%s: quotas %q, want %q", c.name, got, c.quotas)
		}
	}
}

// quotasLeft lists for each job its tenant and how many GPUs this may still take, -1 for any number.
func quotasLeft(s *cluster.State) string {
	var all []string
	for id := range s.Jobs() {
		left, ok := s.QuotaLeft(cluster.JobID(id))
		if !ok {
			left = -1000
		}
		all = append(all, fmt.Sprintf("%s %d", s.Spec(cluster.JobID(id)).Tenant, left/1000))
	}
	return strings.Join(all, "; ")
}

func TestKueueIsRefused(t *testing.T) {
	for _, c := range []struct{ items, want string }{
		{queueIn("one", "", 1, "") + "," + queueIn("one", "", 1, ""), `metadata.name: one, want each ClusterQueue once`},
		{strings.Replace(queueIn("one", "", 1, ""), `"nominalQuota":1`, `"nominalQuota":"x"`, 1), `nominalQuota: "x", want a quantity such as 8`},
		{strings.Replace(workloadOf("w", "q", "", ""), `"count":2`, `"count":-2`, 1), `podSets[0].count: -2, want a whole number from 0`},
	} {
		_, err := readKubectl(kubeList(kubeNode("n", 8, ""), c.items))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

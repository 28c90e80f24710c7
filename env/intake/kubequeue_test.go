package intake

import (
	"strings"
	"testing"
)

// TestTenantsOfPods checks how the queue of a pod is found that does not name it.
func TestTenantsOfPods(t *testing.T) {
	child := `,"ownerReferences":[{"kind":"Job","name":"s-w-0","uid":"job","controller":true}]`
	set := marked("jobset.sigs.k8s.io/jobset-name=s batch.kubernetes.io/job-name=s-w-0", "")
	job := `{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"s-w-0","namespace":"a","uid":"job",
"ownerReferences":[{"kind":"JobSet","name":"s","uid":"set","controller":true}]}}`
	workload := func(name, kind, owner, admitted string) string {
		w := strings.ReplaceAll(workloadOf(owner, "q", "", admitted), `"kind":"Job"`, `"kind":"`+kind+`"`)
		return strings.Replace(w, `"name":"job-`+owner+`"`, `"name":"`+name+`"`, 1)
	}
	const one = `"admission":{"clusterQueue":"one"}`
	base := []string{kubeNode("n", 8, ""), queueIn("one", "", 4, ""), localQueue("q", "one")}
	for _, c := range []struct {
		name  string
		items []string
	}{
		{"by the JobSet that its label names", []string{kubePod("p", 2, "n", child+set, ""), workload("w", "JobSet", "s", one)}},
		{"by the Workload that its annotation names", []string{kubePod("p", 2, "n", child+marked("", "kueue.x-k8s.io/workload=w"), ""), workload("w", "Other", "o", one)}},
		{"by its pod group", []string{kubePod("p", 2, "n", marked("kueue.x-k8s.io/pod-group-name=w", "kueue.x-k8s.io/pod-group-total-count=1"), ""), workload("w", "Pod", "p", one)}},
		{"by the owner of its owner", []string{kubePod("p", 2, "n", child, ""), job, workload("w", "JobSet", "set", one)}},
		{"by a label of the owner of its owner", []string{kubePod("p", 2, "n", child, ""), job,
			`{"kind":"JobSet","metadata":{"name":"s","namespace":"a","uid":"set","labels":{"kueue.x-k8s.io/queue-name":"q"}}}`}},
	} {
		r, err := readKubectl(kubeList(append(base, c.items...)...))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, id := range r.State.Running() {
			if got := r.State.Spec(id).Tenant; got != "queue/one" {
				t.Errorf("%s: tenant %s, want queue/one", c.name, got)
			}
		}
		if len(r.State.Running()) != 1 {
			t.Errorf("%s: %d jobs run, want 1", c.name, len(r.State.Running()))
		}
	}
}

package intake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

// TestFlavorsChooseNodes checks which nodes a Workload that waits may use by the flavors of its queue.
func TestFlavorsChooseNodes(t *testing.T) {
	flavor := func(name, spec string) string {
		return fmt.Sprintf(`{"kind":"ResourceFlavor","apiVersion":"kueue.x-k8s.io/v1beta2","metadata":{"name":%q},"spec":{%s}}`, name, spec)
	}
	labels := func(key, value string) string { return fmt.Sprintf(`"nodeLabels":{%q:%q}`, key, value) }
	affine := func(terms string) func(string) string {
		return func(w string) string {
			return strings.Replace(w, `"spec":{"containers"`, `"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[`+
				terms+`]}}},"containers"`, 1)
		}
	}
	as := func(w string) string { return w }
	// Queue one has GPUs of flavor a, and 0 of flavor b, which it may borrow. Node n has 8 GPUs of one type, m 4 of another, and t a taint.
	nodes := []string{kubeNode("n", 8, ""), strings.Replace(kubeNode("m", 4, ""), "A100", "H100", 1), kubeNode("t", 2, `,"taints":[{"key":"x","effect":"NoSchedule"}]`)}
	for _, c := range []struct {
		name    string
		flavors []string
		change  func(w string) string
		want    string
		note    string
	}{
		{"one each", []string{flavor("a", labels("n", "8")), flavor("b", labels("n", "4"))}, as, "m n", ""},
		{"of one type", []string{flavor("a", labels("nvidia.com/gpu.product", "H100")), flavor("b", labels("n", "9"))}, as, "m", ""},
		{"any node", []string{flavor("a", labels("n", "8")), flavor("b", "")}, as, "m n", ""},
		{"any node that it lets the pods tolerate", []string{flavor("a", `"tolerations":[{"key":"x","operator":"Exists"}],`+labels("n", "8")), flavor("b", `"nodeLabels":null`)}, as, "m n t", ""},
		{"both labels", []string{flavor("a", `"nodeLabels":{"n":"8","disk":"slow"}`), flavor("b", labels("n", "4"))}, as, "m", ""},
		{"own terms, too", []string{flavor("a", labels("n", "8")), flavor("b", labels("n", "4"))},
			affine(`{"matchExpressions":[{"key":"n","operator":"In","values":["4","2"]}]},{}`), "m", ""},
		{"not in the input", []string{flavor("a", labels("n", "8"))}, as, "m n", "not in the input (add resourceflavors): any node is taken to do: 1, for example a/w"},
	} {
		items := append(append(c.flavors, nodes...), queueIn("one", "all", 8, ""), localQueue("q", "one"), endedPod, c.change(workloadOf("w", "q", "", "")))
		r, err := readKubectl(kubeList(items...))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var may []string
		for i := range r.State.Servers() {
			if id := cluster.ServerID(i); r.State.MayUse(0, id) {
				may = append(may, r.State.Server(id).Name)
			}
		}
		if got := strings.Join(may, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if all := noted(r); !strings.Contains(all, c.note) || c.note == "" && all != "" {
			t.Errorf("%s: notes\n%s\nwant %q", c.name, all, c.note)
		}
	}
}

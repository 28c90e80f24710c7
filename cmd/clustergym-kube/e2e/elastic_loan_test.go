package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// loans returns the nodes on loan, and those of them that are being returned. It fails if the label and the taint of a node
// disagree.
func loans(t testing.TB, c *kubetest.Cluster) (lent, returning []string) {
	t.Helper()
	nodes, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		labelled := n.Labels["clustergym.dev/loaned-to"] == "training"
		tainted := slices.ContainsFunc(n.Spec.Taints, func(x corev1.Taint) bool {
			return x.Key == "clustergym.dev/loaned-to" && x.Value == "training" && x.Effect == corev1.TaintEffectNoSchedule
		})
		if labelled != tainted {
			t.Errorf("node %s: labels %v, taints %v", n.Name, n.Labels, n.Spec.Taints)
		}
		if labelled {
			lent = append(lent, n.Name)
		}
		if n.Labels["clustergym.dev/returning"] == "true" {
			returning = append(returning, n.Name)
		}
	}
	return lent, returning
}

// lending waits until exactly n nodes are on loan.
func lending(t testing.TB, c *kubetest.Cluster, n int) (lent []string) {
	t.Helper()
	c.Await(fmt.Sprintf("%d nodes on loan", n), func(context.Context) error {
		if lent, _ = loans(t, c); len(lent) != n {
			return fmt.Errorf("on loan are %v", lent)
		}
		return nil
	})
	return lent
}

// TestElasticLoan checks that the scheduler lends the nodes that the inference pool offers, and returns them when the pool wants
// them back. It stops the gangs there as their disruption budgets allow.
func TestElasticLoan(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 2)
	c.AddNodes(3, func(_ int, node *corev1.Node) { node.Labels["clustergym.dev/pool"] = "inference" })
	c.ControllerManager()
	k := check(t, c)
	p := newTap(t, c, "scheduler", c.Config)
	s := run(t, c, "scheduler", "--kubeconfig="+p.kubeconfig, "--mode=live", "--policy=fjf+loan", "--estimate=1h", "--verbose",
		"--gang-deadline="+gangDeadline.String(), "--period=1s")
	for i := range 4 { // each gang has one node
		deployment(t, k, fmt.Sprint("train", i), 4, 4, 2, nil)
	}
	c.AwaitPods("default", "", 8, "run", kubetest.Running)
	if lent, _ := loans(t, c); len(lent) > 0 {
		t.Errorf("nodes %v are on loan, and none was offered", lent)
	}
	began := time.Now()
	say(t, c, map[string]string{"offer": "2"})
	lent := lending(t, c, 2)
	c.AwaitPods("default", "", 16, "run", kubetest.Running)
	took := time.Since(began)
	// A disruption budget keeps the gang on one of these nodes from stopping.
	keep := kept(k, lent[0])
	c.Apply(fmt.Sprintf(`{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: keep, namespace: default},
spec: {maxUnavailable: 0, selector: {matchLabels: {kubetest/gang: %s}}}}`, strings.TrimPrefix(keep, "default/")))
	c.Await("the budget to be counted", func(ctx context.Context) error {
		b, err := c.Client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "keep", metav1.GetOptions{})
		if err == nil && b.Status.ObservedGeneration == 0 {
			err = fmt.Errorf("it is not")
		}
		return err
	})
	say(t, c, map[string]string{"offer": "0"})
	lending(t, c, 1)
	c.Await("the budget to refuse", func(context.Context) error {
		if p.refused("evict", 429) == 0 {
			return fmt.Errorf("it was not asked")
		}
		return nil
	})
	if _, returning := loans(t, c); !slices.Equal(returning, lent[:1]) {
		t.Errorf("nodes %v are being returned, want %v, which a budget keeps", returning, lent[:1])
	}
	running(c, strings.TrimPrefix(keep, "default/"), 4)
	began = time.Now()
	if err := c.Client.PolicyV1().PodDisruptionBudgets("default").Delete(t.Context(), "keep", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	lending(t, c, 0)
	back := time.Since(began)
	c.AwaitPods("default", "", 8, "run", kubetest.Running)
	k.finish()
	said, gone := sayDeleted(t, k, "scheduler"), k.deleted()
	if strings.Join(said, " ") != strings.Join(gone, " ") || len(gone) != 8 {
		t.Errorf("the scheduler says that it deleted %v, and gone are %v, want 8", said, gone)
	}
	x := tally{name: "nodes on loan"}
	x.row("nodes lent, and gangs of 8 GPUs run there, after", took.Round(time.Millisecond))
	x.row("a node is back, once its budget is gone, after", back.Round(time.Millisecond))
	for _, what := range []string{"lent", "recalled", "returned"} {
		x.row(`loans_total{what="`+what+`"}`, s.metric(t, `clustergym_kube_loans_total{what="`+what+`"}`))
	}
	x.row(`stopped_total{why="reclaim"}`, s.metric(t, `clustergym_kube_stopped_total{why="reclaim"}`))
	x.row(`stopped_total{why="budget"}`, s.metric(t, `clustergym_kube_stopped_total{why="budget"}`))
	x.row("evictions that succeeded", p.count("evict"))
	x.row("evictions that a budget refused (429)", p.refused("evict", 429))
	x.rows = append(x.rows, k.rows(4, 16)...)
	x.log(t)
}

// kept returns the gang on a node.
func kept(k *checker, node string) string {
	for _, pod := range k.list(func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node }) {
		return gangOf(pod)
	}
	return ""
}

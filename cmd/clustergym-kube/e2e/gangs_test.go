package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

func bound(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

// TestGangs checks that gangs of every API are bound completely or not at all, and that waiting gangs get the reason.
func TestGangs(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NativeGroups: true})
	c.ApplyCRD()
	c.KWOK(4)
	s := run(t, c, "clustergym-kube", "--mode=live", "--policy=sjfskip", "--estimate=1h")
	for name, api := range map[string]kubetest.API{"native": kubetest.Native, "crd": kubetest.Coscheduling, "labels": kubetest.Labelled} {
		c.GangPods(kubetest.Gang{API: api, Name: name, Pods: 4, GPUs: 2})
	}
	pod := kubetest.Pod("default", "alone", 1)
	if _, err := c.Client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"native", "crd", "labels"} {
		c.AwaitPods("default", kubetest.Gang{Name: name}.Selector(), 4, "run", kubetest.Running)
	}
	// 25 of 32 GPUs are taken: this gang does not fit, and none of its pods may be bound.
	big := kubetest.Gang{API: kubetest.Native, Name: "big", Pods: 2, GPUs: 8}
	c.GangPods(big)
	waiting := c.AwaitPods("default", big.Selector(), 2, "know why they wait", func(pod *corev1.Pod) bool {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return strings.Contains(condition.Message, "no-room") || strings.Contains(condition.Message, "no-hole")
			}
		}
		return false
	})
	for i := range waiting {
		if bound(&waiting[i]) {
			t.Errorf("pod %s of a gang that does not fit is on %s", waiting[i].Name, waiting[i].Spec.NodeName)
		}
	}
	if got := s.metric(t, `clustergym_kube_bound_total{what="gangs"}`); got != "4" {
		t.Errorf("%s gangs bound, want 4", got)
	}
}

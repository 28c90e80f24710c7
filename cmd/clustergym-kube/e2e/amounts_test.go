package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// grantAmounts creates the control ConfigMap with bounds on what pods may hold.
func grantAmounts(t *testing.T, c *kubetest.Cluster, bounds string) {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: control.ControlName}}
	if bounds != "" {
		m.Data = map[string]string{"amounts": bounds}
	}
	if _, err := c.Client.CoreV1().ConfigMaps("default").Create(t.Context(), m, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// resizePods plays the kubelets' part of resizes until the test ends: running pods get what they request.
func resizePods(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		pods := c.Client.CoreV1().Pods("default")
		for ; ctx.Err() == nil; pauseFor(ctx, 50*time.Millisecond) {
			list, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for i := range list.Items {
				pod := &list.Items[i]
				was := pod.Status.DeepCopy()
				for k := range pod.Status.ContainerStatuses {
					pod.Status.ContainerStatuses[k].Resources = pod.Spec.Containers[k].Resources.DeepCopy()
				}
				if kubetest.Running(pod) && !equality.Semantic.DeepEqual(was, &pod.Status) {
					_, _ = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{}) // again the next time
				}
			}
		}
	}()
}

// TestAmountsOfAGang checks that a gang's pods are resized before they are bound, and that running pods get back what they held when the
// gang reports that it is slower.
func TestAmountsOfAGang(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{})
	c.KWOK(0)
	c.AddNodes(1, nil)
	grantAmounts(t, c, "default: cpu=1..4")
	s := run(t, c, "clustergym-kube", "--mode=live", "--policy=sjfskip+menu+know:speed=fit", "--readings-settle=0s", "--period=200ms")
	gang := kubetest.Gang{API: kubetest.Labelled, Name: "train", Pods: 2, GPUs: 2, Edit: func(_ int, pod *corev1.Pod) {
		for _, list := range []corev1.ResourceList{pod.Spec.Containers[0].Resources.Requests, pod.Spec.Containers[0].Resources.Limits} {
			list[corev1.ResourceCPU], list[corev1.ResourceMemory] = resource.MustParse("6"), resource.MustParse("80Gi")
		}
	}}
	c.GangPods(gang)
	resizePods(t, c)
	cpus := func(pod *corev1.Pod) float64 {
		return pod.Spec.Containers[0].Resources.Requests.Cpu().AsApproximateFloat64()
	}
	pods := c.AwaitPods("default", gang.Selector(), 2, "run with more CPU", func(pod *corev1.Pod) bool { return kubetest.Running(pod) && cpus(pod) > 6 })
	more := cpus(&pods[0])
	for i := range pods {
		p := &pods[i]
		limit := p.Spec.Containers[0].Resources.Limits.Cpu().AsApproximateFloat64()
		if note := p.Annotations[mirror.RequestedAnnotation]; note != `{"cpu":"6","memory":"80Gi"}` || limit != cpus(p) || more > 24 {
			t.Errorf("pod %s has %v CPUs, a limit of %v and the note %s", p.Name, cpus(p), limit, note)
		}
	}
	report := func(speed float64) {
		t.Helper()
		before := s.metric(t, `clustergym_kube_readings_total{source="annotation"}`)
		value := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%g@%s"}}}`, measure.Annotation, speed, time.Now().UTC().Format(time.RFC3339Nano))
		_, err := c.Client.CoreV1().Pods("default").Patch(t.Context(), pods[0].Name, types.MergePatchType, []byte(value), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.Await("a reading", func(context.Context) error {
			if s.metric(t, `clustergym_kube_readings_total{source="annotation"}`) == before {
				return fmt.Errorf("%s readings", before)
			}
			return nil
		})
	}
	time.Sleep(time.Second) // for the kubelet's part, after which reports count
	report(1e6)
	for i := range pods { // somebody resizes the pods
		less := `{"spec":{"containers":[{"name":"train","resources":{"requests":{"cpu":"7"},"limits":{"cpu":"7"}}}]}}`
		_, err := c.Client.CoreV1().Pods("default").Patch(t.Context(), pods[i].Name, types.StrategicMergePatchType, []byte(less),
			metav1.PatchOptions{}, "resize")
		if err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second)
	report(1e5)
	c.AwaitPods("default", gang.Selector(), 2, "have their CPUs back", func(pod *corev1.Pod) bool { return cpus(pod) == more })
	if got := s.metric(t, `clustergym_kube_stopped_total{why="policy"}`); got != "0" {
		t.Errorf("%s gangs stopped", got)
	}
}

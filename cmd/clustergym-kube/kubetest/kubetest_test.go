package kubetest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// TestCluster runs all tests that can share a cluster, because a cluster takes seconds to start.
func TestCluster(t *testing.T) {
	c := kubetest.Start(t, kubetest.Options{NativeGroups: true, Tokens: map[string][]string{"viewer": {"viewers"}}})
	c.KWOK(20)
	c.ControllerManager()
	c.Scheduler()

	t.Run("nodes of KWOK are ready", func(t *testing.T) {
		nodes, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ready := 0
		for i := range nodes.Items {
			node := &nodes.Items[i]
			if gpus := node.Status.Allocatable[kubetest.GPU]; mirror.Ready(node) && gpus.Value() == 8 {
				ready++
			}
		}
		if ready != 20 || nodes.Items[19].Name != "gpu-019" {
			t.Errorf("%d nodes of %d are ready with their GPUs, want gpu-000 to gpu-019", ready, len(nodes.Items))
		}
	})

	t.Run("the stock scheduler runs a gang that fits, all of it, and none of one that does not", func(t *testing.T) {
		fits := kubetest.Gang{Name: "fits", Pods: 8, GPUs: 4, Scheduler: corev1.DefaultSchedulerName}
		c.GangPods(kubetest.Gang{Name: "large", Pods: 21, GPUs: 8, Scheduler: corev1.DefaultSchedulerName})
		c.GangPods(fits)
		c.AwaitPods("default", fits.Selector(), 8, "running", kubetest.Running)
		group, err := c.Client.SchedulingV1alpha2().PodGroups("default").Get(t.Context(), "fits", metav1.GetOptions{})
		if err != nil || group.Spec.SchedulingPolicy.Gang.MinCount != 8 {
			t.Errorf("group %v, error %v, want a gang of 8", group, err)
		}
		large := kubetest.Gang{Name: "large"}.Selector()
		for _, pod := range c.AwaitPods("default", large, 21, "found unschedulable", func(pod *corev1.Pod) bool {
			return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
				return condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable
			})
		}) {
			if pod.Spec.NodeName != "" {
				t.Errorf("pod %s is on %s, want none of its gang bound", pod.Name, pod.Spec.NodeName)
			}
		}
	})

	t.Run("a pod without run-for runs on, and one with it succeeds", func(t *testing.T) {
		for name, runFor := range map[string]string{"on": "", "ends": "500ms"} {
			pod := kubetest.Pod("default", name, 1)
			pod.Spec.NodeName = "gpu-019"
			if runFor != "" {
				pod.Annotations = map[string]string{kubetest.RunFor: runFor}
			}
			pod.Labels = map[string]string{"test": "run-for"}
			create(t, c.Client, pod)
		}
		c.AwaitPods("default", "test=run-for", 1, "succeeded", kubetest.Succeeded)
		for _, pod := range c.AwaitPods("default", "test=run-for", 1, "running", kubetest.Running) {
			if want := pod.Name == "on"; kubetest.Running(&pod) != want {
				t.Errorf("pod %s is %s", pod.Name, pod.Status.Phase)
			}
		}
		began := time.Now()
		if err := c.Client.CoreV1().Pods("default").Delete(t.Context(), "on", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Await("the end of a deleted pod", func(ctx context.Context) error {
			_, err := c.Client.CoreV1().Pods("default").Get(ctx, "on", metav1.GetOptions{})
			if err == nil {
				return errors.New("it is still there")
			}
			return ignoreNotFound(err)
		})
		t.Logf("a deleted pod was gone after %v", time.Since(began).Round(time.Millisecond))
	})

	t.Run("an indexed Job completes when its pods have run", func(t *testing.T) {
		indexed, three := batchv1.IndexedCompletion, int32(3)
		pod := kubetest.Pod("", "", 2)
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		pod.Annotations = map[string]string{kubetest.RunFor: "1s"}
		job, err := c.Client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: "indexed"},
			Spec: batchv1.JobSpec{
				CompletionMode: &indexed, Completions: &three, Parallelism: &three,
				Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		c.Await("the Job's end", func(ctx context.Context) error {
			job, err = c.Client.BatchV1().Jobs("default").Get(ctx, "indexed", metav1.GetOptions{})
			if err == nil && job.Status.Succeeded != 3 {
				err = fmt.Errorf("%d of 3 pods have succeeded", job.Status.Succeeded)
			}
			return err
		})
		if ran := time.Since(began); ran < time.Second {
			t.Errorf("the Job completed after %v, want its pods to run for 1s", ran)
		}
		groups, err := c.Client.SchedulingV1alpha2().PodGroups("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(groups.Items) != 3 { // the groups fits and large, and the Job's
			t.Errorf("%d groups, error %v, want the job controller to have made one", len(groups.Items), err)
		}
	})

	t.Run("a gang is told by other APIs too", func(t *testing.T) {
		c.ApplyCRD()
		c.GangPods(kubetest.Gang{API: kubetest.Coscheduling, Name: "other", Pods: 2, GPUs: 1})
		out, err := c.Kubectl("get", "podgroups.scheduling.x-k8s.io", "other", "-o", "jsonpath={.spec.minMember}")
		if err != nil || out != "2" {
			t.Errorf("minMember %q, error %v, want 2", out, err)
		}
		pods := c.GangPods(kubetest.Gang{API: kubetest.Labelled, Name: "label", Pods: 3, GPUs: 1, MinCount: 2})
		for _, pod := range pods {
			if pod.Labels["scheduling.x-k8s.io/pod-group"] != "label" || pod.Annotations["clustergym.dev/min-member"] != "2" ||
				pod.Spec.SchedulingGroup != nil {
				t.Errorf("pod %s is not one of a gang by label: %v %v", pod.Name, pod.Labels, pod.Annotations)
			}
		}
	})

	t.Run("kubectl prints, and says why it cannot", func(t *testing.T) {
		out, err := c.Kubectl("get", "nodes", "--no-headers")
		if err != nil || strings.Count(out, " Ready ") != 20 {
			t.Errorf("kubectl printed %q, error %v, want 20 nodes that are ready", out, err)
		}
		if _, err := c.Kubectl("get", "node", "none"); err == nil || !strings.Contains(err.Error(), `nodes "none" not found`) {
			t.Errorf("error %v, want one that says that node none was not found", err)
		}
	})

	t.Run("a user may do what RBAC grants and nothing else", func(t *testing.T) {
		viewer, err := kubernetes.NewForConfig(c.ConfigOf("viewer"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := viewer.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("list pods: error %v, want it forbidden before anything is granted", err)
		}
		for _, grant := range []string{
			"create role viewer --verb=get,list --resource=pods", "create rolebinding viewers --role=viewer --group=viewers",
		} {
			if _, err := c.Kubectl(strings.Fields(grant)...); err != nil {
				t.Fatal(err)
			}
		}
		c.Await("the viewer's rights", func(ctx context.Context) error {
			_, err := viewer.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			return err
		})
		_, err = viewer.CoreV1().Pods("default").Create(t.Context(), kubetest.Pod("default", "refused", 1), metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("make a pod: error %v, want it forbidden", err)
		}
		_, err = c.Kubectl("--kubeconfig="+c.KubeconfigOf("viewer"), "delete", "pod", "fits-0")
		if err == nil || !strings.Contains(err.Error(), `User "viewer" cannot delete`) {
			t.Errorf("delete a pod: error %v, want it forbidden", err)
		}
	})

	t.Run("the API server comes back with its data after a crash", func(t *testing.T) {
		before, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.KillAPIServer()
		if _, err := c.Client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Error("a killed API server answers")
		}
		c.RestartAPIServer()
		after, err := c.Client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(after.Items) != len(before.Items) {
			t.Errorf("%d pods after the crash, error %v, want the %d before", len(after.Items), err, len(before.Items))
		}
		c.AddNodes(1, nil) // KWOK connects again
	})
}

func create(t *testing.T, client kubernetes.Interface, pod *corev1.Pod) {
	t.Helper()
	if _, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

package kubetest_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// TestKueue checks that Kueue admits Jobs by quota: of two that each need all of it, the second one starts when the first is
// complete.
func TestKueue(t *testing.T) {
	if !kubetest.WithKueue() {
		return
	}
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	c.KWOK(2)
	c.ControllerManager("job")
	c.Scheduler()
	c.Kueue()
	c.Apply(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: flavor}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu, memory, nvidia.com/gpu]
      flavors:
        - name: flavor
          resources: [{name: cpu, nominalQuota: 99}, {name: memory, nominalQuota: 99Gi}, {name: nvidia.com/gpu, nominalQuota: 8}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: mine, namespace: default}
spec: {clusterQueue: all}
`)
	two, suspend := int32(2), true
	jobs := c.Client.BatchV1().Jobs("default")
	for _, name := range []string{"first", "second"} {
		pod := kubetest.Pod("", "", 4)
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
		pod.Annotations = map[string]string{kubetest.RunFor: "2s"}
		_, err := jobs.Create(t.Context(), &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kueue.x-k8s.io/queue-name": "mine"}},
			Spec: batchv1.JobSpec{
				Parallelism: &two, Completions: &two, Suspend: &suspend,
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: pod.Annotations}, Spec: pod.Spec},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c.Await(name+" admitted or waiting", func(ctx context.Context) error {
			text, err := c.Kubectl("get", "clusterqueue", "all", "-o", "jsonpath={.status.pendingWorkloads} {.status.reservingWorkloads}")
			if want := map[string]string{"first": "0 1", "second": "1 1"}[name]; err == nil && text != want {
				err = fmt.Errorf("%q workloads wait and have quota, want %q", text, want)
			}
			return err
		})
	}
	c.Await("the end of both", func(ctx context.Context) error {
		first, err := jobs.Get(ctx, "first", metav1.GetOptions{})
		if err != nil {
			return err
		}
		second, err := jobs.Get(ctx, "second", metav1.GetOptions{})
		if err != nil {
			return err
		}
		began, ended := second.Status.StartTime, first.Status.CompletionTime
		switch {
		case began != nil && (ended == nil || began.Before(ended)):
			t.Fatalf("the second starts at %v, the first ends at %v", began, ended)
		case second.Status.CompletionTime == nil:
			return fmt.Errorf("the second has status %v", second.Status)
		}
		return nil
	})
}

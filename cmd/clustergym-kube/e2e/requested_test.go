package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// TestWhatWasRequested checks on a real API server that only the program may write the annotation with what a pod requested first, and
// that a pod which the program resizes beyond its limits and back has its own requests and limits again.
func TestWhatWasRequested(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{Tokens: map[string][]string{account: {"system:masters"}}})
	if _, err := c.Kubectl("apply", "-f", repositoryPath(t, "deploy", "kustomize", "overlays", "live", "fields.yaml")); err != nil {
		t.Fatal(err)
	}
	pods := c.Client.CoreV1().Pods("default")
	refused := func(err error) error {
		if err == nil {
			return errors.New("it is accepted")
		}
		if !strings.Contains(err.Error(), "only clustergym may set, change or remove the annotation") {
			return fmt.Errorf("not the error of the admission policy: %w", err)
		}
		return nil
	}
	c.Await("the admission policy", func(ctx context.Context) error {
		pod := kubetest.Pod("default", "liar", 2)
		pod.Annotations = map[string]string{mirror.RequestedAnnotation: `{"cpu":"1m","memory":"1Mi"}`}
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return refused(err)
	})
	pod := kubetest.Pod("default", "train", 2)
	own := &pod.Spec.Containers[0].Resources
	own.Requests[corev1.ResourceCPU], own.Limits[corev1.ResourceCPU] = resource.MustParse("8"), resource.MustParse("16")
	is := must.Get(pods.Create(t.Context(), pod, metav1.CreateOptions{}))(t)
	client := must.Get(kubernetes.NewForConfig(c.ConfigOf(account)))(t)
	m, program := &mirror.Config{GPU: kubetest.GPU}, &act.Actor{Client: client}
	for _, cpu := range []int32{8000, 10000, 4000} { // for each of two GPUs: at the limit, beyond it, back
		amount := cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: cpu, MemMiB: 1 << 10}
		container, resources, ok := m.Resized(is, amount)
		if !ok {
			t.Fatalf("a pod that holds %+v is not resized to %+v", m.Held(is), amount)
		}
		resizing := act.Resizing{
			Pod: is, Container: container, Resources: resources, Annotation: mirror.RequestedAnnotation, Value: m.Requested(is),
		}
		must.Do(t, program.Resize(t.Context(), []act.Resizing{resizing})[0])
		is = must.Get(pods.Get(t.Context(), "train", metav1.GetOptions{}))(t)
		if m.Held(is) != amount {
			t.Fatalf("the pod holds %+v, want %+v", m.Held(is), amount)
		}
	}
	now := is.Spec.Containers[0].Resources
	if now.Requests.Cpu().Cmp(*own.Requests.Cpu()) != 0 || now.Limits.Cpu().Cmp(*own.Limits.Cpu()) != 0 {
		t.Errorf("back at %v, want %v", now, own)
	}
	for _, value := range []string{`"{}"`, "null"} {
		text := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, mirror.RequestedAnnotation, value)
		_, err := pods.Patch(t.Context(), "train", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		if err := refused(err); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := pods.Patch(t.Context(), "train", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Errorf("a label is refused: %v", err)
	}
}

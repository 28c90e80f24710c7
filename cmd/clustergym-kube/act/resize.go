package act

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Resizing gives a container of a pod other requests and limits of CPU and memory.
type Resizing struct {
	Pod       *corev1.Pod
	Container string
	Resources corev1.ResourceRequirements // of CPU and memory alone
	// Annotation is set to Value before, unless the pod has the annotation already.
	Annotation, Value string
}

// Resize resizes pods through the subresource resize, whether or not they run. It returns one error for each, nil if the API
// server has accepted the new resources or the pod is gone. The kubelet may take its time, or find that its node has too
// little.
func (a *Actor) Resize(ctx context.Context, all []Resizing) []error {
	return a.each(len(all), func(i int) error {
		r := &all[i]
		err := a.resize(ctx, r)
		a.note(ctx, "resize", err, "pod", name(r.Pod), "container", r.Container, "requests", r.Resources.Requests)
		if err != nil {
			return fmt.Errorf("resize pod %s: %w", name(r.Pod), err)
		}
		return nil
	})
}

func (a *Actor) resize(ctx context.Context, r *Resizing) error {
	if _, has := r.Pod.Annotations[r.Annotation]; !has && r.Annotation != "" {
		patch, err := podPatch(r.Pod, map[string]string{r.Annotation: r.Value}, nil)
		if err != nil {
			return err
		}
		if err := a.patchPod(ctx, r.Pod, types.MergePatchType, patch); err != nil {
			return err
		}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.Pod.UID},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": r.Container, "resources": r.Resources}}},
	})
	if err != nil {
		return err
	}
	err = try(ctx, func() error {
		_, err := a.Client.CoreV1().Pods(r.Pod.Namespace).Patch(ctx, r.Pod.Name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{FieldManager: manager}, "resize")
		// An API server without this subresource says that it is not found, whether or not the pod is there.
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) {
			if gone, unread := a.gone(ctx, r.Pod); unread == nil && gone {
				return nil
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("patch pod %s: %w", name(r.Pod), err)
	}
	return nil
}

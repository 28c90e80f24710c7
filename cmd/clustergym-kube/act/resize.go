package act

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

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
// little. An error wraps ErrUnread if the server may have accepted them, and its last state of the pod could not be read.
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
	if err == nil {
		return nil
	}
	err = fmt.Errorf("patch pod %s: %w", name(r.Pod), err)
	if !passes(err) && ctx.Err() == nil {
		return err
	}
	switch done, unread := a.resized(ctx, r); { // the server may have carried out a request whose answer was lost
	case unread != nil:
		return fmt.Errorf("%w: %w: %w", ErrUnread, err, unread)
	case done:
		return nil
	default:
		return err
	}
}

// Resized asks the server which resizes it has carried out, and changes nothing. It returns one error for each, nil if the pod
// requests the new resources or is gone. An error wraps ErrUnread if the server could not be asked.
func (a *Actor) Resized(ctx context.Context, all []Resizing) []error {
	return a.each(len(all), func(i int) error {
		done, err := a.resized(ctx, &all[i])
		switch {
		case err != nil:
			return fmt.Errorf("read pod %s: %w: %w", name(all[i].Pod), ErrUnread, err)
		case !done:
			return fmt.Errorf("pod %s requests what it did before", name(all[i].Pod))
		}
		return nil
	})
}

func (a *Actor) resized(ctx context.Context, r *Resizing) (done bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	pod, err := a.Client.CoreV1().Pods(r.Pod.Namespace).Get(ctx, r.Pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && (pod.UID != r.Pod.UID || r.Done(pod)), err
}

// Done reports whether a pod requests what a resize gives it.
func (r *Resizing) Done(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		if c.Name != r.Container {
			return false
		}
		for name, want := range r.Resources.Requests {
			if has := c.Resources.Requests[name]; has.Cmp(want) != 0 {
				return false
			}
		}
		return true
	})
}

// Apply sets in a pod what a resize sets.
func (r *Resizing) Apply(pod *corev1.Pod) {
	if _, has := pod.Annotations[r.Annotation]; !has && r.Annotation != "" {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, r.Annotation, r.Value)
	}
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == r.Container {
			maps.Copy(c.Resources.Requests, r.Resources.Requests)
			maps.Copy(c.Resources.Limits, r.Resources.Limits)
		}
	}
}

package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Evict asks the server to evict pods. It returns one error per pod, nil if the pod is evicted or gone. If a disruption budget
// refuses the eviction, the error wraps ErrBudget.
func (a *Actor) Evict(ctx context.Context, pods []*corev1.Pod) []error {
	return a.pods(ctx, "evict", pods, func(pod *corev1.Pod) error {
		eviction := &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: precondition(pod)},
		}
		return a.remove(ctx, "evict", pod, func() error {
			err := a.Client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, eviction)
			if apierrors.IsTooManyRequests(err) && apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
				return fmt.Errorf("%w: %w", ErrBudget, err)
			}
			return err
		})
	})
}

// Delete deletes pods, regardless of their disruption budgets. It returns one error per pod, nil if the pod is deleted or gone.
func (a *Actor) Delete(ctx context.Context, pods []*corev1.Pod) []error {
	return a.pods(ctx, "delete", pods, func(pod *corev1.Pod) error {
		return a.remove(ctx, "delete", pod, func() error {
			return a.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: precondition(pod)})
		})
	})
}

// remove calls the function do, which sends a request that changes or removes pod, with retries. It returns nil if do succeeds or
// if the pod is gone.
func (a *Actor) remove(ctx context.Context, what string, pod *corev1.Pod, do func() error) error {
	err := try(ctx, func() error {
		err := do()
		// Another pod may have the name now. The server then rejects a patch as invalid, and checks that pod's budget before the UID of
		// an eviction.
		if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || errors.Is(err, ErrBudget) {
			if gone, unread := a.gone(ctx, pod); unread == nil && gone {
				return nil
			}
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s pod %s: %w", what, name(pod), err)
	}
	return nil
}

// gone reports whether the pod no longer exists on the server.
func (a *Actor) gone(ctx context.Context, pod *corev1.Pod) (bool, error) {
	now, err := a.Client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return err == nil && now.UID != pod.UID, err
}

func precondition(pod *corev1.Pod) *metav1.Preconditions { return &metav1.Preconditions{UID: &pod.UID} }

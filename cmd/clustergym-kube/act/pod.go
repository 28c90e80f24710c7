package act

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Unschedulable sets the condition PodScheduled of a waiting pod to False, with the given reason (Unschedulable if empty) and
// message. It writes nothing if the pod object already has this condition or a node. If the pod is gone it returns no error.
func (a *Actor) Unschedulable(ctx context.Context, pod *corev1.Pod, reason, message string) error {
	if reason == "" {
		reason = corev1.PodReasonUnschedulable
	}
	condition := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: metav1.Now(),
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if c.Reason == reason && c.Message == message {
				return nil
			}
			condition.LastTransitionTime = c.LastTransitionTime // only the reason or message changes, not the state
		}
	}
	if pod.Spec.NodeName != "" {
		return nil
	}
	patch, err := podPatch(pod, nil, map[string]any{"conditions": []corev1.PodCondition{condition}})
	if err == nil {
		err = a.patchPod(ctx, pod, types.StrategicMergePatchType, patch, "status")
	}
	a.note(ctx, "set condition", err, "pod", name(pod), "reason", reason, "message", message)
	if err != nil {
		return fmt.Errorf("set condition PodScheduled of pod %s: %w", name(pod), err)
	}
	return nil
}

// podPatch returns a patch of a pod's annotations and status that the server applies only if the pod still has this UID.
func podPatch(pod *corev1.Pod, annotations map[string]string, status any) ([]byte, error) {
	metadata := map[string]any{"uid": pod.UID}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	patch := map[string]any{"metadata": metadata}
	if status != nil {
		patch["status"] = status
	}
	return json.Marshal(patch)
}

// patchPod patches a pod. If the pod is gone it returns no error.
func (a *Actor) patchPod(ctx context.Context, pod *corev1.Pod, form types.PatchType, patch []byte, part ...string) error {
	return a.remove(ctx, "patch", pod, func() error {
		_, err := a.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, form, patch,
			metav1.PatchOptions{FieldManager: manager}, part...)
		return err
	})
}

package e2e

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// own acts as the owner of a gang whose pods work together. It deletes failed pods, which tend then creates again, and lets all
// pods succeed when they have run together for long enough. After an error it tries again the next time. A pod that is created
// again gets another name, as those of Jobs do: KWOK deletes pods by name, and could otherwise delete the new one.
func (l *load) own(ctx context.Context, g *madeGang, pods []*corev1.Pod) {
	running, ended := 0, 0
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
		case kubetest.Running(pod):
			running++
		case kubetest.Succeeded(pod):
			ended++
		case pod.Status.Phase == corev1.PodFailed:
			_ = l.k.remove(ctx, pod, metav1.DeleteOptions{})
		}
	}
	switch {
	case running+ended < g.pods:
		g.since = time.Time{}
	case g.since.IsZero():
		g.since = time.Now()
	}
	if g.since.IsZero() || ended == 0 && time.Since(g.since) < g.together {
		return
	}
	for _, pod := range pods {
		if kubetest.Running(pod) && pod.DeletionTimestamp == nil {
			_ = setPhase(ctx, l.k.c, pod, corev1.PodSucceeded)
		}
	}
}

// hasLeft reports whether a pod of this name has been deleted.
func (k *checker) hasLeft(pod *corev1.Pod) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.left[pod.Namespace+"/"+pod.Name]
}

// remove deletes a pod and notes that the test did so. Unlike delete it may be called on any goroutine.
func (k *checker) remove(ctx context.Context, pod *corev1.Pod, options metav1.DeleteOptions) error {
	k.mu.Lock()
	k.mine[pod.UID] = true
	k.mu.Unlock()
	options.Preconditions = &metav1.Preconditions{UID: &pod.UID}
	return k.c.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
}

// setPhase sets the phase of a pod, as its kubelet would.
func setPhase(ctx context.Context, c *kubetest.Cluster, pod *corev1.Pod, phase corev1.PodPhase) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":%q}}`, pod.UID, phase)
	_, err := c.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

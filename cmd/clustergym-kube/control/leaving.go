package control

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// leaving stores the pods that the API server has agreed to delete, until the watch shows the deletion. Without it a round could
// stop a gang again and count a second stop.
type leaving map[types.UID]metav1.Time

// note stores the pods whose deletion returned no error.
func (l leaving) note(pods []*corev1.Pod, errs []error, now metav1.Time) {
	for i, pod := range pods {
		if errs[i] == nil {
			l[pod.UID] = now
		}
	}
}

// show replaces, in the caller's list, the stored pods that do not show their deletion yet by copies that do. It forgets the
// other stored pods: they show it or are gone.
func (l leaving) show(pods []*corev1.Pod) {
	overlay(l, pods, func(pod *corev1.Pod, _ metav1.Time) bool { return pod.DeletionTimestamp == nil },
		func(pod *corev1.Pod, at metav1.Time) { pod.DeletionTimestamp = &at })
}

// overlay replaces, in the caller's list, the stored pods for which open returns true by copies that apply has changed. It
// forgets the other stored pods.
func overlay[T any](stored map[types.UID]T, pods []*corev1.Pod, open func(*corev1.Pod, T) bool, apply func(*corev1.Pod, T)) {
	if len(stored) == 0 {
		return
	}
	kept := make(map[types.UID]bool, len(stored))
	for i, pod := range pods {
		if x, ok := stored[pod.UID]; ok && open(pod, x) {
			kept[pod.UID] = true
			pods[i] = pod.DeepCopy() // the watch owns the original object
			apply(pods[i], x)
		}
	}
	maps.DeleteFunc(stored, func(uid types.UID, _ T) bool { return !kept[uid] })
}

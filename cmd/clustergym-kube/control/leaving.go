package control

import (
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
	if len(l) == 0 {
		return
	}
	seen := make(map[types.UID]bool, len(l))
	for i, pod := range pods {
		if at, ok := l[pod.UID]; ok && pod.DeletionTimestamp == nil {
			seen[pod.UID] = true
			pods[i] = pod.DeepCopy() // the watch owns the original object
			pods[i].DeletionTimestamp = &at
		}
	}
	for uid := range l {
		if !seen[uid] {
			delete(l, uid)
		}
	}
}

package control

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// leaving remembers pods that the API server has been made to delete, until the watch shows it. Without it a round could stop a
// gang again, and count that as another stop.
type leaving map[types.UID]metav1.Time

// note remembers the pods that were deleted without an error.
func (l leaving) note(pods []*corev1.Pod, errs []error, now metav1.Time) {
	for i, pod := range pods {
		if errs[i] == nil {
			l[pod.UID] = now
		}
	}
}

// show has pods, the caller's own list, show that they are being deleted, and forgets those of which it knows no more than they
// show themselves.
func (l leaving) show(pods []*corev1.Pod) {
	if len(l) == 0 {
		return
	}
	seen := make(map[types.UID]bool, len(l))
	for i, pod := range pods {
		if at, ok := l[pod.UID]; ok && pod.DeletionTimestamp == nil {
			seen[pod.UID] = true
			pods[i] = pod.DeepCopy() // the watch's own object stays as it is
			pods[i].DeletionTimestamp = &at
		}
	}
	for uid := range l {
		if !seen[uid] {
			delete(l, uid)
		}
	}
}

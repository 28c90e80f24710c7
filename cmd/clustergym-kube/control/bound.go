package control

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
)

// unsure is how long a pod counts as bound when the server has not said so: longer than a watch lags.
const unsure = 30 * time.Second

// bound remembers bindings until the watch shows them. Without it a round could give away GPUs that are taken.
type bound struct {
	node  map[types.UID]string
	until map[types.UID]time.Time // of those that the server has not confirmed
}

func newBound() bound { return bound{map[types.UID]string{}, map[types.UID]time.Time{}} }

// settle forgets what the pods show, pods that are gone, and doubts that have passed.
func (b *bound) settle(pods []*corev1.Pod, now time.Time) {
	if len(b.node) == 0 {
		return
	}
	open := make(map[types.UID]bool, len(b.node))
	for _, pod := range pods {
		if _, ok := b.node[pod.UID]; ok && pod.Spec.NodeName == "" {
			open[pod.UID] = true
		}
	}
	for uid := range b.node {
		if until, doubt := b.until[uid]; !open[uid] || doubt && now.After(until) {
			delete(b.node, uid)
			delete(b.until, uid)
		}
	}
}

// note remembers what came of a binding.
func (b *bound) note(of act.Binding, err error, now time.Time) {
	switch {
	case err == nil:
		b.node[of.Pod.UID] = of.Node
	case errors.Is(err, act.ErrUnknown):
		b.node[of.Pod.UID], b.until[of.Pod.UID] = of.Node, now.Add(unsure)
	}
}

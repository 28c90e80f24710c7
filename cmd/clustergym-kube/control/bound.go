package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// bound stores bindings until the watch shows them. Without it a round could assign GPUs that are already taken.
type bound struct {
	node  map[types.UID]string
	doubt map[types.UID]act.Binding // bindings that the server may have carried out: its answer was lost
}

func newBound() bound { return bound{map[types.UID]string{}, map[types.UID]act.Binding{}} }

// settle removes the bindings of pods that now show a node, and of pods that are gone.
func (b *bound) settle(pods []*corev1.Pod) {
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
		if !open[uid] {
			b.forget(uid)
		}
	}
}

// note stores the result of a binding.
func (b *bound) note(of act.Binding, err error) {
	b.forget(of.Pod.UID)
	switch {
	case err == nil:
		b.node[of.Pod.UID] = of.Node
	case errors.Is(err, act.ErrUnknown):
		b.node[of.Pod.UID], b.doubt[of.Pod.UID] = of.Node, of
	}
}

func (b *bound) forget(uid types.UID) {
	delete(b.node, uid)
	delete(b.doubt, uid)
}

// dispel repeats the bindings that the server may or may not have carried out, to the same nodes. The rounds count those nodes'
// GPUs as taken, and a binding that has been carried out returns no error when repeated. If a node no longer takes the pod,
// because others have filled or closed it meanwhile, dispel asks where the pod is instead. dispel returns an error if the result
// of any binding is still unknown.
func (b *bound) dispel(ctx context.Context, a *act.Actor, takes func(act.Binding) bool) error {
	if len(b.doubt) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	all := slices.SortedFunc(maps.Values(b.doubt), func(x, y act.Binding) int { return mirror.ByName(x.Pod, y.Pod) })
	var repeat, ask []act.Binding
	for _, of := range all {
		if takes(of) {
			repeat = append(repeat, of)
		} else {
			ask = append(ask, of)
		}
	}
	for i, err := range a.Bind(ctx, repeat) {
		b.note(repeat[i], err)
	}
	for i, err := range a.Where(ctx, ask) {
		b.note(ask[i], err)
	}
	if n := len(b.doubt); n > 0 {
		return fmt.Errorf("learn what became of %d bindings: %w", n, act.ErrUnknown)
	}
	return nil
}

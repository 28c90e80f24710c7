package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// resized stores resizes until the watch shows them. Without it a round could give others what the pods hold, or resize them
// beyond what they requested at first.
type resized map[types.UID]resize

// resize is a resize that the API server has accepted, or may have accepted if its answer was lost.
type resize struct {
	act.Resizing
	doubt bool
	at    time.Time
}

// note stores the result of a resize.
func (r resized) note(of act.Resizing, err error, now time.Time) {
	switch {
	case err == nil:
		r[of.Pod.UID] = resize{of, false, now}
	case errors.Is(err, act.ErrUnread):
		r[of.Pod.UID] = resize{of, true, now}
	}
}

// dispel asks the API server which of the resizes it has carried out whose answers were lost. It returns an error if that of any
// is still unknown.
func (r resized) dispel(ctx context.Context, a *act.Actor, now time.Time) error {
	var ask []act.Resizing
	for _, x := range slices.SortedFunc(maps.Values(r), func(x, y resize) int { return mirror.ByName(x.Pod, y.Pod) }) {
		if x.doubt {
			ask = append(ask, x.Resizing)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	left := 0
	for i, err := range a.Resized(ctx, ask) {
		if delete(r, ask[i].Pod.UID); errors.Is(err, act.ErrUnread) {
			left++
		}
		r.note(ask[i], err, now)
	}
	if left > 0 {
		return fmt.Errorf("learn what became of %d resizes: %w", left, act.ErrUnread)
	}
	return nil
}

// show replaces, in the caller's list, the stored pods that do not show their resize yet by copies that do. It forgets those that
// show it, those that are gone, and after a while all others: somebody else may have resized them since.
func (r resized) show(pods []*corev1.Pod, now time.Time) {
	overlay(r, pods, func(pod *corev1.Pod, x resize) bool { return !x.Done(pod) && now.Sub(x.at) < sparing },
		func(pod *corev1.Pod, x resize) { x.Apply(pod) })
}

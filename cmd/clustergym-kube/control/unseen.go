package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// unseen stores what the API server has done with pods for this process until the watch shows it. Without it a round could assign
// GPUs, CPU and memory twice, resize a pod beyond what it requested first, or stop a gang again and count a second stop.
type unseen map[types.UID]*writes

// writes are what was written of one pod: a binding, a resize and a deletion, nil if there was none. The answer to the first two
// may have been lost, so that they are in doubt.
type writes struct {
	bind                   *act.Binding
	resize                 *act.Resizing
	resized                time.Time // when
	leaves                 *metav1.Time
	bindDoubt, resizeDoubt bool
}

func (u unseen) of(pod *corev1.Pod) *writes {
	w := u[pod.UID]
	if w == nil {
		w = &writes{}
		u[pod.UID] = w
	}
	return w
}

// noteBind stores the result of a binding.
func (u unseen) noteBind(of act.Binding, err error) {
	w, doubt := u.of(of.Pod), errors.Is(err, act.ErrUnknown)
	if w.bind, w.bindDoubt = nil, false; err == nil || doubt {
		w.bind, w.bindDoubt = &of, doubt
	}
}

// noteResize stores the result of a resize.
func (u unseen) noteResize(of act.Resizing, err error, now time.Time) {
	if doubt := errors.Is(err, act.ErrUnread); err == nil || doubt {
		w := u.of(of.Pod)
		w.resize, w.resizeDoubt, w.resized = &of, doubt, now
	}
}

// noteLeaving stores the pods whose deletion returned no error.
func (u unseen) noteLeaving(pods []*corev1.Pod, errs []error, now time.Time) {
	for i, pod := range pods {
		if errs[i] == nil {
			u.of(pod).leaves = &metav1.Time{Time: now}
		}
	}
}

// show returns the pods as the watch shows them, with copies of those of which it does not show everything yet. It forgets what
// the watch shows, pods that are gone, and after a while resizes: somebody else may have resized the pod since.
func (u unseen) show(pods []*corev1.Pod, now time.Time) []*corev1.Pod {
	pods, open := slices.Clone(pods), map[types.UID]bool{}
	for i, pod := range pods {
		w := u[pod.UID]
		if w == nil {
			continue
		}
		if pod.Spec.NodeName != "" {
			w.bind, w.bindDoubt = nil, false
		}
		if pod.DeletionTimestamp != nil {
			w.leaves = nil
		}
		if w.resize != nil && (w.resize.Done(pod) || now.Sub(w.resized) >= sparing) {
			w.resize, w.resizeDoubt = nil, false
		}
		if w.bind == nil && w.resize == nil && w.leaves == nil {
			continue
		}
		open[pod.UID], pods[i] = true, pod.DeepCopy() // the watch owns the original object
		if w.bind != nil {
			pods[i].Spec.NodeName = w.bind.Node
		}
		if w.resize != nil {
			w.resize.Apply(pods[i])
		}
		if w.leaves != nil {
			pods[i].DeletionTimestamp = w.leaves
		}
	}
	maps.DeleteFunc(u, func(uid types.UID, _ *writes) bool { return !open[uid] })
	return pods
}

// learnResizes asks the API server which of the resizes in doubt it has carried out. It returns an error if that of any is still
// unknown.
func (u unseen) learnResizes(ctx context.Context, a *act.Actor, now time.Time) error {
	var ask []act.Resizing
	for _, w := range u {
		if w.resizeDoubt {
			ask = append(ask, *w.resize)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	slices.SortFunc(ask, func(x, y act.Resizing) int { return mirror.ByName(x.Pod, y.Pod) })
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	left := 0
	for i, err := range a.Resized(ctx, ask) {
		w := u.of(ask[i].Pod)
		if w.resize, w.resizeDoubt = nil, false; errors.Is(err, act.ErrUnread) {
			left++
		}
		u.noteResize(ask[i], err, now)
	}
	if left > 0 {
		return fmt.Errorf("learn what became of %d resizes: %w", left, act.ErrUnread)
	}
	return nil
}

// repeatBindings repeats the bindings in doubt, to the same nodes. The rounds count those nodes' GPUs as taken, and a binding
// that has been carried out returns no error when repeated. If a node no longer takes the pod, because others have filled or
// closed it meanwhile, the server is asked where the pod is instead. An error says that the result of a binding is still unknown.
func (u unseen) repeatBindings(ctx context.Context, a *act.Actor, takes func(act.Binding) bool) error {
	var repeat, ask []act.Binding
	for _, w := range u {
		switch {
		case !w.bindDoubt:
		case takes(*w.bind):
			repeat = append(repeat, *w.bind)
		default:
			ask = append(ask, *w.bind)
		}
	}
	if len(repeat)+len(ask) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	left := 0
	for _, x := range []struct {
		bindings []act.Binding
		do       func(context.Context, []act.Binding) []error
	}{{repeat, a.Bind}, {ask, a.Where}} {
		slices.SortFunc(x.bindings, func(p, q act.Binding) int { return mirror.ByName(p.Pod, q.Pod) })
		for i, err := range x.do(ctx, x.bindings) {
			if u.noteBind(x.bindings[i], err); errors.Is(err, act.ErrUnknown) {
				left++
			}
		}
	}
	if left > 0 {
		return fmt.Errorf("learn what became of %d bindings: %w", left, act.ErrUnknown)
	}
	return nil
}

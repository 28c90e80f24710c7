package control

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// holding is what a pod shall hold for each of its GPUs, and the resizing that gives it to the pod.
type holding struct {
	gang   string
	amount cluster.Amount
	act.Resizing
}

// holdings returns what bindings shall give to their pods, for pods that hold something else.
func (r *round) holdings(j *mirror.Job, bind []act.Binding, is cluster.Placement) (list []holding) {
	for _, b := range bind {
		list = append(list, r.hold(j, b.Pod, b.Node, is)...)
	}
	return list
}

// hold returns what a pod on a node shall hold in a placement, unless it holds that.
func (r *round) hold(j *mirror.Job, pod *corev1.Pod, node string, is cluster.Placement) []holding {
	for _, p := range is {
		if r.view.State.Server(p.Server).Name != node {
			continue
		}
		return r.resizing(j, pod, p.Amount)
	}
	return nil
}

// resizing returns the resizing of a pod to an amount for each of its GPUs, or none if it holds that.
func (r *round) resizing(j *mirror.Job, pod *corev1.Pod, to cluster.Amount) []holding {
	container, resources, ok := r.mirror.Resized(pod, to)
	if !ok {
		return nil
	}
	return []holding{{j.Spec.Name, to, act.Resizing{
		Pod: pod, Container: container, Resources: resources,
		Annotation: mirror.RequestedAnnotation, Value: r.mirror.Requested(pod),
	}}}
}

// undone returns what undoes the resizes that a kubelet cannot carry out: all pods of such a gang get what the pod was given
// before. They keep it for the time pinned.
func (l *Loop) undone(ctx context.Context, r *round, now time.Time) (list []holding) {
	for i := range r.view.Jobs {
		j := &r.view.Jobs[i]
		if j.Stuck == nil {
			continue
		}
		l.Log.WarnContext(ctx, "resize undone: the kubelet cannot carry it out", "gang", j.Spec.Name, "pod", j.Stuck.Name)
		l.amounts.failed[j.Spec.Name] = now.Add(pinned)
		granted := r.mirror.Granted(j.Stuck)
		for _, pod := range j.Bound {
			list = append(list, r.resizing(j, pod, granted)...)
		}
	}
	return list
}

// resizeAll resizes the pods of running gangs: first those that get less of something, to make room for the others.
func (l *Loop) resizeAll(ctx context.Context, r *round, now time.Time) error {
	r.holds = append(r.holds, l.undone(ctx, r, now)...)
	var less, more []holding
	for _, h := range r.holds {
		if held := l.Config.Mirror.Held(h.Pod); h.amount.CPUMilli < held.CPUMilli || h.amount.MemMiB < held.MemMiB {
			less = append(less, h)
		} else {
			more = append(more, h)
		}
	}
	_, err := l.resize(ctx, less, now)
	_, also := l.resize(ctx, more, now)
	return errors.Join(err, also)
}

// resize resizes pods, those of a gang one after another in the list. It returns the gangs of pods that were not resized:
// their amounts stay as they are for a while.
func (l *Loop) resize(ctx context.Context, all []holding, now time.Time) (failed map[string]bool, err error) {
	list := make([]act.Resizing, len(all))
	for i := range all {
		list[i] = all[i].Resizing
	}
	errs := l.Actor.Resize(ctx, list)
	failed = map[string]bool{}
	for i, h := range all {
		result := "ok"
		if errs[i] != nil {
			result, failed[h.gang], l.amounts.failed[h.gang] = "error", true, now.Add(sparing)
		}
		l.metrics.resized.WithLabelValues(result).Inc()
	}
	for _, h := range slices.CompactFunc(slices.Clone(all), func(a, b holding) bool { return a.gang == b.gang }) {
		if !failed[h.gang] {
			l.Log.InfoContext(ctx, "resized", "gang", h.gang, "cpu_milli", h.amount.CPUMilli, "memory_mib", h.amount.MemMiB)
		}
	}
	return failed, errors.Join(errs...)
}

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

// undone returns what the pods of gangs shall hold whose kubelets cannot carry out a resize.
func (l *Loop) undone(ctx context.Context, r *round) (list []holding) {
	for _, u := range r.undo {
		l.Log.WarnContext(ctx, "resize undone: the kubelet cannot carry it out", "gang", u.job.Spec.Name, "pod", u.job.Stuck.Name)
		for _, pod := range u.job.Bound {
			if u.each {
				u.to = r.mirror.Granted(pod)
			}
			list = append(list, r.resizing(u.job, pod, u.to)...)
		}
	}
	return list
}

// resizeAll resizes the pods of running gangs: first those that get less of something, so that a quota has room for the others.
// The gangs whose resizes it undoes keep what they then hold for the time pinned.
func (l *Loop) resizeAll(ctx context.Context, r *round, now time.Time) error {
	var less, more []holding
	for _, h := range append(r.holds, l.undone(ctx, r)...) {
		if held := l.Config.Mirror.Held(h.Pod); h.amount.CPUMilli < held.CPUMilli || h.amount.MemMiB < held.MemMiB {
			less = append(less, h)
		} else {
			more = append(more, h)
		}
	}
	failed, err := l.resize(ctx, less, now)
	also, other := l.resize(ctx, more, now)
	for _, u := range r.undo {
		if name := u.job.Spec.Name; !failed[name] && !also[name] {
			l.amounts.keep(name, kept{now.Add(pinned), true})
		}
	}
	return errors.Join(err, other)
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
		l.unseen.noteResize(list[i], errs[i], now)
		result := "ok"
		if errs[i] != nil {
			result, failed[h.gang] = "error", true
			l.amounts.keep(h.gang, kept{until: now.Add(sparing)})
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

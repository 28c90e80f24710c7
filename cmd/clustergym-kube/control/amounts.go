package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// stretch bounds what pods may hold of a resource, as factors on what they requested: least is at most 1, and most at least 1.
type stretch struct{ least, most float64 }

// amountBounds bounds CPU and memory.
type amountBounds struct{ cpu, mem stretch }

// elsewhere stands for all namespaces that are not named.
const elsewhere = "*"

// The limits of the bounds in the control ConfigMap.
const (
	mostSpaces  = 10_000
	leastFactor = 0.1
	mostFactor  = 100
)

const amountsForm = "lines such as team-a: cpu=0.5..4 memory=1..2, with factors from 0.1 to 1 and from 1 to 100"

// readAmounts reads the bounds by namespace: a line for each, such as "team-a: cpu=1..4 memory=1..2". A resource that is not
// named stays as requested.
func readAmounts(text string) (map[string]amountBounds, error) {
	all := map[string]amountBounds{}
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		bad := func(value string) error { return fmt.Errorf("line %d is %q, want %s", i+1, value, amountsForm) }
		space, rest, ok := strings.Cut(line, ":")
		if space = strings.TrimSpace(space); !ok || space == "" || len(all) == mostSpaces {
			return nil, bad(line)
		}
		if _, twice := all[space]; twice {
			return nil, fmt.Errorf("line %d names %q again, want each namespace once", i+1, space)
		}
		b := amountBounds{stretch{1, 1}, stretch{1, 1}}
		for field := range strings.FieldsSeq(rest) {
			name, bounds, _ := strings.Cut(field, "=")
			low, high, ok := strings.Cut(bounds, "..")
			least, errLow := strconv.ParseFloat(low, 64)
			most, errHigh := strconv.ParseFloat(high, 64)
			if !ok || errLow != nil || errHigh != nil || !(least >= leastFactor && least <= 1) || !(most >= 1 && most <= mostFactor) {
				return nil, bad(field)
			}
			switch name {
			case "cpu":
				b.cpu = stretch{least, most}
			case "memory":
				b.mem = stretch{least, most}
			default:
				return nil, bad(field)
			}
		}
		all[space] = b
	}
	return all, nil
}

// of returns the bounds of an amount that was requested.
func (s stretch) of(requested int32) (least, most int32) {
	return int32(math.Ceil(float64(requested) * s.least)), int32(min(float64(requested)*s.most, math.MaxInt32))
}

// pin is what each worker of a gang shall hold until a time, because with more or less of something it was slower.
type pin struct {
	amount cluster.Amount
	until  time.Time
}

// amounts decides what the pods of gangs may hold.
type amounts struct {
	bounds map[string]amountBounds
	pins   map[string]pin       // by gang
	failed map[string]time.Time // gangs whose pods the API server refused to resize: when it last did
}

// boundsOf returns the bounds of a gang; ok is false if its pods keep what they hold.
func (a *amounts) boundsOf(j *mirror.Job) (b amountBounds, ok bool) {
	if b, ok = a.bounds[j.Spec.Tenant]; !ok {
		b, ok = a.bounds[elsewhere]
	}
	_, failed := a.failed[j.Spec.Name]
	return b, ok && !j.Fixed && !j.Resizing && !failed
}

// of returns what a worker of a gang may hold. The placement is that of a running gang.
func (a *amounts) of(j *mirror.Job, now cluster.Placement) (least, most cluster.Amount) {
	b, free := a.boundsOf(j)
	least, most = j.Spec.Request, j.Spec.Request
	switch {
	case free:
		least.CPUMilli, most.CPUMilli = b.cpu.of(j.Spec.Request.CPUMilli)
		least.MemMiB, most.MemMiB = b.mem.of(j.Spec.Request.MemMiB)
		least.CPUMilli, least.MemMiB = max(least.CPUMilli, j.Least.CPUMilli), max(least.MemMiB, j.Least.MemMiB)
		if p, pinned := a.pins[j.Spec.Name]; pinned && j.Running { // within the bounds of now
			kept := clamped(p.amount, least, most)
			return kept, kept
		}
	case len(now) > 0:
		least, most = now[0].Amount, now[0].Amount
		for _, p := range now[1:] {
			least.CPUMilli, most.CPUMilli = min(least.CPUMilli, p.CPUMilli), max(most.CPUMilli, p.CPUMilli)
			least.MemMiB, most.MemMiB = min(least.MemMiB, p.MemMiB), max(most.MemMiB, p.MemMiB)
		}
	}
	return least, most
}

// clamped returns the amount between two others that is next to a.
func clamped(a, least, most cluster.Amount) cluster.Amount {
	a.CPUMilli = min(max(a.CPUMilli, least.CPUMilli), most.CPUMilli)
	a.MemMiB = min(max(a.MemMiB, least.MemMiB), most.MemMiB)
	return a
}

// A gang whose reading is worse by the fraction worse than with other amounts gets those back, and keeps them for the time
// pinned.
const (
	worse  = 0.05
	pinned = time.Hour
)

// judge pins the running gangs that are slower with the amounts that they hold than they were with others that the bounds allow, on
// as many servers of the same kind. It returns the gangs that it has pinned.
func (a *amounts) judge(v *mirror.View, now time.Time) (slower []string) {
	maps.DeleteFunc(a.pins, func(_ string, p pin) bool { return !now.Before(p.until) })
	maps.DeleteFunc(a.failed, func(_ string, at time.Time) bool { return now.Sub(at) >= sparing })
	for i := range v.Jobs {
		j, id := &v.Jobs[i], cluster.JobID(i)
		_, judged := a.pins[j.Spec.Name]
		if _, free := a.boundsOf(j); !j.Running || !free || judged {
			continue
		}
		readings, holds := v.State.Readings(id), v.State.Configuration(id)
		at := slices.IndexFunc(readings, func(r cluster.Reading) bool { return r.Configuration == holds })
		if at < 0 {
			continue
		}
		least, most := a.of(j, nil)
		best := readings[at]
		for _, r := range readings {
			alike := r.Configuration
			if alike.Amount = holds.Amount; alike == holds && r.Speed > best.Speed &&
				r.Configuration.Amount == clamped(r.Configuration.Amount, least, most) {
				best = r
			}
		}
		if readings[at].Speed < (1-worse)*best.Speed {
			a.pins[j.Spec.Name] = pin{best.Amount, now.Add(pinned)}
			slower = append(slower, j.Spec.Name)
		}
	}
	return slower
}

// restore gives the pinned gangs what they are pinned to, as far as there is room.
func (a *amounts) restore(v *mirror.View) {
	tx := v.State.Begin(nil)
	defer tx.End()
	for i := range v.Jobs {
		j, id := &v.Jobs[i], cluster.JobID(i)
		_, pinned := a.pins[j.Spec.Name]
		if _, free := a.boundsOf(j); !pinned || !free || !j.Running {
			continue
		}
		is := slices.Clone(v.State.Placement(id))
		amount, _ := a.of(j, is)
		for k := range is {
			is[k].Amount = amount
		}
		_ = tx.Resize(id, is) // later, if there is no room now
	}
}

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
		if container, resources, ok := r.mirror.Resized(pod, p.Amount); ok {
			return []holding{{j.Spec.Name, p.Amount, act.Resizing{
				Pod: pod, Container: container, Resources: resources,
				Annotation: mirror.RequestedAnnotation, Value: r.mirror.Requested(pod),
			}}}
		}
	}
	return nil
}

// resizeAll resizes the pods of running gangs: first those that get less of something, to make room for the others.
func (l *Loop) resizeAll(ctx context.Context, r *round, now time.Time) error {
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

// resize resizes pods, those of a gang one after another in the list. It returns the gangs of pods that were not resized: their amounts stay as they are for a while.
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
			result, failed[h.gang], l.amounts.failed[h.gang] = "error", true, now
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

package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// inTime is the longest time for the writes of one round. After that the next round reads the cluster again.
const inTime = 30 * time.Second

// errOff ends a round during which somebody switched the mode to one below live.
var errOff = errors.New("no longer live")

// carryOut writes a round's decisions to the cluster: first those that free nodes, then those that use them, then conditions and
// events. Before each part it checks that the mode is still live.
func (l *Loop) carryOut(ctx context.Context, r *round, o *mirror.Objects, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, inTime)
	defer cancel()
	var errs []error
	for _, part := range []func() error{
		func() error { return l.giveUp(ctx, r, now) },
		func() error { return l.stop(ctx, r, now) },
		func() error { return l.scaleAll(ctx, r, now) },
		func() error { return l.resizeAll(ctx, r, now) },
		func() error { return l.lend(ctx, r, o) },
		func() error { return l.bindAll(ctx, r, now) },
		func() error { l.speak(ctx, r, now); return nil },
	} {
		if !l.stillLive(ctx) {
			return errors.Join(append(errs, errOff)...)
		}
		if err := part(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// After a disruption budget refused to let a gang stop, the policy may not stop that gang again for the time sparing. If
// inference wants the gang's node back, the loop tries again after askBack.
const (
	sparing = 5 * time.Minute
	askBack = 5 * time.Second
)

// kept reports whether a disruption budget refused to let a gang stop within the given time before now.
func (l *Loop) kept(gang string, now time.Time, within time.Duration) bool {
	at, ok := l.spared[gang]
	return ok && now.Sub(at) < within
}

// stop records the gangs to stop in the ledger and then evicts their pods. A gang that a budget kept from stopping is in the
// ledger already.
func (l *Loop) stop(ctx context.Context, r *round, now time.Time) error {
	maps.DeleteFunc(l.spared, func(gang string, _ time.Time) bool { return !l.kept(gang, now, sparing) })
	fresh := 0
	for _, id := range r.stop {
		if !l.kept(r.view.Jobs[id].Spec.Name, now, sparing) {
			fresh++
		}
	}
	if fresh > 0 {
		if err := l.ledger.book(ctx, fresh, now); err != nil {
			return err
		}
	}
	var errs []error
	for i, id := range r.stop {
		j := &r.view.Jobs[id]
		if l.kept(j.Spec.Name, now, askBack) {
			l.within(askBack)
			continue
		}
		why := "policy"
		if i >= len(r.stop)-r.forced {
			why = "reclaim"
		}
		refused, budget := l.evict(ctx, j, now)
		errs = append(errs, refused...)
		if budget {
			why = "budget"
		}
		l.metrics.stopped.WithLabelValues(why).Inc()
		l.Log.InfoContext(ctx, "stopped", "gang", j.Spec.Name, "pods", len(j.Bound), "why", why)
		l.said.event(l.Actor, about(&j.Group, j.Bound), corev1.EventTypeNormal, "Preempted", "stopped by %s (%s)",
			l.Decider.Policy().Name, why)
	}
	return errors.Join(errs...)
}

// evict evicts the bound pods of a gang, and notes if a disruption budget refused one of them.
func (l *Loop) evict(ctx context.Context, j *mirror.Job, now time.Time) (errs []error, budget bool) {
	errs = l.Actor.Evict(ctx, j.Bound)
	l.unseen.noteLeaving(j.Bound, errs, now)
	if budget = slices.ContainsFunc(errs, func(err error) bool { return errors.Is(err, act.ErrBudget) }); budget {
		l.spared[j.Spec.Name] = now
	}
	return errs, budget
}

func (l *Loop) scaleAll(ctx context.Context, r *round, now time.Time) error {
	maps.DeleteFunc(l.rigid, func(_ string, at time.Time) bool { return now.Sub(at) >= sparing })
	var errs []error
	for _, x := range r.scale {
		j := &r.view.Jobs[x.job]
		if _, tried := l.rigid[j.Spec.Name]; tried {
			continue
		}
		err := l.Actor.Scale(ctx, j.Bound[0], x.replicas, x.shed)
		result := "ok"
		switch {
		case errors.Is(err, act.ErrRigid):
			result, err = "rigid", nil // the gang keeps its size: its owner is unlikely to become scalable
			l.rigid[j.Spec.Name] = now
			l.said.event(l.Actor, about(&j.Group, j.Bound), corev1.EventTypeWarning, "NotScalable",
				"its owner has no scale: %d pods stay", len(j.Bound))
		case err != nil:
			result = "error"
		default:
			l.Log.InfoContext(ctx, "scaled", "gang", j.Spec.Name, "from", len(j.Bound), "to", x.replicas)
			l.said.event(l.Actor, about(&j.Group, j.Bound), corev1.EventTypeNormal, "Resized", "from %d to %d pods",
				len(j.Bound), x.replicas)
		}
		l.metrics.scaled.WithLabelValues(result).Inc()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// lend puts nodes on loan, starts the return of nodes, and ends the loan of those that no pod uses any more. If a node cannot be
// lent, no gang is bound to it.
func (l *Loop) lend(ctx context.Context, r *round, o *mirror.Objects) error {
	var errs []error
	do := func(what string, nodes []string, write func(context.Context, string) error) (failed []string) {
		for _, node := range nodes {
			err := write(ctx, node)
			if errs = append(errs, err); err != nil {
				failed = append(failed, node)
				continue
			}
			l.metrics.loans.WithLabelValues(what).Inc()
			l.Log.InfoContext(ctx, "node "+what, "node", node)
		}
		return failed
	}
	for _, node := range do("lent", r.loan, l.Actor.Loan) {
		r.spare(node)
	}
	do("recalled", slices.DeleteFunc(r.giveBack, func(node string) bool { return r.returning[node] }), l.Actor.StartReturn)
	do("returned", returned(r.returning, o, l.Config.Mirror.Schedulers), l.Actor.EndReturn)
	return errors.Join(errs...)
}

// atOnce is the number of pods to bind, in whole gangs, before the loop checks the mode again.
const atOnce = 128

// bindAll binds the pods of all gangs, as long as the mode stays live.
func (l *Loop) bindAll(ctx context.Context, r *round, now time.Time) error {
	var errs []error
	for gangs := r.bind; len(gangs) > 0; {
		n, pods := 0, 0
		for n < len(gangs) && (n == 0 || pods+len(gangs[n].pods) <= atOnce) {
			pods += len(gangs[n].pods)
			n++
		}
		if len(gangs) < len(r.bind) && !l.stillLive(ctx) {
			return errors.Join(append(errs, errOff)...)
		}
		errs = append(errs, l.bind(ctx, r, gangs[:n], now))
		gangs = gangs[n:]
	}
	return errors.Join(errs...)
}

// bind binds the pods of several gangs concurrently, with what they shall hold. It leaves out a gang of which a pod cannot hold
// that.
func (l *Loop) bind(ctx context.Context, r *round, gangs []gangBinding, now time.Time) error {
	var all []act.Binding
	var hold []holding
	for _, g := range gangs {
		hold = append(hold, g.hold...)
	}
	failed, unresized := l.resize(ctx, hold, now)
	gangs = slices.DeleteFunc(slices.Clone(gangs), func(g gangBinding) bool { return failed[g.key] })
	for _, g := range gangs {
		all = append(all, g.pods...)
	}
	errs := l.Actor.Bind(ctx, all)
	done := l.Now()
	for i, err := range errs {
		l.unseen.noteBind(all[i], err)
		switch {
		case err == nil:
			l.metrics.bound.WithLabelValues("pods").Inc()
			l.said.event(l.Actor, all[i].Pod, corev1.EventTypeNormal, "Scheduled", "assigned %s/%s to %s",
				all[i].Pod.Namespace, all[i].Pod.Name, all[i].Node)
		case errors.Is(err, act.ErrElsewhere):
			l.metrics.unbound.WithLabelValues("elsewhere").Inc()
		case errors.Is(err, act.ErrGone):
			l.metrics.unbound.WithLabelValues("gone").Inc()
		case errors.Is(err, act.ErrUnknown):
			l.metrics.unbound.WithLabelValues("unknown").Inc()
		default:
			l.metrics.unbound.WithLabelValues("other").Inc()
		}
	}
	rest := errs
	for _, g := range gangs {
		mine := rest[:len(g.pods)]
		rest = rest[len(g.pods):]
		missing := len(slices.DeleteFunc(slices.Clone(mine), func(err error) bool { return err == nil }))
		l.Log.InfoContext(ctx, "bound", "gang", g.key, "pods", len(g.pods)-missing, "missing", missing, "rest", g.rest,
			"round", r.id, "wait_s", now.Sub(l.submitted(g.job)).Seconds())
		if missing == 0 && !g.rest {
			l.metrics.bound.WithLabelValues("gangs").Inc()
			l.metrics.wait.Observe(done.Sub(l.submitted(g.job)).Seconds())
		}
	}
	if err := errors.Join(append(errs, unresized)...); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

func (l *Loop) submitted(j *mirror.Job) time.Time { return l.Config.Mirror.Epoch.Add(j.Spec.Submit) }

package control

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// incomplete stores which gangs are partly bound, and which run, by name.
type incomplete struct {
	of   map[string]part
	runs map[string]bool // the gangs that ran in the last round
	any  bool            // there was a round before
}

// part is a partly bound gang.
type part struct {
	from time.Time // when this process first saw it so
	ran  bool      // it was complete before, and lost pods
}

// see updates the gangs. A process that has just begun has not seen gangs run: it takes a gang as one that ran if its first pod
// was bound longer ago than old, because the process before would not have left a gang that never ran partly bound for so long.
func (x *incomplete) see(v *mirror.View, now time.Time, old time.Duration) {
	was := x.of
	x.of = make(map[string]part, len(v.Partial))
	for i := range v.Partial {
		p := &v.Partial[i]
		g, known := was[p.Spec.Name]
		if !known {
			g = part{now, x.runs[p.Spec.Name] || !x.any && now.Sub(p.Since) > old}
		}
		x.of[p.Spec.Name] = g
	}
	x.runs, x.any = map[string]bool{}, true
	for i := range v.Jobs {
		if j := &v.Jobs[i]; j.Running {
			x.runs[j.Spec.Name] = true
		}
	}
}

// giveUp removes the bound pods of gangs that were not completed in time, so that they can start as a whole again. The time
// counts from when this process first saw the gang partly bound. It is GangDeadline for a gang that never ran, whose pods are
// then deleted: no work is lost. A gang that ran and lost pods has LossDeadline. Its pods are then evicted, which disruption
// budgets may refuse, and the stop is recorded in the ledger, though the ledger's limit does not prevent it: the gang does no
// work as it is, and holds GPUs.
func (l *Loop) giveUp(ctx context.Context, r *round, now time.Time) error {
	var errs []error
	for i := range r.view.Partial {
		p := &r.view.Partial[i]
		g := l.incomplete.of[p.Spec.Name]
		deadline, since := l.GangDeadline, now.Sub(g.from)
		if g.ran {
			deadline = l.LossDeadline
		}
		// After twice the deadline even a gang that could be bound now is given up: it could have been bound all the time.
		its := func(b gangBinding) bool { return b.job == &p.Job }
		binds := slices.ContainsFunc(r.bind, its)
		if since < deadline || binds && since < 2*deadline {
			l.within(max(deadline-since, afterFailure))
			continue
		}
		r.bind = slices.DeleteFunc(r.bind, its) // else its other pods would be bound alone
		if !g.ran {
			deleted := l.Actor.Delete(ctx, p.Bound)
			l.unseen.noteLeaving(p.Bound, deleted, now)
			errs = append(errs, deleted...)
			l.tellGivenUp(ctx, p, since, "deleted")
			continue
		}
		if l.kept(p.Spec.Name, now, askBack) {
			l.within(askBack)
			continue
		}
		if !l.kept(p.Spec.Name, now, sparing) { // else it is in the ledger already
			if err := l.ledger.book(ctx, 1, now); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		refused, budget := l.evict(ctx, &p.Job, now)
		errs = append(errs, refused...)
		if budget {
			l.metrics.stopped.WithLabelValues("budget").Inc()
			continue
		}
		l.metrics.stopped.WithLabelValues("incomplete").Inc()
		l.tellGivenUp(ctx, p, since, "evicted")
	}
	return errors.Join(errs...)
}

// tellGivenUp logs, counts and reports that a gang was given up.
func (l *Loop) tellGivenUp(ctx context.Context, p *mirror.Partial, since time.Duration, how string) {
	l.Log.WarnContext(ctx, "gang given up", "gang", p.Spec.Name, "bound", len(p.Bound), "needs", p.Group.Least,
		"since_s", since.Seconds(), "pods", how)
	l.metrics.given.Inc()
	l.said.event(l.Actor, about(&p.Group, p.Bound), corev1.EventTypeWarning, "GangGivenUp",
		"%d of %d pods were bound for %v: their pods are %s so that the gang can start as a whole",
		len(p.Bound), p.Group.Least, since.Round(time.Second), how)
}

package control

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// Loop is the scheduler. Its rounds run one after the other.
type Loop struct {
	Config

	// What is remembered of gangs, by name.
	partial map[string]time.Time // bound in part: since when they were seen so
	spared  map[string]time.Time // kept by a disruption budget: when it last did
	rigid   map[string]time.Time // not to be scaled: when that was tried
	leaving leaving
	waits   waits

	watch     *watch
	metrics   *metrics
	bound     bound
	ledger    ledger
	shadow    shadow
	said      said
	ready     atomic.Bool
	last      time.Time // of the last round
	explained time.Time // of the last round that found reasons
	rounds    int
	wait      time.Duration // until the next round if nothing changes
	warned    string        // the last complaint about the orders
	inForce   Mode
	never     map[string]string // why gangs can never start, by their names, as the log has it
}

// New returns a loop that has not begun. Its metrics go to the registry.
func New(c Config, r prometheus.Registerer) (*Loop, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	m, err := newMetrics(r)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	l := &Loop{Config: c, metrics: m, bound: newBound(), shadow: newShadow(), said: newSaid()}
	l.partial, l.spared, l.rigid = map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	l.leaving = leaving{}
	l.waits = waits{limit: c.Starvation, step: 2 * (c.Period + inTime)} // the second half for reading and deciding
	l.ledger = ledger{client: c.Client, namespace: c.Namespace, limit: c.Stops}
	l.inForce = off
	l.setMode(off)
	return l, nil
}

// Sync reads the whole cluster once and watches it from then on, until the context ends. Rounds need it.
func (l *Loop) Sync(ctx context.Context) (err error) {
	if l.watch, err = newWatch(&l.Config); err != nil {
		return err
	}
	if err := l.watch.sync(ctx); err != nil {
		return err
	}
	l.ready.Store(true)
	return nil
}

// Ready reports whether the cluster has been read.
func (l *Loop) Ready() bool { return l.ready.Load() }

// afterFailure is the time to the next round after one that failed: what it could not write has not changed anything.
const afterFailure = time.Second

// Run makes rounds until the context ends: when something has changed, when the policy asked to be called, when a gang is bound
// in part for too long, soon after a failure, and after Period.
func (l *Loop) Run(ctx context.Context) {
	l.watch.poke()
	l.wait = l.Period
	for {
		timer := time.NewTimer(l.wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.watch.changed:
			timer.Stop()
			pause(ctx, l.Settle)
		case <-timer.C:
		}
		if ctx.Err() == nil {
			l.Round(ctx)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Round looks at the cluster and does what there is to do. It never panics: what goes wrong is logged and counted, and the next
// round begins anew.
func (l *Loop) Round(ctx context.Context) {
	began := time.Now()
	result := roundFailed
	l.wait = l.Period
	defer func() {
		if v := recover(); v != nil {
			result = roundFailed
			l.Log.ErrorContext(ctx, "panic", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		}
		if result == roundFailed {
			l.within(afterFailure)
		}
		l.metrics.rounds.WithLabelValues(result).Inc()
		l.metrics.seconds.Observe(time.Since(began).Seconds())
	}()
	result = l.round(ctx)
}

// within has the next round come after so long at the latest.
func (l *Loop) within(d time.Duration) { l.wait = min(l.wait, max(d, l.Settle)) }

func (l *Loop) round(ctx context.Context) string {
	now := l.Now()
	o := l.orders(now)
	mode := within(l.Mode, o.mode)
	l.setMode(mode)
	if mode == off {
		return roundSkipped
	}
	r, objects, err := l.decide(ctx, mode, o, now)
	if err != nil {
		l.Log.ErrorContext(ctx, "no decision", "error", err)
		return roundFailed
	}
	failed := errors.Join(r.failed...)
	if mode == Shadow {
		l.shadow.compare(r, l.last, now, l.metrics, l.Log)
	} else {
		failed = errors.Join(failed, l.carryOut(ctx, r, objects, now))
	}
	l.last = now
	if failed != nil {
		l.Log.WarnContext(ctx, "round not done in full", "round", r.id, "error", failed)
		return roundFailed
	}
	return roundDone
}

// decide looks at the cluster and decides.
func (l *Loop) decide(ctx context.Context, mode Mode, o orders, now time.Time) (*round, *mirror.Objects, error) {
	objects, err := l.watch.objects()
	if err != nil {
		return nil, nil, err
	}
	l.leaving.show(objects.Pods)
	l.bound.settle(objects.Pods)
	if mode == Live {
		if err := l.bound.dispel(ctx, l.Actor); err != nil {
			return nil, nil, err
		}
	}
	objects.Bound, objects.Offer, objects.ReclaimBy = l.bound.node, o.offer, o.reclaimBy
	v, err := mirror.Build(objects, &l.Config.Mirror, now)
	if err != nil {
		return nil, nil, err
	}
	left := l.Stops
	if l.Mode == Live {
		if left, err = l.ledger.left(ctx, now); err != nil {
			l.Log.WarnContext(ctx, "nothing is stopped in this round", "error", err)
		}
	}
	explain := now.Sub(l.explained) >= l.Explain
	if explain {
		l.explained = now
	}
	l.rounds++
	l.tellNever(ctx, v)
	l.waits.see(v.Jobs, now)
	r := decideRound(v, l.Decider, fmt.Sprint(l.rounds), limits{
		stops: left, waits: &l.waits, explain: explain, record: l.Decider.Decisions != nil,
		spared:    func(gang string) bool { return l.kept(gang, now, sparing) },
		returning: returning(objects.Nodes),
	})
	l.waits.note(ctx, r, l.Log)
	l.metrics.see(r)
	if r.wake != nil {
		l.within(*r.wake - v.State.Now())
	}
	return r, objects, nil
}

// tellNever logs which gangs can never start, each once while that is so for the same reason.
func (l *Loop) tellNever(ctx context.Context, v *mirror.View) {
	was := l.never
	l.never = map[string]string{}
	for i := range v.Jobs {
		if j := &v.Jobs[i]; j.Never != "" {
			if l.never[j.Spec.Name] = j.Never; was[j.Spec.Name] != j.Never {
				l.Log.WarnContext(ctx, "never fits", "gang", j.Spec.Name, "why", j.Never)
			}
		}
	}
}

// orders reads what people say in the ConfigMap.
func (l *Loop) orders(now time.Time) orders {
	m, err := l.watch.control.Get(ControlName)
	if err != nil && !apierrors.IsNotFound(err) {
		l.Log.Error("read orders", "error", err)
	}
	o, err := readOrders(m, now)
	complaint := ""
	switch {
	case err != nil:
		if complaint = err.Error(); complaint != l.warned {
			l.Log.Error("orders not understood: everything is off until they are", "error", err)
		}
	case m == nil && l.Mode == Live:
		if complaint = "no orders"; complaint != l.warned {
			l.Log.Warn("no orders: nothing is written until the ConfigMap is there", "configmap", l.Namespace+"/"+ControlName)
		}
	}
	l.warned = complaint
	return o
}

// setMode tells the mode in force.
func (l *Loop) setMode(m Mode) {
	if m != l.inForce {
		l.Log.Info("mode in force", "mode", m)
	}
	l.inForce = m
	for _, mode := range []Mode{off, Shadow, Live} {
		on := 0.0
		if mode == m {
			on = 1
		}
		l.metrics.mode.WithLabelValues(string(mode)).Set(on)
	}
}

// stillLive reports whether nobody has pulled the switch since the round began.
func (l *Loop) stillLive(ctx context.Context) bool {
	return ctx.Err() == nil && within(l.Mode, l.orders(l.Now()).mode) == Live
}

package control

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
)

// Loop is the scheduling loop. Its rounds run one after the other.
type Loop struct {
	Config
	watch   *watch
	ready   atomic.Bool // the watch has read the cluster
	metrics *metrics
	unseen  unseen
	ledger  ledger
	shadow  shadow
	costs   costs
	gangs
	mode
	pace
}

// gangs are what the rounds before know of gangs, by name, and told of them.
type gangs struct {
	spared     map[string]time.Time // gangs that a disruption budget kept from stopping: when it last did
	rigid      map[string]time.Time // gangs whose owner cannot be scaled: when that was tried
	incomplete incomplete
	waits      waits
	amounts    amounts
	said       said
	never      map[string]string // the reasons last logged why gangs can never start
}

// mode is the mode in force, and the last error in the control ConfigMap that was logged.
type mode struct {
	inForce Mode
	warned  string
}

// pace is when rounds are made.
type pace struct {
	rounds    int           // that came to a decision
	wait      time.Duration // until the next round if nothing changes
	explained time.Time     // when the last round that explained waiting began
}

// New returns a loop that has made no round yet. It registers the loop's metrics with r.
func New(c Config, r prometheus.Registerer) (*Loop, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	m, err := newMetrics(r)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	costs, err := newCosts(c.Decider.Objective, r)
	if err != nil {
		return nil, err
	}
	l := &Loop{
		Config: c, metrics: m, costs: costs, unseen: unseen{}, shadow: newShadow(), mode: mode{inForce: off},
		ledger: ledger{client: c.Client, namespace: c.Namespace, limit: c.Stops},
		gangs: gangs{
			spared: map[string]time.Time{}, rigid: map[string]time.Time{}, said: newSaid(),
			amounts: amounts{pins: map[string]pin{}, failed: map[string]kept{}},
			waits:   waits{limit: c.Starvation, step: 2 * (c.Period + inTime)}, // the factor 2 leaves time for reading and deciding
		},
	}
	l.setMode(off)
	return l, nil
}

// Sync reads the whole cluster and then watches it until the context ends. It must return before the first round.
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

// Ready reports whether Sync has read the cluster.
func (l *Loop) Ready() bool { return l.ready.Load() }

const (
	settle       = 50 * time.Millisecond // from a change to the round that reads it, to collect many changes in one round
	explainAfter = 10 * time.Second      // between rounds that explain why gangs wait
	afterFailure = time.Second           // from a failed round to the next: no change of the cluster would start it
)

// Run makes rounds until the context ends: after a change, at the time that the policy asked for, when a gang has been partly
// bound for too long, soon after a failure, and after Period at the latest.
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
			pause(ctx, settle)
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

// Round makes one round: it reads the cluster, decides, and writes the decision in live mode. It never panics: it logs and counts
// failures, and the next round starts afresh.
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

// within makes the next round come after at most the time d.
func (l *Loop) within(d time.Duration) { l.wait = min(l.wait, max(d, settle)) }

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
		l.shadow.compare(r, now, l.metrics, l.Log)
	} else {
		failed = errors.Join(failed, l.carryOut(ctx, r, objects, now))
	}
	if failed != nil {
		l.Log.WarnContext(ctx, "round not done in full", "round", r.id, "error", failed)
		return roundFailed
	}
	return roundDone
}

// decide reads the cluster and asks the policy. It returns the round and the objects read.
func (l *Loop) decide(ctx context.Context, mode Mode, o orders, now time.Time) (*round, *mirror.Objects, error) {
	objects, err := l.watch.objects()
	if err != nil {
		return nil, nil, err
	}
	if objects.Pods, err = l.shown(ctx, objects, mode, now); err != nil {
		return nil, nil, err
	}
	objects.Offer, objects.ReclaimBy = o.offer, o.reclaimBy
	v, err := mirror.Build(objects, &l.Config.Mirror, now)
	if err != nil {
		return nil, nil, err
	}
	if l.Readings != nil {
		l.Readings.See(ctx, v, l.Config.Mirror.Epoch, now)
	}
	l.amounts.bounds = o.amounts
	for _, gang := range l.amounts.judge(v, now) {
		l.Log.InfoContext(ctx, "slower than with other amounts", "gang", gang)
	}
	left := l.Stops
	if l.Mode == Live {
		if left, err = l.ledger.left(ctx, now); err != nil {
			l.Log.WarnContext(ctx, "nothing is stopped in this round", "error", err)
		}
	}
	explain := now.Sub(l.explained) >= explainAfter
	if explain {
		l.explained = now
	}
	l.rounds++
	l.tellNever(ctx, v)
	l.waits.see(v.Jobs, now)
	l.incomplete.see(v, now, 2*l.GangDeadline)
	l.seeCosts(ctx, v, mode, now)
	r := decideRound(v, l.Decider, fmt.Sprint(l.rounds), limits{
		stops: left, across: l.Across, waits: &l.waits, explain: explain, record: l.Decider.Decisions != nil,
		spared:    func(gang string) bool { return l.kept(gang, now, sparing) },
		returning: returning(objects.Nodes), amounts: &l.amounts, mirror: &l.Config.Mirror,
	})
	l.waits.note(ctx, r, l.Log)
	l.metrics.see(r)
	if r.wake != nil {
		l.within(*r.wake - v.State.Now())
	}
	return r, objects, nil
}

// shown returns the pods with what the watch does not show yet. In live mode it first clears up what is in doubt.
func (l *Loop) shown(ctx context.Context, objects *mirror.Objects, mode Mode, now time.Time) ([]*corev1.Pod, error) {
	watched := objects.Pods
	if mode != Live {
		return l.unseen.show(watched, now), nil
	}
	if err := l.unseen.learnResizes(ctx, l.Actor, now); err != nil {
		return nil, err
	}
	objects.Pods = l.unseen.show(watched, now)
	takes := func(b act.Binding) bool { return objects.Takes(&l.Config.Mirror, b.Pod, b.Node) }
	if err := l.unseen.repeatBindings(ctx, l.Actor, takes); err != nil {
		return nil, err
	}
	return l.unseen.show(watched, now), nil
}

// tellNever logs the gangs that can never start: each gang once for as long as the reason stays the same.
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

// orders returns the settings in the control ConfigMap.
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

// setMode sets the mode in force, logs a change of it, and updates its metric.
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

// stillLive reports whether the mode is still live and the context has not ended.
func (l *Loop) stillLive(ctx context.Context) bool {
	return ctx.Err() == nil && within(l.Mode, l.orders(l.Now()).mode) == Live
}

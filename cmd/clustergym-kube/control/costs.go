package control

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/serve/decide"
)

// costs follows what the cluster costs by an objective and, in shadow mode, what it would cost if the policy's decisions were
// carried out. Without an objective it does nothing.
type costs struct {
	objective *objectives.Objective
	cluster   *decide.Costs // as it is
	policy    *decide.Costs // as the policy would have it
	twin      *twin         // nil unless in shadow mode
	missing   map[string]time.Time
	day       day
}

// day is what the costs were when the present day, or the program, began.
type day struct {
	from            time.Time
	cluster, policy float64
	shadowed        bool // the mode has been shadow since then
}

func newCosts(o *objectives.Objective, r prometheus.Registerer) (c costs, err error) {
	c.objective, c.missing = o, map[string]time.Time{}
	if c.cluster, err = decide.NewCosts(o, "clustergym_cost", "the cluster", r); err == nil {
		c.policy, err = decide.NewCosts(o, "clustergym_shadow_cost", "the cluster, had the policy scheduled it,", r)
	}
	return c, err
}

// seeCosts counts what the cluster has cost until this view, and in shadow mode lets the policy decide in the twin. A panic must
// not keep rounds from being made: it is logged, and nothing is counted from then on.
func (l *Loop) seeCosts(ctx context.Context, v *mirror.View, mode Mode, now time.Time) {
	c := &l.costs
	if c.objective == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			c.objective = nil
			l.Log.ErrorContext(ctx, "costs are no longer counted", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	s := new(cluster.State)
	v.State.CopyTo(s)
	for i := range v.Jobs {
		if j := &v.Jobs[i]; !j.Running && j.Never == "" {
			s.Submit(cluster.JobID(i), &j.Spec)
		}
	}
	away := c.away(v, now, l.LossDeadline)
	c.cluster.Look(&s.View, away)
	if mode == Shadow {
		l.seeTwin(ctx, v, &s.View, away)
	} else {
		c.policy.Forget()
		c.twin, c.day.shadowed = nil, false
	}
	c.tell(now, l.Log)
}

// seeTwin lets the policy decide in the twin, and counts what that costs.
func (l *Loop) seeTwin(ctx context.Context, v *mirror.View, real *cluster.View, away func(name string) bool) {
	c := &l.costs
	if c.twin == nil {
		c.twin = &twin{gangs: map[string]*ghost{}}
	}
	would, err := c.twin.round(ctx, v, real, l.Decider, twinLimits{stops: l.Stops, across: l.Across, away: away})
	if err != nil {
		l.Log.WarnContext(ctx, "the policy did not decide as if it scheduled", "error", err)
	}
	if would != nil {
		c.policy.Look(&would.View, nil)
	}
}

// away returns a function that reports whether a gang that is none of the view's jobs may come back: it is partly bound, or was
// there less than the time most ago and has not ended.
func (c *costs) away(v *mirror.View, now time.Time, most time.Duration) func(name string) bool {
	partial, here := map[string]bool{}, map[string]bool{}
	for i := range v.Partial {
		partial[v.Partial[i].Spec.Name] = true
	}
	for i := range v.Jobs {
		here[v.Jobs[i].Spec.Name] = true
	}
	for name, since := range c.missing {
		if here[name] || now.Sub(since) > 2*most {
			delete(c.missing, name)
		}
	}
	return func(name string) bool {
		if v.Ended[name] || here[name] {
			return false
		}
		since, known := c.missing[name]
		if !known {
			since = now
			c.missing[name] = now
		}
		return partial[name] || now.Sub(since) < most
	}
}

// tell logs what a day has cost, in the first round of the next (UTC).
func (c *costs) tell(now time.Time, log *slog.Logger) {
	cluster, policy := c.cluster.Total(), c.policy.Total()
	was, first := c.day, c.day.from.IsZero()
	if !first && !now.UTC().Truncate(24*time.Hour).After(was.from.UTC()) {
		return
	}
	c.day = day{now, cluster, policy, c.twin != nil}
	if first {
		return
	}
	args := []any{
		"objective", c.objective.Name, "unit", c.objective.Unit, "hours", now.Sub(was.from).Hours(), "cluster", cluster - was.cluster,
	}
	if was.shadowed && c.twin != nil {
		args = append(args, "policy", policy-was.policy)
	}
	log.Info("cost of the day", args...)
}

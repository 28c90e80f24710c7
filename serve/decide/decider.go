package decide

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Config is what a decider decides by. Zero values are replaced where a default is named.
type Config struct {
	Source    policy.Source
	Fallback  func(*policy.Policy) (*policy.Policy, error) // who decides when this policy does not: the prior, else UsualFallback
	Seed      uint64                                       // of policies that draw
	Deadline  time.Duration                                // of a decision, and again of the fallback's: 1 s
	Reasons   time.Duration                                // for finding reasons, after the decision: 5 s
	Parallel  int                                          // decisions past their deadline that may still run: GOMAXPROCS
	Decisions *Log                                         // nil: decisions are not logged
	Registry  prometheus.Registerer                        // of the metrics, nil for none
	Log       *slog.Logger                                 // nil for none
}

// Decider decides by a policy that may be loaded anew. It is safe for concurrent use.
type Decider struct {
	Config               // with the defaults
	late    atomic.Int64 // decisions past their deadline that still run
	metrics *metrics
	loaded  atomic.Pointer[loaded]

	reloading sync.Mutex
	tried     string // stamp of the last attempt to load
}

// loaded is what decides from one reload to the next.
type loaded struct {
	policy, fallback *policy.Policy
	first, second    guard // of the policy; of the fallback and the prior
	stamp            string
	since            time.Time
}

// New returns a decider whose policy is loaded.
func New(c Config) (*Decider, error) {
	c.Deadline = cmp.Or(c.Deadline, time.Second)
	c.Reasons = cmp.Or(c.Reasons, 5*time.Second)
	c.Parallel = cmp.Or(c.Parallel, runtime.GOMAXPROCS(0))
	if c.Deadline < 0 || c.Reasons < 0 || c.Parallel < 0 {
		return nil, fmt.Errorf("decide with a deadline of %v, %v for reasons, %d decisions at a time: want more than 0",
			c.Deadline, c.Reasons, c.Parallel)
	}
	if c.Fallback == nil {
		c.Fallback = new(policy.Finder).Fallback("")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	d := &Decider{Config: c}
	now, err := d.load()
	if err != nil {
		return nil, err
	}
	d.loaded.Store(now)
	d.tried = now.stamp
	d.metrics = newMetrics(&d.late, d.Policy)
	if err := d.metrics.register(c.Registry); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return d, nil
}

// Policy returns the policy that decides now. Read only.
func (d *Decider) Policy() *policy.Policy { return d.loaded.Load().policy }

// Served tells who decides.
type Served struct {
	Policy   string    `json:"policy"`
	Digest   string    `json:"digest,omitempty"`
	Prior    string    `json:"prior,omitempty"`
	Fallback string    `json:"fallback"`
	Deadline float64   `json:"deadline_s"`
	Since    time.Time `json:"since"`
}

// Served tells who decides now.
func (d *Decider) Served() Served {
	l := d.loaded.Load()
	out := Served{
		Policy: l.policy.Name, Digest: l.policy.Digest, Fallback: l.fallback.Name, Deadline: d.Deadline.Seconds(), Since: l.since,
	}
	if l.policy.Prior != nil {
		out.Prior = l.policy.Prior.Name
	}
	return out
}

// Decide asks the policy and, if it does not decide, the fallback. The id tells the decision from others, in the answer and in
// logs. Reasons cost time of their own, after the deadline; those that are not found in time are left out, all of them. The state
// is only read, during the call; its specifications may be read for longer, by a scheduler that is late. The error is an
// *Undecided, or that of the context: when it ends nobody else is asked and no reasons are found. A scheduler that has been asked
// cannot be stopped, so it is waited for until its deadline.
func (d *Decider) Decide(ctx context.Context, s *cluster.View, id string, reasons bool) (*Result, error) {
	l := d.loaded.Load() // this decision's, whatever is loaded meanwhile
	out, policy, last := l.decide(ctx, s, d.Seed)
	d.note(id, "policy", l.policy, policy)
	d.note(id, "fallback", l.fallback, last)
	if policy != nil {
		d.metrics.fallbacks.WithLabelValues(policy.Reason).Inc()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("decide: %w", err)
	}
	if out == nil {
		d.metrics.undecided.Inc()
		return nil, &Undecided{policy, last}
	}
	how := &out.result.Answer.Decision
	how.RequestID = id
	d.metrics.decisions.WithLabelValues(how.By).Inc()
	d.metrics.seconds.Observe(how.Seconds)
	d.metrics.outOfDistribution.Add(float64(how.OutOfDistribution))
	if !reasons {
		how.Reasons = ReasonsNone
	} else if err := out.explain(ctx, l, s, d.Config); err != nil {
		return nil, err
	}
	if how.Reasons == ReasonsLate {
		d.metrics.unexplained.Inc()
	}
	return out.result, nil
}

// decided is a decision that may yet be explained.
type decided struct {
	proposal
	by     *policy.Policy
	result *Result
}

func fresh(s *cluster.View) *cluster.State { // every attempt has its own
	c := new(cluster.State)
	s.CopyTo(c)
	return c
}

// decide returns the decision, nil for none, and the failures of the policy and of the fallback.
func (l *loaded) decide(ctx context.Context, s *cluster.View, seed uint64) (out *decided, policy, last *Failure) {
	if ctx.Err() != nil {
		return nil, nil, nil
	}
	out = &decided{by: l.policy}
	answer := &Answer{Decision: Decision{Policy: out.by.Name, Digest: out.by.Digest, By: ByPolicy}}
	first := fresh(s)
	began := time.Now()
	out.proposal, policy = l.first.propose(first, out.by, seed)
	if policy != nil {
		out.by = l.fallback
		answer.Decision.By = ByFallback
		answer.Decision.Fallback = &Fallback{out.by.Name, out.by.Digest, policy.Reason, policy.Error()}
		if ctx.Err() != nil {
			return nil, policy, nil
		}
		if out.proposal, last = l.second.propose(fresh(s), out.by, seed); last != nil {
			return nil, policy, last
		}
	}
	answer.Decision.Seconds = time.Since(began).Seconds()
	answer.Decision.OutOfDistribution = out.outOfDistribution
	answer.Plan = explain.Bare(out.by.Name, s, out.tx)
	out.result = out.proposal.result(answer)
	return out, policy, nil
}

// explain adds reasons to the answer, unless they take too long. It fails when the context ends, and not for want of reasons.
func (d *decided) explain(ctx context.Context, l *loaded, s *cluster.View, c Config) error {
	within, cancel := context.WithTimeout(ctx, c.Reasons)
	defer cancel()
	how := &d.result.Answer.Decision
	facts := explain.New(s)
	if d.by.Prior != nil {
		if from, fail := l.second.propose(fresh(s), d.by.Prior, c.Seed); fail == nil { // else reasons do without
			facts.Beside(besides, from.starts())
			how.Beside = true
		}
	}
	plan, _, err := facts.Plan(within, d.by.Name, d.tx)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("decide: %w", ctx.Err())
	case within.Err() != nil && err != nil:
		how.Reasons, how.Beside = ReasonsLate, false
	case err != nil:
		return &Undecided{Fallback: &Failure{Reason: reasonError, Err: err}}
	default:
		d.result.Answer.Plan = plan
	}
	return nil
}

// note logs who did not decide.
func (d *Decider) note(id, who string, p *policy.Policy, f *Failure) {
	if f == nil {
		return
	}
	args := []any{"request_id", id, who, p.Name, "reason", f.Reason, "error", f.Err}
	if f.Stack != nil {
		args = append(args, "stack", string(f.Stack))
	}
	d.Log.Warn(who+" did not decide", args...)
}

// Record adds an answer to the decision log, if there is one. What cannot be written is counted and
// logged.
func (d *Decider) Record(snapshot []byte, a *Answer) {
	if d.Decisions == nil {
		return
	}
	if err := d.Decisions.write(time.Now(), snapshot, a); err != nil {
		d.metrics.unlogged.Inc()
		d.Log.Error("decision not logged", "request_id", a.Decision.RequestID, "error", err)
	}
}

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

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Config configures a decider. New replaces a zero value by the default after the colon, if there is one.
type Config struct {
	Source   policy.Source
	Fallback func(*policy.Policy) (*policy.Policy, error) // who decides if this policy does not: its prior, or UsualFallback
	Seed     uint64                                       // for policies that draw random numbers
	// Objective is what policies decide by that ask for one, nil for completion times.
	Objective *objectives.Objective
	Deadline  time.Duration // for a decision, and again for the fallback's: 1 s
	Reasons   time.Duration // time to find reasons after the decision: 5 s
	// Forecaster forecasts when the jobs start that wait after a decision with reasons; nil for none. The decider then learns run
	// times whether or not its policy does. Forecasts is the time for it after the reasons: 2 s.
	Forecaster Forecaster
	Forecasts  time.Duration
	Parallel   int                   // how many decisions past their deadline may still run: GOMAXPROCS
	Beliefs    string                // file in which what policies learn is kept, "" for none: see Recall
	Decisions  *Log                  // nil to log no decisions
	Registry   prometheus.Registerer // for the metrics, nil for none
	Log        *slog.Logger          // nil for no log
}

// Decider decides with a policy that may be reloaded. It is safe for concurrent use.
type Decider struct {
	Config               // with the defaults filled in
	late    atomic.Int64 // number of decisions past their deadline that still run
	metrics *metrics
	memory  memory
	loaded  atomic.Pointer[loaded]

	reloading sync.Mutex
	tried     string // stamp of the last attempt to load the policy
}

// loaded contains the policies that decide from one reload to the next.
type loaded struct {
	policy, fallback *policy.Policy
	first, second    guard // first guards the policy, second the fallback and the prior
	stamp            string
	since            time.Time
}

// New loads the policy and returns a decider that uses it.
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
	if err := d.Recall(); err != nil {
		return nil, err
	}
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

// Policy returns the policy that decides now. The caller must not change it.
func (d *Decider) Policy() *policy.Policy { return d.loaded.Load().policy }

// Served describes the policies that decide.
type Served struct {
	Policy   string    `json:"policy"`
	Digest   string    `json:"digest,omitempty"`
	Prior    string    `json:"prior,omitempty"`
	Fallback string    `json:"fallback"`
	Deadline float64   `json:"deadline_s"`
	Since    time.Time `json:"since"`
	Beliefs  *Beliefs  `json:"beliefs,omitempty"` // nil if nothing is learned
}

// Served returns the policies that decide now.
func (d *Decider) Served() Served {
	l := d.loaded.Load()
	out := Served{
		Policy: l.policy.Name, Digest: l.policy.Digest, Fallback: l.fallback.Name, Deadline: d.Deadline.Seconds(), Since: l.since,
		Beliefs: d.memory.beliefs(),
	}
	if l.policy.Prior != nil {
		out.Prior = l.policy.Prior.Name
	}
	return out
}

// Decide asks the policy and, if the policy does not decide, the fallback. The id identifies the decision in the answer and in
// logs. If reasons is true, Decide also explains the decision, which takes extra time after the deadline; if the reasons are not
// found in time, the answer contains none of them.
//
// Decide only reads the state, and only during the call; a late scheduler may read its job specifications for longer. The error
// is an *Undecided, or the context's: after the context ends, Decide asks no other policy and finds no reasons. Decide cannot
// stop a scheduler that it has asked, so it waits for the scheduler until the deadline.
func (d *Decider) Decide(ctx context.Context, s *cluster.View, id string, reasons bool) (*Result, error) {
	l := d.loaded.Load() // used for this whole decision, even if a reload happens meanwhile
	given, digest := d.memory.recall()
	given.Objective = d.Objective
	out, policy, last := l.decide(ctx, s, d.Seed, given)
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
	if out.by.Needs.Memory {
		how.Beliefs = digest
	}
	d.metrics.decisions.WithLabelValues(how.By).Inc()
	d.metrics.seconds.Observe(how.Seconds)
	d.metrics.outOfDistribution.Add(float64(how.OutOfDistribution))
	if !reasons {
		how.Reasons = ReasonsNone
	} else if err := out.explain(ctx, l, s, d.Config); err != nil {
		return nil, err
	}
	if reasons && d.Forecaster != nil {
		d.foretell(ctx, out, s, given)
	}
	if how.Reasons == ReasonsLate {
		d.metrics.unexplained.Inc()
	}
	return out.result, nil
}

// Would returns what the policy, or else the fallback, proposes about a state that is not the cluster's but might be. Nothing is
// counted, logged or learned. The errors are those of Decide.
func (d *Decider) Would(ctx context.Context, s *cluster.View) ([]cluster.Proposal, error) {
	given, _ := d.memory.recall()
	given.Objective = d.Objective
	out, policy, last := d.loaded.Load().decide(ctx, s, d.Seed, given)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("decide: %w", err)
	}
	if out == nil {
		return nil, &Undecided{policy, last}
	}
	return out.result.Proposals, nil
}

// decided is a decision that can still be explained.
type decided struct {
	proposal
	by     *policy.Policy
	prior  *policy.Policy // with what it was given; nil for a policy that has none
	result *Result
}

func fresh(s *cluster.View) *cluster.State { // a copy of the state for one attempt
	c := new(cluster.State)
	s.CopyTo(c)
	return c
}

// decide returns the decision, or nil if there is none, and the failures of the policy and of the fallback.
func (l *loaded) decide(
	ctx context.Context, s *cluster.View, seed uint64, given baselines.Given,
) (out *decided, policy, last *Failure) {
	if ctx.Err() != nil {
		return nil, nil, nil
	}
	out = &decided{by: l.policy}
	answer := &Answer{Decision: Decision{Policy: out.by.Name, Digest: out.by.Digest, By: ByPolicy}}
	first, asked := fresh(s), new(out.by.Given(given))
	began := time.Now()
	out.proposal, policy = l.first.propose(first, asked, seed)
	if policy != nil {
		out.by = l.fallback
		answer.Decision.By = ByFallback
		answer.Decision.Fallback = &Fallback{out.by.Name, out.by.Digest, policy.Reason, policy.Error()}
		if ctx.Err() != nil {
			return nil, policy, nil
		}
		asked = new(out.by.Given(given)) // the policy may be late, and then still has its own
		if out.proposal, last = l.second.propose(fresh(s), asked, seed); last != nil {
			return nil, policy, last
		}
	}
	out.prior = asked.Prior
	answer.Decision.Seconds = time.Since(began).Seconds()
	answer.Decision.OutOfDistribution = out.outOfDistribution
	answer.Plan = explain.Bare(out.by.Name, s, out.tx)
	out.result = out.proposal.result(answer)
	return out, policy, nil
}

// explain adds reasons to the answer, unless they take too long. It returns an error if the context ends or finding reasons
// fails, but not if they take too long.
func (d *decided) explain(ctx context.Context, l *loaded, s *cluster.View, c Config) error {
	within, cancel := context.WithTimeout(ctx, c.Reasons)
	defer cancel()
	how := &d.result.Answer.Decision
	facts := explain.New(s)
	if d.prior != nil {
		if from, fail := l.second.propose(fresh(s), d.prior, c.Seed); fail == nil { // on failure leave the prior out
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

// note logs a failure of the policy or the fallback.
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

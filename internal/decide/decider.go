package decide

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
)

// Config is what a decider decides by. Zero values are replaced where a default is named.
type Config struct {
	Source    Source
	Fallback  func(*Policy) (*Policy, error) // who decides when this policy does not: the prior, else UsualFallback
	Seed      uint64                         // of policies that draw
	Deadline  time.Duration                  // of a decision, and again of the fallback's: 1 s
	Parallel  int                            // decisions past their deadline that may still run: GOMAXPROCS
	Decisions *Log                           // nil: decisions are not logged
	Registry  prometheus.Registerer          // of the metrics, nil for none
	Log       *slog.Logger                   // nil for none
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
	policy, fallback *Policy
	first, second    guard // of the policy; of the fallback and the prior
	stamp            string
	since            time.Time
}

// New returns a decider whose policy is loaded.
func New(c Config) (*Decider, error) {
	c.Deadline = cmp.Or(c.Deadline, time.Second)
	c.Parallel = cmp.Or(c.Parallel, runtime.GOMAXPROCS(0))
	if c.Deadline < 0 || c.Parallel < 0 {
		return nil, fmt.Errorf("decide with a deadline of %v, %d decisions at a time: want more than 0", c.Deadline, c.Parallel)
	}
	if c.Fallback == nil {
		c.Fallback = new(Finder).Fallback("")
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
func (d *Decider) Policy() *Policy { return d.loaded.Load().policy }

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
// logs. Reasons cost time of their own beyond the deadline: without explain the answer has no plan. The state is only read,
// during the call; its specifications may be read for longer, by a scheduler that is late. The error is an *Undecided.
func (d *Decider) Decide(s *cluster.State, id string, explain bool) (*Result, error) {
	l := d.loaded.Load() // this decision's, whatever is loaded meanwhile
	out, policy, last := l.decide(s, d.Seed, explain)
	d.note(id, "policy", l.policy, policy)
	d.note(id, "fallback", l.fallback, last)
	if policy != nil {
		d.metrics.fallbacks.WithLabelValues(policy.Reason).Inc()
	}
	if out == nil {
		d.metrics.undecided.Inc()
		return nil, &Undecided{policy, last}
	}
	how := &out.Answer.Decision
	how.RequestID = id
	d.metrics.decisions.WithLabelValues(how.By).Inc()
	d.metrics.seconds.Observe(how.Seconds)
	d.metrics.strange.Add(float64(how.Strange))
	return out, nil
}

// decide returns the decision, nil for none, and the failures of the policy and of the fallback or the reasons.
func (l *loaded) decide(s *cluster.State, seed uint64, reasons bool) (out *Result, policy, last *Failure) {
	fresh := func() *cluster.State { // every attempt has its own
		c := new(cluster.State)
		s.CopyTo(c)
		return c
	}
	by := l.policy
	answer := &Answer{Decision: Decision{Policy: by.Name, Digest: by.Digest, By: ByPolicy}}
	first := fresh()
	began := time.Now()
	decided, policy := l.first.propose(first, by, seed)
	if policy != nil {
		by = l.fallback
		answer.Decision.By = ByFallback
		answer.Decision.Fallback = &Fallback{by.Name, by.Digest, policy.Reason, policy.Error()}
		if decided, last = l.second.propose(fresh(), by, seed); last != nil {
			return nil, policy, last
		}
	}
	answer.Decision.Seconds = time.Since(began).Seconds()
	answer.Decision.Strange = decided.strange
	out = decided.result(answer)
	if !reasons {
		return out, policy, nil
	}
	facts := explain.New(s)
	if by.Prior != nil {
		if from, fail := l.second.propose(fresh(), by.Prior, seed); fail == nil { // else reasons do without
			facts.Beside(besides, from.starts())
			answer.Decision.Beside = true
		}
	}
	var err error
	if answer.Plan, _, err = facts.Plan(by.Name, decided.tx); err != nil {
		return nil, policy, &Failure{Reason: ReasonError, Err: err}
	}
	return out, policy, nil
}

// note logs who did not decide.
func (d *Decider) note(id, who string, p *Policy, f *Failure) {
	if f == nil {
		return
	}
	args := []any{"request_id", id, who, p.Name, "reason", f.Reason, "error", f.Err}
	if f.Stack != nil {
		args = append(args, "stack", string(f.Stack))
	}
	d.Log.Warn(who+" did not decide", args...)
}

// Record adds an answer, which must be explained, to the decision log, if there is one. What cannot be written is counted and
// logged.
func (d *Decider) Record(snapshot []byte, a *Answer) {
	if d.Decisions == nil {
		return
	}
	if err := d.Decisions.Write(time.Now(), snapshot, a); err != nil {
		d.metrics.unlogged.Inc()
		d.Log.Error("decision not logged", "request_id", a.Decision.RequestID, "error", err)
	}
}

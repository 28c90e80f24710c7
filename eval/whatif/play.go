// Package whatif plays a cluster on in the simulator in two ways, and says what differs. Play begins with a snapshot, PlayLog
// with a decision of an event log. Either plays to the end under a policy, with a Change or as it is; Compare describes one such
// play, or the difference between two. A Forecaster plays a snapshot on in several futures and forecasts when waiting jobs start.
//
// A play of a snapshot is a forecast under these assumptions: a job ends when its estimate says, no more jobs are submitted,
// nothing fails, and the servers that the inference pool offers stay the same. Running jobs continue on their present GPUs, with
// their age, progress, attained service and number of starts. A play of a log has the run times, arrivals, failures and demand of
// the log. Equal arguments give equal outcomes.
package whatif

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/policy"
)

// Options configure how a snapshot is played. Those for speeds and run times do not concern logs.
type Options struct {
	Physics physics.Model   // speed of jobs from now on; nil: ideal. Speeds in the snapshot are ignored.
	Restart time.Duration   // time without progress, while it holds its GPUs, after a job restarts, moves or is resized
	Assume  time.Duration   // estimate of jobs that have none and of which Times knows nothing; 0: Play returns ErrNoEstimate
	Times   *belief.Learner // what was learned of run times; nil: nothing. Jobs without an estimate get its median
	Seed    uint64          // seed of policies that draw random numbers
	Most    int             // number of decisions after which a play is cut off; 0: 4 million
	// Objectives are what the outcome measures the costs by, from the beginning of the play on.
	Objectives []*objectives.Objective

	// work, if not nil, returns how long a job runs in all in place of its estimate, given how long it has run. The play ends when
	// every waiting job has started.
	work func(spec *cluster.JobSpec, done time.Duration) time.Duration
}

// ErrNoEstimate is returned for jobs without an estimate of which nothing else is known.
var ErrNoEstimate = errors.New("give them one, or assume one for all")

const (
	mostDecisions = 4_000_000
	mostIdle      = 1000 // consecutive decisions in which no job runs, starts or is still to come
)

// stage is a prepared play.
type stage struct {
	changed cluster.State   // a copy of the snapshot, with the change
	works   []time.Duration // total isolated run times, by index into ids
	stopped []cluster.JobID // jobs that the change stops
	assumed []Assumed
	opts    Options
	change  *Change
	episode *sim.Sim
	sched   cluster.Scheduler
	meters  []*objectives.Meter
	first   First
	tally
}

// Play simulates the snapshot to its end. It only reads s, in which no transaction may be open. It leaves out jobs that the
// working servers could never hold, and reports them as never started. If a job has no estimate and Options.Assume is 0, Play
// returns an error.
func Play(ctx context.Context, s *cluster.View, p policy.Policy, c Change, o Options) (*Outcome, error) {
	st, ended, err := simulate(ctx, s, p, c, o)
	if err != nil {
		return nil, err
	}
	return st.outcome(p.Name, &c, ended), nil
}

// simulate plays the snapshot, and returns why the play ended early, or "".
func simulate(ctx context.Context, s *cluster.View, p policy.Policy, c Change, o Options) (st *stage, ended string, err error) {
	st = &stage{opts: o, change: &c, episode: new(sim.Sim)}
	if err := c.check(); err != nil {
		return nil, "", err
	}
	ids := slices.Concat(s.Pending(), s.Running())
	slices.Sort(ids)
	s.CopyTo(&st.changed)
	st.changed.SetProfile(nil) // speeds come from the options
	if st.stopped, err = c.apply(&st.changed); err != nil {
		return nil, "", err
	}
	st.tally = newTally(s, ids, s.Spec)
	if err := st.cast(); err != nil {
		return nil, "", err
	}
	config := sim.Config{Physics: o.Physics, Restart: sim.Pause(o.Restart)}
	if err := st.episode.Resume(&config, &st.changed.View, sim.Rest{Work: st.work}); err != nil {
		return nil, "", err
	}
	st.measure(s, objectives.Options{RunTime: st.work})
	tx := st.episode.State().Txn()
	tx.Tell(st.episode.State().Introduce())
	ended, err = st.play(ctx, p, func(tx *cluster.Txn) error { return st.begin(tx, p) })
	return st, ended, err
}

// begin makes the first decision about a snapshot: that of the policy, or what the change makes of it.
func (st *stage) begin(tx *cluster.Txn, p policy.Policy) error {
	sched := st.sched
	if st.change.alters() { // another one, which need not know what becomes of its proposals
		var err error
		if sched, err = st.ask(p); err != nil {
			return err
		}
	}
	if err := sched.Schedule(tx); err != nil || st.opts.work != nil {
		return err
	}
	ops := proposed(tx)
	if sched == st.sched {
		st.first.Does = words(tx.View(), ops)
		return nil
	}
	tx.Rollback(0)
	tx.SetWake(0, false)
	tx.WakeAt(tx.Now() + again)
	return st.alter(tx, ops, p)
}

// ask returns a scheduler of the policy that has not decided anything.
func (st *stage) ask(p policy.Policy) (cluster.Scheduler, error) {
	sched, err := p.New()
	if err != nil {
		return nil, err
	}
	if err := sched.Reset(st.opts.Seed); err != nil {
		return nil, fmt.Errorf("reset: %w", err)
	}
	return sched, nil
}

// again is when a policy is asked again whose decision was altered, if nothing happens before.
const again = 10 * time.Minute

// PlayLog plays an event log again up to a decision, counted from 1, which is made as the change says, and lets a policy that
// begins there play on. The outcome is about the time from the decision on; its Log is whole.
func PlayLog(ctx context.Context, log *sim.Log, decision int, p policy.Policy, c Change, o Options) (*Outcome, error) {
	switch err := c.check(); {
	case err != nil:
		return nil, err
	case len(c.Add)+len(c.Remove)+len(c.Quotas) > 0:
		return nil, errors.New("servers and quotas of a log stay as they are: want another change")
	case decision < 1:
		return nil, fmt.Errorf("decision %d, want 1 or more", decision)
	case fills(log, decision):
		return nil, errors.New("decision 1 puts the jobs in place that run when the log begins: want a later one")
	}
	next := cluster.Never // the log's scheduler may have asked to be called then, although nothing happens
	err := visit(log, func(n int, tx *cluster.Txn, _ []cluster.Proposal) {
		if n == decision+1 {
			next = tx.Now()
		}
	})
	if err != nil {
		return nil, err
	}
	st := &stage{opts: o, change: &c}
	var recorded []cluster.Proposal
	if st.episode, recorded, err = sim.Branch(log, decision-1); err != nil {
		return nil, err
	}
	s, warm := st.episode.State(), 0
	var ids []cluster.JobID
	for id := range cluster.JobID(len(log.Jobs)) {
		if s.Phase(id) == cluster.Done {
			continue
		}
		if ids = append(ids, id); int(id) < log.Config.Warm {
			warm++
		}
	}
	spec := func(id cluster.JobID) *cluster.JobSpec { return &log.Jobs[id].JobSpec }
	st.tally = newTally(&s.View, ids, spec)
	st.measure(&s.View, objectives.Options{
		RunTime: func(id cluster.JobID) time.Duration { return log.Jobs[id].Work }, Spec: spec,
		Jobs: log.Config.Warm + len(ids) - warm, Warm: log.Config.Warm,
	})
	st.episode.Log().Scheduler = p.Name
	ended, err := st.play(ctx, p, func(tx *cluster.Txn) error {
		tx.WakeAt(next)
		st.first.Decision = decision
		return st.alter(tx, recorded, p)
	})
	if err != nil {
		return nil, err
	}
	out := st.outcome(p.Name, &c, ended)
	if out.Log = st.episode.Log(); c.None() {
		out.Cluster = "as it was"
		_, out.Differs = sim.FirstDifference(log, out.Log)
	}
	return out, nil
}

// measure lets meters of the objectives follow the episode. from is the state before the change and the first decision, so that
// they notice which jobs these stop.
func (st *stage) measure(from *cluster.View, o objectives.Options) {
	if len(st.opts.Objectives) == 0 {
		return
	}
	v := &st.episode.State().View
	for _, objective := range st.opts.Objectives {
		m := objectives.NewMeter(objective, o)
		m.Catch(from)
		st.meters = append(st.meters, m)
	}
	st.episode.Watch(func(from, to time.Duration) {
		for _, m := range st.meters {
			m.Pass(v, from, to)
		}
	})
}

// cast determines the work of the jobs of a snapshot and leaves out jobs that can never run.
func (st *stage) cast() error {
	s := &st.changed
	var unknown []string
	st.works = make([]time.Duration, len(st.ids))
	room := working(&s.View)
	for i, id := range st.ids {
		spec, done := *s.Spec(id), s.Progress(id)
		guess, left := Guess(""), time.Duration(0)
		if spec.Estimate == 0 {
			spec.Estimate, guess = st.guess(&spec, done)
		}
		switch left = max(spec.Estimate-done, 0); {
		case st.opts.work != nil:
			left = st.opts.work(&spec, done) - done
		case spec.Estimate == 0:
			unknown = append(unknown, spec.Name)
			continue
		case left == 0:
			left, guess = done, overrun
		}
		st.works[i] = done + left
		if guess != "" {
			st.assumed = append(st.assumed, Assumed{spec.Name, guess, left.Seconds()})
		}
		n := room(&spec)
		if most := s.Quota(id); most >= 0 {
			n = min(n, most/int64(spec.Request.GPUMilli))
		}
		switch {
		case n >= int64(spec.Workers) || s.Phase(id) == cluster.Running:
		case n >= int64(spec.Least()):
			spec.MinWorkers, spec.MaxWorkers = spec.Least(), spec.Most()
			spec.Workers = int32(n)
			st.assumed = append(st.assumed, Assumed{spec.Name, shrunk, left.Seconds()})
		default:
			st.jobs[i].Never = neverFits
			st.waits--
			s.Withdraw(id)
			continue
		}
		s.Revise(id, &spec)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s without an estimate (%s): %w", phrase.Count(len(unknown), "job"), some(unknown), ErrNoEstimate)
	}
	return nil
}

// guess returns the estimate of a job that has none: the median of what was learned of similar jobs, or the one that is assumed
// for all, or 0.
func (st *stage) guess(spec *cluster.JobSpec, done time.Duration) (estimate time.Duration, why Guess) {
	if t := st.opts.Times; t != nil && t.Counted(spec) >= known {
		return done + min(t.Of(spec).Quantile(done, 0.5), longest), learned
	}
	if st.opts.Assume > 0 {
		return st.opts.Assume, noEstimate
	}
	return 0, ""
}

// work returns the total isolated run time of a job of a snapshot.
func (st *stage) work(id cluster.JobID) time.Duration { return st.works[st.index(id)] }

// working returns a function that counts how many of a job's workers fit on the working servers without other jobs, including
// servers of inference.
func working(s *cluster.View) func(*cluster.JobSpec) int64 {
	var spec cluster.Spec
	for i := range s.Servers() {
		if id := cluster.ServerID(i); !s.Down(id) {
			v := *s.Server(id)
			v.GPUs = s.Working(id)
			spec.Servers = append(spec.Servers, v)
		}
	}
	return spec.Rooms()
}

// play calls first with the open transaction of the episode, and then lets the policy decide until all jobs are done. ended is
// the reason if it stopped earlier.
func (st *stage) play(ctx context.Context, p policy.Policy, first func(*cluster.Txn) error) (ended string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("play %s: %w", p.Name, err)
		}
	}()
	if st.sched, err = st.ask(p); err != nil {
		return "", err
	}
	cluster.Within(ctx, st.sched)
	for _, id := range st.stopped {
		st.interrupt(id)
	}
	most := st.opts.Most
	if most == 0 {
		most = mostDecisions
	}
	s, decide := st.episode.State(), first
	tx := s.Txn()
	for n, idle := 0, 0; n < most; n++ {
		if ctx.Err() != nil { // at each decision, because a learned policy may take long for one
			return "", context.Cause(ctx)
		}
		if err := decide(tx); err != nil {
			return "", err
		}
		decide = st.sched.Schedule
		st.operate(tx.Ops())
		if st.opts.work != nil && st.waits == 0 {
			return "", nil
		}
		if idle++; len(s.Running()) > 0 || st.episode.Left() > len(s.Pending()) {
			idle = 0
		}
		if n := len(s.Pending()); idle > mostIdle {
			return phrase.Count(n, "job") + " wait, nothing runs, and the policy starts none", nil
		}
		st.episode.Commit()
		st.survey(&s.View)
		var more bool
		tx, more = st.episode.Next()
		st.pass(s.Now())
		if !more {
			return st.episode.Outcome().Truncated, nil
		}
		st.happen(tx.Events())
		if n == 0 && (st.first.Decision > 0 || st.first.Altered) { // the policy has not been asked before
			tx.Tell(s.Introduce())
		}
	}
	return fmt.Sprintf("cut off after %d decisions", most), nil
}

func some(names []string) string {
	if more := len(names) - 5; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), more)
	}
	return strings.Join(names, ", ")
}

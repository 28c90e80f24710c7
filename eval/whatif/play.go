// Package whatif plays a state on in the simulator, and compares two ways to do so. Play simulates a snapshot of a cluster to its
// end with a given policy, servers and quotas; Compare says what differs between two such plays. Alter plays an event log on from
// a decision that is made differently, and from the same decision as it was. A Forecaster plays a snapshot on in several futures
// and forecasts when waiting jobs start.
//
// A play is a forecast under these assumptions: a job ends when its estimate says, no more jobs are submitted, nothing fails, and
// the servers that the inference pool offers stay the same. Running jobs continue on their present GPUs, with their age,
// progress, attained service and number of starts. The same snapshot, policy, change and options give the same outcome.
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
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/policy"
)

// Options configure how a snapshot is played.
type Options struct {
	Physics physics.Model   // speed of jobs from now on; nil: ideal. Speeds in the snapshot are ignored.
	Restart time.Duration   // time without progress, while it holds its GPUs, after a job restarts, moves or is resized
	Assume  time.Duration   // estimate of jobs that have none and of which Times knows nothing; 0: Play returns ErrNoEstimate
	Times   *belief.Learner // what was learned of run times; nil: nothing. Jobs without an estimate get its median
	Seed    uint64          // seed of policies that draw random numbers
	Most    int             // number of decisions after which a play is cut off; 0: 4 million

	// work, if not nil, returns how long a job runs in all in place of its estimate, given how long it has run. The play ends when
	// every waiting job has started.
	work func(spec *cluster.JobSpec, done time.Duration) time.Duration
}

// ErrNoEstimate is returned for jobs without an estimate of which nothing else is known.
var ErrNoEstimate = errors.New("give them one, or assume one for all")

const (
	mostDecisions = 4_000_000
	mostIdle      = 1000 // consecutive decisions in which no job runs or starts
)

// stage is a prepared play.
type stage struct {
	from    *cluster.View
	changed cluster.State   // a copy of from, with the change
	works   []time.Duration // total isolated run times, by index into ids
	stopped []cluster.JobID // jobs that the change stops
	assumed []Assumed
	opts    Options
	episode sim.Sim
	sched   cluster.Scheduler
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
	st = &stage{from: s, opts: o}
	if st.opts.Most == 0 {
		st.opts.Most = mostDecisions
	}
	st.ids = slices.Concat(s.Pending(), s.Running())
	slices.Sort(st.ids)
	if err := st.set(&c); err != nil {
		return nil, "", err
	}
	if st.sched, err = p.New(); err != nil {
		return nil, "", err
	}
	if err := st.sched.Reset(o.Seed); err != nil {
		return nil, "", fmt.Errorf("reset %s: %w", p.Name, err)
	}
	config := sim.Config{Physics: o.Physics, Restart: sim.Pause(o.Restart)}
	if err := st.episode.Resume(&config, &st.changed.View, sim.Rest{Work: st.work}); err != nil {
		return nil, "", err
	}
	if ended, err = st.play(ctx); err != nil {
		return nil, "", fmt.Errorf("play %s: %w", p.Name, err)
	}
	return st, ended, nil
}

// set applies the change and determines the jobs' work.
func (st *stage) set(c *Change) (err error) {
	st.from.CopyTo(&st.changed)
	st.changed.SetProfile(nil) // speeds come from the options
	if st.stopped, err = c.apply(&st.changed); err != nil {
		return err
	}
	return st.cast()
}

// cast determines the work of the jobs and leaves out jobs that can never run.
func (st *stage) cast() error {
	s := &st.changed
	var unknown []string
	st.tally = newTally(st.from, st.ids)
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

// work returns the total isolated run time of a job.
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

// play runs the policy until all jobs are done. ended is the reason if it stopped earlier.
func (st *stage) play(ctx context.Context) (ended string, err error) {
	s := st.episode.State()
	tx := s.Txn()
	tx.Tell(s.Introduce())
	for _, id := range st.stopped {
		st.interrupt(id)
	}
	for n, idle := 0, 0; n < st.opts.Most; n++ {
		if ctx.Err() != nil { // at each decision, because a learned policy may take long for one
			return "", context.Cause(ctx)
		}
		if err := st.sched.Schedule(tx); err != nil {
			return "", err
		}
		st.operate(tx.Ops())
		if st.opts.work != nil && st.waits == 0 {
			return "", nil
		}
		if idle++; len(s.Running()) > 0 {
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
	}
	return fmt.Sprintf("cut off after %d decisions", st.opts.Most), nil
}

func some(names []string) string {
	if more := len(names) - 5; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), more)
	}
	return strings.Join(names, ", ")
}

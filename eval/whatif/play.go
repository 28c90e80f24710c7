// Package whatif plays a snapshot of a cluster to its end, under the policy and on the servers that one asks about, and compares
// two such plays: what would change with another policy, with more servers, with fewer.
//
// It is a forecast under stated assumptions. A job ends when its estimate says, nothing more is submitted, nothing fails, and
// what the inference pool offers stays as it is. Jobs go on as they are: on their very GPUs, with their age, their progress,
// what they have attained and how often they were started. Same snapshot, policy, change and options, same outcome.
package whatif

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/policy"
)

// Options say how a snapshot is played.
type Options struct {
	Physics physics.Model // how fast jobs run from now on, nil: ideal. Speeds in the snapshot do not count.
	Restart time.Duration // how long a job holds its GPUs without progress when it starts again, moves or is resized
	Assume  time.Duration // estimate of jobs that have none; 0: they are an error
	Seed    uint64        // of policies that draw
	Most    int           // decisions, after which a play is cut off; 0: 4 million
}

const (
	mostDecisions = 4_000_000
	mostIdle      = 1000 // decisions in a row at which nothing runs or is started
)

// stage is a play made ready.
type stage struct {
	from    *cluster.View
	changed cluster.State   // a copy with the change made
	works   []time.Duration // by index into ids: isolated run times in all
	stopped []cluster.JobID // by the change
	assumed []Assumed
	opts    Options
	episode sim.Sim
	sched   cluster.Scheduler
	tally
}

// Play plays the snapshot to its end. The state is only read, and no transaction may be open in it. Jobs that the working
// servers could never hold are left out and reported as never started. A snapshot with jobs that have no estimate cannot be
// played without Options.Assume.
func Play(ctx context.Context, s *cluster.View, p policy.Policy, c Change, o Options) (*Outcome, error) {
	st := &stage{from: s, opts: o}
	if st.opts.Most == 0 {
		st.opts.Most = mostDecisions
	}
	st.ids = slices.Concat(s.Pending(), s.Running())
	slices.Sort(st.ids)
	if err := st.set(&c); err != nil {
		return nil, err
	}
	var err error
	if st.sched, err = p.New(); err != nil {
		return nil, err
	}
	if err := st.sched.Reset(o.Seed); err != nil {
		return nil, fmt.Errorf("reset %s: %w", p.Name, err)
	}
	config := sim.Config{Physics: o.Physics, Restart: sim.Pause(o.Restart)}
	if err := st.episode.Resume(&config, &st.changed.View, sim.Rest{Work: st.work}); err != nil {
		return nil, err
	}
	ended, err := st.play(ctx)
	if err != nil {
		return nil, fmt.Errorf("play %s: %w", p.Name, err)
	}
	return st.outcome(p.Name, &c, ended), nil
}

// set makes the change and says what the jobs have to do.
func (st *stage) set(c *Change) (err error) {
	st.from.CopyTo(&st.changed)
	st.changed.SetProfile(nil) // speeds are those of the options
	if st.stopped, err = c.apply(&st.changed); err != nil {
		return err
	}
	return st.cast()
}

// cast says what the jobs have to do, and leaves out those that can never run.
func (st *stage) cast() error {
	s := &st.changed
	var unknown []string
	st.tally = newTally(st.from, st.ids)
	st.works = make([]time.Duration, len(st.ids))
	room := working(&s.View)
	for i, id := range st.ids {
		spec, done := *s.Spec(id), s.Progress(id)
		guess := Guess("")
		if spec.Estimate == 0 {
			if st.opts.Assume <= 0 {
				unknown = append(unknown, spec.Name)
				continue
			}
			spec.Estimate, guess = st.opts.Assume, noEstimate
		}
		left := max(spec.Estimate-done, 0)
		if left == 0 {
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
			s.Withdraw(id)
			continue
		}
		s.Revise(id, &spec)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s without an estimate (%s): give them one, or assume one for all", phrase.Count(len(unknown), "job"),
			some(unknown))
	}
	return nil
}

// work is the isolated run time of a job in all.
func (st *stage) work(id cluster.JobID) time.Duration { return st.works[st.index(id)] }

// working counts the workers that the working servers take when they are empty, those of inference included.
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

// play lets the policy decide until all is done; ended says why it stopped before.
func (st *stage) play(ctx context.Context) (ended string, err error) {
	s := st.episode.State()
	tx := s.Txn()
	tx.Tell(s.Introduce())
	for _, id := range st.stopped {
		st.interrupt(id)
	}
	for n, idle := 0, 0; n < st.opts.Most; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err := st.sched.Schedule(tx); err != nil {
			return "", err
		}
		st.operate(tx.Ops())
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

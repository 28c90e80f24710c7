// Package whatif plays a snapshot of a cluster to its end, under the policy and on the servers that one asks about, and compares
// two such plays: what would change with another policy, with more servers, with fewer.
//
// It is a forecast under stated assumptions. A job ends when its estimate says, nothing more is submitted, nothing fails, and
// what the inference pool offers stays as it is. The clock of a play is the snapshot's, so that jobs keep their age; what jobs
// have attained so far (Attained, Starts) is not carried over, so policies that go by it take running jobs for new ones.
// Same snapshot, policy, change and options, same outcome.
package whatif

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/phrase"
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

// never is the repair of what does not come back.
const never = time.Duration(math.MaxInt64)

// stage is a play made ready.
type stage struct {
	from     *cluster.State
	now      time.Duration // of the snapshot: when the jobs that run there are put in their places
	begin    time.Duration // a nanosecond later: when the policy is first asked
	ids      []cluster.JobID
	jobs     []trace.Job // of the play
	source   []int       // index into ids, of each job of the play
	removed  []bool      // by server
	out      []Job       // by index into ids
	assumed  []Assumed
	config   sim.Config
	opts     Options
	episode  *sim.Sim
	sched    cluster.Scheduler
	decision int
	idle     int // decisions in a row at which nothing runs
}

// Play plays the snapshot to its end. The state is only read, and no transaction may be open in it. Jobs that the working
// servers could never hold are left out and reported as never started. A snapshot that cannot be played, because jobs
// have no estimate or shares of GPUs cannot be put together as they are, is an error.
func Play(ctx context.Context, s *cluster.State, p eval.Policy, c Change, o Options) (*Outcome, error) {
	st := &stage{from: s, now: s.Now(), begin: s.Now() + 1, opts: o}
	if st.opts.Most == 0 {
		st.opts.Most = mostDecisions
	}
	for i := range s.Jobs() {
		if phase := s.Phase(cluster.JobID(i)); phase == cluster.Pending || phase == cluster.Running {
			st.ids = append(st.ids, cluster.JobID(i))
		}
	}
	if err := st.set(&c); err != nil {
		return nil, err
	}
	if err := st.cast(); err != nil {
		return nil, err
	}
	var err error
	if st.sched, err = p.New(); err != nil {
		return nil, err
	}
	if err := st.sched.Reset(o.Seed); err != nil {
		return nil, fmt.Errorf("reset %s: %w", p.Name, err)
	}
	if st.episode, err = sim.New(st.config, st.jobs); err != nil {
		return nil, err
	}
	ended, err := st.play(ctx)
	if err != nil {
		return nil, fmt.Errorf("play %s: %w", p.Name, err)
	}
	return st.outcome(p.Name, &c, ended), nil
}

// set builds the cluster and what happens to it.
func (st *stage) set(c *Change) error {
	s := st.from
	spec, removed, err := c.spec(s)
	if err != nil {
		return err
	}
	spec.Quotas = quotas(s, st.ids)
	if spec.PerGPU, err = perGPU(s, st.ids); err != nil {
		return err
	}
	st.removed = removed
	st.config = sim.Config{Cluster: spec, Physics: st.opts.Physics, Restart: sim.Pause(st.opts.Restart)}
	pool := int32(0)
	for i := range spec.Servers {
		id := cluster.ServerID(i)
		if spec.Servers[i].Pool == cluster.Inference {
			pool++
		}
		old := i < s.Servers()
		if old && (removed[i] || s.Down(id)) {
			st.config.Outages = append(st.config.Outages, sim.Outage{From: st.begin, To: never, Server: id, GPU: -1})
		}
		for g := range spec.Servers[i].GPUs {
			if old && s.Failed(id, g) {
				st.config.Outages = append(st.config.Outages, sim.Outage{To: never, Server: id, GPU: g})
			}
		}
	}
	if pool > 0 {
		_, deadline := s.Owed()
		st.config.Demand = []sim.Demand{{At: st.begin, Offer: min(max(s.Offer(), 0), pool)}}
		st.config.Grace = max(deadline-st.now, 0)
	}
	return spec.Validate()
}

// cast says what the jobs have left to do, and leaves out those that can never run.
func (st *stage) cast() error {
	s := st.from
	var unknown []string
	capacity := st.working()
	for i, id := range st.ids {
		spec := *s.Spec(id)
		done, running := s.Progress(id), s.Phase(id) == cluster.Running
		st.out = append(st.out, Job{
			ID: id, Name: spec.Name, Workers: spec.Workers, Age: st.now - spec.Submit, Ran: running,
		})
		guess := Guess("")
		if spec.Estimate == 0 {
			if st.opts.Assume <= 0 {
				unknown = append(unknown, spec.Name)
				continue
			}
			spec.Estimate, guess = st.opts.Assume, NoEstimate
		}
		left := max(spec.Estimate-done, 0)
		work := left
		if work == 0 {
			work, guess = done, Overrun
		}
		if guess != "" {
			st.assumed = append(st.assumed, Assumed{spec.Name, guess, work.Seconds()})
		}
		n := capacity(&spec)
		switch {
		case n >= int64(spec.Workers):
		case n >= int64(spec.Least()):
			spec.MinWorkers, spec.MaxWorkers = spec.Least(), spec.Most()
			spec.Workers = int32(n)
			st.assumed = append(st.assumed, Assumed{spec.Name, Shrunk, work.Seconds()})
		case running && !st.uproots(id):
			return fmt.Errorf("job %s runs with other amounts than it asks for, and could not run as it asks: want a job that fits "+
				"its cluster", spec.Name)
		default:
			st.out[i].Never = NeverFits
			continue
		}
		if spec.Estimate = max(left, 1); running { // 0 would be none
			spec.Estimate, work = left+1, work+1 // the nanosecond before the play begins
		}
		st.jobs, st.source = append(st.jobs, trace.Job{JobSpec: spec, Work: work}), append(st.source, i)
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s without an estimate (%s): give them one, or assume one for all", phrase.Count(len(unknown), "job"),
			some(unknown))
	}
	return nil
}

// working counts the workers that the working servers take when they are empty, those of inference included.
func (st *stage) working() func(*cluster.JobSpec) int64 {
	spec := cluster.Spec{Quotas: st.config.Cluster.Quotas}
	for i, v := range st.config.Cluster.Servers {
		if i < st.from.Servers() {
			id := cluster.ServerID(i)
			if st.removed[i] || st.from.Down(id) {
				continue
			}
			v.GPUs = st.from.Working(id)
		}
		spec.Servers = append(spec.Servers, v)
	}
	return spec.Rooms()
}

// uproots reports whether the change removes a server that a job runs on.
func (st *stage) uproots(id cluster.JobID) bool {
	return slices.ContainsFunc(st.from.Placement(id), func(p cluster.Piece) bool { return st.removed[p.Server] })
}

// play lets the policy decide until all is done; ended says why it stopped before.
func (st *stage) play(ctx context.Context) (ended string, err error) {
	began := false
	for ; st.decision < st.opts.Most; st.decision++ {
		if st.decision%1024 == 0 && ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		tx, ok := st.episode.Next()
		switch {
		case !ok:
			return st.episode.Outcome().Truncated, nil
		case tx.Now() < st.now:
			tx.WakeAt(st.now)
		case tx.Now() < st.begin:
			if err := st.prepare(tx); err != nil {
				return "", err
			}
			tx.WakeAt(st.begin)
		default:
			if !began {
				tx.Tell(tx.State().Introduce())
				began = true
			}
			if err := st.sched.Schedule(tx); err != nil {
				return "", err
			}
			if st.idle++; len(tx.State().Running()) > 0 {
				st.idle = 0
			}
			if n := len(tx.State().Pending()); st.idle > mostIdle {
				return phrase.Count(n, "job") + " wait, nothing runs, and the policy starts none", nil
			}
		}
		st.episode.Commit()
	}
	return fmt.Sprintf("cut off after %d decisions", st.opts.Most), nil
}

// prepare lends what is on loan and puts the jobs that run in their places, large shares first: the GPUs are those that the
// cluster chooses.
func (st *stage) prepare(tx *cluster.Txn) error {
	for i := range st.from.Servers() {
		if id := cluster.ServerID(i); st.from.OnLoan(id) {
			if err := tx.Loan(id); err != nil {
				return err
			}
		}
	}
	var run []cluster.JobID
	for i := range st.jobs {
		if st.from.Phase(st.origin(i)) == cluster.Running {
			run = append(run, cluster.JobID(i))
		}
	}
	share := func(id cluster.JobID) int32 { return st.from.Placement(st.origin(int(id)))[0].GPUMilli }
	slices.SortStableFunc(run, func(a, b cluster.JobID) int { return int(share(b) - share(a)) })
	for _, id := range run {
		if err := tx.Place(id, st.from.Placement(st.origin(int(id)))); err != nil {
			return fmt.Errorf("put job %s where it runs: the jobs that share GPUs cannot be put together as they are: %w",
				st.jobs[id].Name, err)
		}
	}
	return nil
}

// origin is the id in the snapshot of a job of the play.
func (st *stage) origin(i int) cluster.JobID { return st.ids[st.source[i]] }

func some(names []string) string {
	if more := len(names) - 5; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), more)
	}
	return strings.Join(names, ", ")
}

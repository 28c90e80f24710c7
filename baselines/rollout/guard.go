package rollout

import (
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/baselines/place"
	"github.com/clustergym/clustergym/env/cluster"
)

// guard is the base under a commitment: it plays the base and takes back what the commitment forbids. Whenever it has, or has
// started a job itself, the base is told of the cluster anew.
type guard struct {
	base cluster.Scheduler
	commitment
	exempt func(*cluster.State, cluster.JobID) bool // of a job that may no longer be held, nil for none
	kept   func(*cluster.Txn, cluster.JobID)        // is told of a job that is held, nil for nobody
	again  time.Duration                            // after which one that is held is looked at anew, at the latest
	steps  *int                                     // that may still be played, nil for any number
	seed   uint64
	stale  bool         // the base does not know the cluster
	place  place.Placer // of the gang that a reservation is for
	starts []start
}

// commitment is what keeps jobs from starting. The zero value keeps nobody.
type commitment struct {
	at    time.Duration   // the instant at which
	waits []cluster.JobID // these do not start, and
	stop  bool            // nobody else
	reservation
}

// start is a job and where it starts.
type start struct {
	job cluster.JobID
	at  cluster.Placement
	own bool // on GPUs that nobody else uses
}

// errSpent ends a play that takes too long.
var errSpent = errors.New("budget spent")

// Name implements cluster.Scheduler.
func (g *guard) Name() string { return g.base.Name() }

// Reset implements cluster.Scheduler.
func (g *guard) Reset(seed uint64) error {
	g.seed, g.stale = seed, false
	g.place.Reset(seed)
	return g.base.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (g *guard) Schedule(tx *cluster.Txn) error {
	if g.steps != nil {
		if *g.steps <= 0 {
			return errSpent
		}
		*g.steps--
	}
	held := g.at == tx.Now() && (g.stop || len(g.waits) > 0)
	if g.stop && g.at == tx.Now() {
		g.stale = true
		tx.WakeAt(tx.Now() + g.again)
		return nil
	}
	if g.block != nil {
		if err := g.release(tx); err != nil {
			return err
		}
		tx.WakeAt(g.until) // nothing without a reservation
	}
	if err := g.introduce(tx); err != nil {
		return err
	}
	mark := tx.Mark()
	if err := g.base.Schedule(tx); err != nil {
		return err
	}
	if !held && g.block == nil || !g.retract(tx, mark) {
		return nil
	}
	g.stale = true
	tx.WakeAt(tx.Now() + g.again)
	return nil
}

// introduce tells the base of the cluster if it does not know it.
func (g *guard) introduce(tx *cluster.Txn) error {
	if !g.stale {
		return nil
	}
	g.stale = false
	tx.Tell(tx.State().Introduce())
	return g.base.Reset(g.seed)
}

// release gives up the reservation where it has come true or its time is over.
func (g *guard) release(tx *cluster.Txn) error {
	s := tx.State()
	if s.Phase(g.gang) != cluster.Pending || tx.Now() >= g.until {
		g.reservation = reservation{}
		return nil
	}
	g.place.Reset(g.seed)
	mark := tx.Mark()
	started, err := g.place.Place(tx, g.gang)
	switch {
	case !started:
	case g.scatters(&start{job: g.gang, at: s.Placement(g.gang)}):
		tx.Rollback(mark)
	default:
		g.stale, g.reservation = true, reservation{}
	}
	return err
}

// retract takes back the starts since the mark that the commitment forbids, if there are any. A proposal with anything but
// starts stands.
func (g *guard) retract(tx *cluster.Txn, mark int) bool {
	var only bool
	if g.starts, only = starts(tx, mark, g.starts[:0]); !only {
		return false
	}
	i := slices.IndexFunc(g.starts, func(st start) bool { return g.forbids(tx, &st) })
	if i < 0 {
		return false
	}
	keep := slices.DeleteFunc(g.starts[i:], func(st start) bool {
		held := g.forbids(tx, &st)
		if held && g.kept != nil {
			g.kept(tx, st.job)
		}
		return held
	})
	tx.Rollback(mark + i)
	for _, st := range keep {
		_ = tx.Place(st.job, st.at) // where it fitted with more, but for the odd share of a GPU
	}
	return true
}

func (g *guard) forbids(tx *cluster.Txn, st *start) bool {
	if g.at == tx.Now() && slices.Contains(g.waits, st.job) {
		return true
	}
	return g.block != nil && (g.scatters(st) || g.obstructs(tx.State(), st)) && (g.exempt == nil || !g.exempt(tx.State(), st.job))
}

// starts appends what was proposed since the mark; only is false if that is not starts alone.
func starts(tx *cluster.Txn, mark int, dst []start) (all []start, only bool) {
	ops := tx.Ops()[mark:]
	for i := range ops {
		o := &ops[i]
		if o.Kind != cluster.OpPlace {
			return dst, false
		}
		dst = append(dst, start{o.Job, slices.Clone(o.Placement()), unshared(tx.State(), o)})
	}
	return dst, true
}

// unshared reports whether the job has its GPUs to itself.
func unshared(s *cluster.State, o *cluster.Op) bool {
	gpus := o.GPUs()
	for _, p := range o.Placement() {
		for _, g := range gpus[:p.Workers] {
			if int32(s.GPUUse(p.Server)[g]) != p.GPUMilli {
				return false
			}
		}
		gpus = gpus[p.Workers:]
	}
	return true
}

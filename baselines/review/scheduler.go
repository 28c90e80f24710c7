package review

import (
	"errors"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/placement"
)

// Config says what is reviewed, and which offers are thought of.
type Config struct {
	// Base makes the scheduler whose proposals are reviewed. It is told of the cluster anew, as of a snapshot, after every
	// choice that was not its own; what it has learned until then is lost.
	Base func() cluster.Scheduler
	// Start makes the placer of jobs that the base would not start.
	Start func() placement.Placer
	// Menu allows jobs other amounts and numbers of workers than they ask for, and shared GPUs.
	Menu bool
	// Deltas allows changes to running jobs: to stop, move and resize them, or not to although the base would.
	Deltas bool
	// Moves thinks of nothing but moves of running jobs.
	Moves bool

	Items int // offers beside the base's own, at most
	// Choices bounds how often the judge is asked at one decision. What the base proposes beyond is done as it is: a decision about
	// hundreds of jobs at once stays within a second or so.
	Choices int
	Scarce  float64       // part of the GPUs below which free ones are looked after although nobody waits
	Hold    time.Duration // after which a job is no longer kept from starting
}

// Default returns the defaults over a base.
func Default(base func() cluster.Scheduler) Config {
	return Config{
		Base: base, Start: func() placement.Placer { return &placement.BestFit{} }, Items: 4, Choices: 64, Hold: 2 * time.Hour, Scarce: 0.1,
	}
}

// Judge chooses among offers.
type Judge interface {
	// Reset begins an episode.
	Reset(seed uint64)
	// Listen is told that a decision begins, with the events of its transaction.
	Listen(tx *cluster.Txn)
	// Choose returns which offer to take. offers[0] is the base's own; there are others. The state is that before any of them,
	// and must be so again when Choose returns. All offers are feasible.
	Choose(tx *cluster.Txn, offers []Offer) (int, error)
}

// Scheduler is a base under review. It implements cluster.Scheduler.
type Scheduler struct {
	Config
	name   string
	judge  Judge
	front  Guard // the base as it decides
	begin  placement.Placer
	held   map[cluster.JobID]time.Duration // since when a job that the base would have started is kept from it
	seed   uint64
	freed  bool       // there may be room for running jobs that there was not
	news   bool       // something happened but to the speed of jobs
	deltas int        // changes to running jobs at this decision
	asked  int        // how often the judge was asked at this decision
	tally  [Kinds]int // choices by what they were
}

// New returns the scheduler.
func New(name string, c Config, judge Judge) *Scheduler {
	r := &Scheduler{Config: c, name: name, begin: c.Start(), judge: judge}
	r.front = Guard{base: c.Base(), place: c.Start(), exempt: r.exempt, told: r.keep}
	return r
}

// Name implements cluster.Scheduler.
func (r *Scheduler) Name() string { return r.name }

// Tally counts the choices since Reset by what they were.
func (r *Scheduler) Tally() [Kinds]int { return r.tally }

// Reset implements cluster.Scheduler.
func (r *Scheduler) Reset(seed uint64) error {
	r.held, r.seed, r.tally = map[cluster.JobID]time.Duration{}, seed, [Kinds]int{}
	r.front.commitment = commitment{}
	r.judge.Reset(seed)
	return r.front.Reset(seed)
}

// Schedule implements cluster.Scheduler.
func (r *Scheduler) Schedule(tx *cluster.Txn) error {
	events := tx.Events()
	r.news, r.freed, r.deltas, r.asked = false, false, 0, 0
	for _, e := range events {
		switch e.Kind {
		case cluster.Finished:
			delete(r.held, e.Job)
			r.news, r.freed = true, true
		case cluster.Respeed:
		case cluster.Found:
			r.freed = true
		case cluster.Arrived:
			r.news = true
		default:
			r.news, r.freed = true, true
		}
	}
	r.judge.Listen(tx)
	c := &r.front.commitment
	*c = commitment{at: tx.Now(), reservation: c.reservation, spared: c.spared, sparing: c.sparing}
	from := tx.Mark()
	if err := r.front.Schedule(tx); err != nil {
		return err
	}
	err := r.improve(tx, from)
	tx.Tell(events)
	return err
}

// improve goes through what the base has proposed since the mark. Where another choice is made, the base proposes anew what
// comes after it.
func (r *Scheduler) improve(tx *cluster.Txn, from int) error {
	for {
		plan, only := starts(tx, from, nil)
		if !only && (!r.Deltas || r.Moves) || !r.worthwhile(tx, plan) {
			return nil
		}
		if !only {
			return r.whole(tx, from)
		}
		if done, err := r.walk(tx, from, plan); err != nil || done {
			return err
		}
		from = tx.Mark()
		r.front.stale = true
		if err := r.front.Schedule(tx); err != nil {
			return err
		}
	}
}

// worthwhile reports whether a choice may matter: jobs wait, GPUs are short for those to come, or jobs that run could have more.
func (r *Scheduler) worthwhile(tx *cluster.Txn, plan []start) bool {
	s := tx.State()
	if r.Moves {
		return r.freed && s.FreeTotal() > 0
	}
	scattered := slices.ContainsFunc(plan, func(st start) bool { return len(st.at) > fewest(s, &st) })
	scarce := float64(s.FreeTotal())*cluster.WholeGPU < r.Scarce*float64(s.Total().GPUMilli)
	return len(s.Pending()) > 0 || scattered || len(plan) > 0 && scarce || r.Deltas && r.freed && s.FreeTotal() > 0
}

// walk makes the choices of a plan of starts one after another until one is not the base's. done says that nothing is left to
// decide at this instant.
func (r *Scheduler) walk(tx *cluster.Txn, from int, plan []start) (done bool, err error) {
	all := proposals(tx.Ops()[from:])
	tx.Rollback(from)
	for i := 0; i <= len(plan); i++ {
		own := Offer{Job: -1, commitment: r.front.commitment}
		if i < len(plan) {
			own.Job, own.Ops, own.rest = plan[i].job, all[i:i+1], all[i+1:]
		}
		own.done = true
		var chosen *Offer
		if r.asked < r.Choices {
			if chosen, err = r.choose(tx, append([]Offer{own}, r.think(tx, plan, i)...)); err != nil {
				return true, err
			}
		}
		if chosen != nil {
			return chosen.stop, r.take(tx, chosen, plan[i:])
		}
		if err := own.Apply(tx); err != nil {
			return true, err
		}
	}
	return true, nil
}

// whole reviews a proposal with operations other than starts, after which nothing is left to decide at this instant.
func (r *Scheduler) whole(tx *cluster.Txn, from int) error {
	own := Offer{Job: -1, Ops: proposals(tx.Ops()[from:]), commitment: r.front.commitment}
	own.done = true
	tx.Rollback(from)
	others, err := r.vetoes(tx, own.Ops)
	if err != nil {
		return err
	}
	chosen, err := r.choose(tx, append([]Offer{own}, others...))
	switch {
	case err != nil:
		return err
	case chosen == nil:
		return own.Apply(tx)
	}
	return r.take(tx, chosen, nil)
}

// choose returns the offer that the judge takes, nil for the base's own.
func (r *Scheduler) choose(tx *cluster.Txn, offers []Offer) (*Offer, error) {
	n, mark := 1, tx.Mark()
	offers[0].of = r
	for i := 1; i < len(offers); i++ {
		err := offers[i].Apply(tx)
		tx.Rollback(mark)
		if errors.Is(err, cluster.ErrInfeasible) {
			continue
		}
		if err != nil {
			return nil, err
		}
		offers[n] = offers[i]
		offers[n].of = r
		n++
	}
	if offers = offers[:n]; n < 2 {
		return nil, nil
	}
	r.asked++
	i, err := r.judge.Choose(tx, offers)
	if err != nil {
		return nil, err
	}
	r.tally[offers[i].Kind]++
	if i == 0 {
		return nil, nil
	}
	return &offers[i], nil
}

// take makes a choice that is not the base's.
func (r *Scheduler) take(tx *cluster.Txn, o *Offer, plan []start) error {
	r.front.stale = true
	r.front.commitment = o.commitment
	if err := o.Apply(tx); err != nil {
		return err
	}
	switch o.Kind {
	case Veto:
		for _, id := range o.kept {
			r.keep(tx, id)
		}
		return nil
	case Grow, Move, Preempt:
		r.deltas++
	}
	if o.stop {
		r.front.stop = false
		for _, st := range plan {
			r.keep(tx, st.job)
		}
	} else if len(plan) > 0 && !o.starts(plan[0].job) {
		r.note(tx, plan[0].job) // if the base would start it still and may not, its guard says so
	}
	return nil
}

// keep notes that a job is kept from a start that the base proposed, and looks at it again after a while.
func (r *Scheduler) keep(tx *cluster.Txn, id cluster.JobID) {
	r.note(tx, id)
	tx.WakeAt(tx.Now() + nap)
}

// note remembers since when a job is kept.
func (r *Scheduler) note(tx *cluster.Txn, id cluster.JobID) {
	if _, ok := r.held[id]; !ok {
		r.held[id] = tx.Now()
	}
}

// exempt reports whether a job has been kept long enough.
func (r *Scheduler) exempt(s *cluster.State, id cluster.JobID) bool {
	since, ok := r.held[id]
	return ok && s.Now()-since >= r.Hold
}

package headroom

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/rng"
)

// tries is the number of alternatives that the search simulates at a decision point.
const tries = 5

// decider improves an episode by rollouts with the true future. At decision points it forks the simulation, does an alternative
// in the fork, and lets the candidate scheduler play the fork to the end. It adopts an alternative whose final cost is lower than
// that of the current course. The current course is known to its end, so the result is never worse than the
// candidate's.
type decider struct {
	*finder
	base    *candidate
	until   []time.Duration // the holds of the influence, with those of adopted alternatives
	live    *sim.Sim
	sched   *influenced
	meter   *objectives.Meter // of the live simulation
	branch  objectives.Meter  // of the fork
	goal    float64           // the final cost of the current course
	before  sim.Sim           // the state at the decision point, before the candidate decided
	fork    sim.Sim
	moves   []move
	own     proposed // the policy's own operations, given to the board as a scheduler
	board   candidates.Source
	wider   candidates.Source // a source of more candidates; nil for none
	submits []time.Duration   // of all jobs, ascending
	worth   []float64         // by job: how much it is worth to examine a decision about it
	cost    float64           // of the decision points to come: the sum of worth times the cost of an alternative
	draw    *rand.Rand
	extra   *rand.Rand // random draws for the wider list only, so that without one the search draws as usual
}

// decide returns the improved course, at worst as good as the candidate's. The parameter times multiplies the usual number of
// candidates at a decision point.
func (f *finder) decide(ctx context.Context, c *candidate, from *course, budget, times int, pass string) (*course, error) {
	d := &decider{
		finder: f, base: c, until: slices.Clone(c.influence.until), goal: from.cost,
		draw: rng.Stream(f.opts.Seed, "headroom", "decide", pass), extra: rng.Stream(f.opts.Seed, "headroom", "wider", pass),
	}
	var err error
	if d.board, err = d.newBoard(1, proposers); err != nil {
		return nil, err
	}
	if times > 1 {
		if d.wider, err = d.newBoard(times, proposers*times); err != nil {
			return nil, err
		}
	}
	for i := range f.start.Jobs {
		d.submits = append(d.submits, f.start.Jobs[i].Submit)
	}
	slices.Sort(d.submits)
	d.appraise(from)
	if err := d.survey(ctx); err != nil {
		return nil, err
	}
	if err := d.run(ctx, float64(f.played+budget)); err != nil {
		return nil, err
	}
	s, meter, err := f.episode(truth(f.start.Jobs, false))
	if err != nil {
		return nil, err
	}
	if err := s.Run(ctx, &script{moves: d.moves}, 0); err != nil {
		return nil, fmt.Errorf("replay what was found: %w", err)
	}
	got, err := f.course(s, meter)
	if err == nil && math.Abs(got.cost-d.goal) > 1e-9*max(d.goal, 1) {
		err = fmt.Errorf("a fork promised a cost of %v, the replay has %v", d.goal, got.cost)
	}
	return got, err
}

func (d *decider) scheduler() (*influenced, error) {
	inner, err := d.base.new()
	return &influenced{inner: inner, until: d.until}, err
}

// appraise sets the worth of decisions about each job: half of the total in proportion to the jobs' losses, half equally.
func (d *decider) appraise(c *course) {
	d.worth = make([]float64, len(d.start.Jobs))
	sum := 0.0
	for i := range c.rows {
		loss := d.loss(c, i)
		d.worth[c.rows[i].Job] = loss
		sum += loss
	}
	for i := range d.worth {
		d.worth[i] += sum/float64(len(d.worth)) + 1e-3
	}
}

// survey plays the candidate once to add up the cost of examining all its decision points.
func (d *decider) survey(ctx context.Context) error {
	s, _, err := d.episode(d.base.influence)
	if err != nil {
		return err
	}
	sched, err := d.scheduler()
	if err != nil {
		return err
	}
	return s.Run(ctx, &surveyor{sched, d}, d.opts.Seed)
}

// surveyor adds up the cost of examining decision points, each weighted by its worth.
type surveyor struct {
	*influenced
	decider *decider
}

// Schedule implements cluster.Scheduler.
func (v *surveyor) Schedule(tx *cluster.Txn) error {
	worth, share := v.decider.value(tx.View())
	v.decider.cost += worth * share
	return v.influenced.Schedule(tx)
}

// value returns the worth of examining a decision point, summed over the waiting jobs, and the fraction of the jobs that are not
// done, which is the cost of simulating an alternative.
func (d *decider) value(s *cluster.View) (worth, share float64) {
	for _, id := range s.Pending() {
		worth += d.worth[id]
	}
	left := 0
	for i := range s.Jobs() {
		if s.Phase(cluster.JobID(i)) != cluster.Done {
			left++
		}
	}
	return worth, float64(left) / float64(s.Jobs())
}

// run plays the episode and examines decision points. It stops examining when the total number of simulated episodes reaches
// end, and then only plays on.
func (d *decider) run(ctx context.Context, end float64) (err error) {
	if d.live, d.meter, err = d.episode(d.base.influence); err != nil {
		return err
	}
	if d.sched, err = d.scheduler(); err != nil {
		return err
	}
	if err := d.sched.Reset(d.opts.Seed); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		tx, ok := d.live.Next()
		if !ok {
			break
		}
		worth, share := d.value(tx.View())
		left := end - float64(d.played) - d.spent
		look := worth > 0 && left > 0 && d.draw.Float64()*tries*d.cost < left*worth
		d.cost -= worth * share
		if look {
			d.live.Fork(&d.before)
		}
		if err := d.sched.Schedule(tx); err != nil {
			return fmt.Errorf("%s at %v: %w", d.base.name, tx.Now(), err)
		}
		if look {
			took, err := d.improve(ctx, tx, share)
			if err != nil {
				return err
			}
			if took {
				continue
			}
		}
		d.moves = append(d.moves, record(tx))
		d.live.Commit()
	}
	if o := d.live.Outcome(); !o.Terminated {
		return errUnfinished
	}
	return nil
}

// improve simulates alternatives to the operations that the open transaction proposes. If one is better, it adopts the best one,
// completes the decision and returns true.
func (d *decider) improve(ctx context.Context, tx *cluster.Txn, share float64) (bool, error) {
	all, err := d.others(tx)
	if err != nil {
		return false, err
	}
	var best *other
	goal := d.goal
	for i := range all {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		cost, err := d.try(&all[i])
		d.spend(share)
		if errors.Is(err, errUnfinished) {
			continue
		}
		if err != nil {
			return false, err
		}
		if cost < goal*(1-1e-12) {
			goal, best = cost, &all[i]
		}
	}
	if best == nil {
		return false, nil
	}
	return true, d.take(best, goal)
}

// try plays an alternative to the end and returns what the episode then costs.
func (d *decider) try(o *other) (float64, error) {
	d.before.Fork(&d.fork)
	d.meter.CopyTo(&d.branch)
	follow(&d.fork, &d.branch)
	until, err := d.begin(&d.fork, o)
	if err != nil {
		return 0, err
	}
	sched, err := d.scheduler()
	if err != nil {
		return 0, err
	}
	sched.until = until
	if err := d.fork.Continue(sched, d.opts.Seed, nil); err != nil {
		return 0, err
	}
	if !d.fork.Outcome().Terminated {
		return 0, errUnfinished
	}
	d.branch.Catch(&d.fork.State().View)
	return d.branch.Total(), nil
}

// begin applies an alternative: it does its operations, or returns the holds with the alternative's hold added.
func (d *decider) begin(s *sim.Sim, o *other) ([]time.Duration, error) {
	for i := range o.ops {
		if err := s.State().Txn().Do(&o.ops[i]); err != nil {
			return nil, err
		}
	}
	if len(o.ops) > 0 {
		return d.until, nil
	}
	until := slices.Clone(d.until)
	until[o.job] = o.hold
	return until, nil
}

// take adopts an alternative: it continues the episode in a fork in which the alternative was done.
func (d *decider) take(o *other, goal float64) error {
	next, meter := &sim.Sim{}, &objectives.Meter{}
	d.before.Fork(next)
	d.meter.CopyTo(meter)
	follow(next, meter)
	until, err := d.begin(next, o)
	if err != nil {
		return err
	}
	d.until = until
	sched, err := d.scheduler()
	if err != nil {
		return err
	}
	d.live, d.meter, d.sched, d.goal = next, meter, sched, goal
	d.taken++
	if err := sched.Reset(d.opts.Seed); err != nil {
		return err
	}
	tx := next.State().Txn()
	tx.Tell(next.State().Introduce())
	if err := sched.Schedule(tx); err != nil {
		return fmt.Errorf("%s at %v: %w", d.base.name, tx.Now(), err)
	}
	d.moves = append(d.moves, record(tx))
	next.Commit()
	return nil
}

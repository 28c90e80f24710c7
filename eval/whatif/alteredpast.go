package whatif

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// Decision is a decision of an event log in which something was done.
type Decision struct {
	Number int      `json:"decision"` // among all decisions of the log, from 1
	At     float64  `json:"at_s"`
	Does   string   `json:"does"`
	Jobs   []string `json:"jobs"` // that it is about
	// Starts lists those of Jobs that start.
	Starts []string `json:"starts"`
}

// Decisions lists the decisions of an event log in which something was done. The decision that only fills the cluster at the
// beginning of a log with warm jobs is none.
func Decisions(log *sim.Log) ([]Decision, error) {
	var all []Decision
	err := visit(log, func(n int, tx *cluster.Txn, ops []cluster.Proposal) {
		if len(ops) == 0 || fills(log, n) {
			return
		}
		s := tx.View()
		d := Decision{Number: n, At: tx.Now().Seconds(), Does: words(s, ops), Jobs: []string{}, Starts: []string{}}
		for i := range ops {
			if of := ops[i].Job; about(&ops[i]) {
				d.Jobs = append(d.Jobs, s.Spec(of).Name)
				if ops[i].Kind == cluster.OpPlace {
					d.Starts = append(d.Starts, s.Spec(of).Name)
				}
			}
		}
		all = append(all, d)
	})
	return all, err
}

// visit calls see at every decision of a log, with its number from 1, the transaction, and what is proposed in it.
func visit(log *sim.Log, see func(n int, tx *cluster.Txn, ops []cluster.Proposal)) error {
	n := 0
	return sim.Visit(log, sim.Look{After: func(tx *cluster.Txn, _ int) bool {
		n++
		see(n, tx, proposed(tx))
		return true
	}})
}

// proposed returns the operations of a transaction.
func proposed(tx *cluster.Txn) (ops []cluster.Proposal) {
	for i := range tx.Ops() {
		ops = append(ops, tx.Ops()[i].Proposal())
	}
	return ops
}

// fills reports whether a decision puts the jobs in place that run when the log begins.
func fills(log *sim.Log, number int) bool { return number == 1 && log.Config.Warm > 0 }

func about(o *cluster.Proposal) bool { return o.Kind != cluster.OpLoan && o.Kind != cluster.OpReclaim }

// words says what operations do.
func words(s *cluster.View, ops []cluster.Proposal) string {
	if len(ops) == 0 {
		return "nothing"
	}
	return (&candidates.Candidate{Job: -1, Ops: ops}).Does(s)
}

// Alteration is one decision of a log that is to be made differently. One of Leave, Start and Candidate says how.
type Alteration struct {
	Decision  int    // from 1
	Leave     string // what the log does with this job is left out
	Start     string // this job, which waits, starts by best fit before what the log does
	Candidate int    // the learned team takes this candidate, counted from 1, in its first choice
}

// Past is an event log and what would have happened with one decision made differently. The policy then decides from the next
// decision on, in both Same and Is.
type Past struct {
	At      time.Duration
	Does    string   // what the log does there
	Instead string   // what is done instead
	Dropped []string // what the log does there that no longer fits
	Same    *sim.Log // with the decision of the log
	Is      *sim.Log // with the other one
}

// Alter plays an event log again up to a decision, makes that decision differently, and lets a policy play on. The jobs, failures
// and inference demand after it are those of the log. It also lets the policy play on after the decision as it was, so that the
// difference between the two is that of this decision.
func Alter(ctx context.Context, log *sim.Log, p *policy.Policy, a Alteration, seed uint64) (*Past, error) {
	if err := a.check(log); err != nil {
		return nil, err
	}
	next, err := after(log, a.Decision)
	if err != nil {
		return nil, err
	}
	var past Past
	same := func(tx *cluster.Txn, ops []cluster.Proposal) error {
		past.At, past.Does = tx.Now(), words(tx.View(), ops)
		return repeat(tx, ops)
	}
	if past.Same, err = branch(ctx, log, p, a.Decision, next, seed, same); err != nil {
		return nil, err
	}
	other := func(tx *cluster.Txn, ops []cluster.Proposal) error { return past.alter(tx, ops, p, a, seed) }
	if past.Is, err = branch(ctx, log, p, a.Decision, next, seed, other); err != nil {
		return nil, err
	}
	return &past, nil
}

func (a *Alteration) check(log *sim.Log) error {
	ways := 0
	for _, chosen := range []bool{a.Leave != "", a.Start != "", a.Candidate > 0} {
		if chosen {
			ways++
		}
	}
	switch {
	case ways != 1:
		return fmt.Errorf("%d ways to decide otherwise, want one: a job to leave, a job to start, or a candidate", ways)
	case a.Decision < 1:
		return fmt.Errorf("decision %d, want 1 or more", a.Decision)
	case fills(log, a.Decision):
		return errors.New("decision 1 puts the jobs in place that run when the log begins: want a later one")
	}
	return nil
}

// after returns the time of the decision after the given one, cluster.Never if there is none.
func after(log *sim.Log, decision int) (time.Duration, error) {
	at := cluster.Never
	err := visit(log, func(n int, tx *cluster.Txn, _ []cluster.Proposal) {
		if n == decision+1 {
			at = tx.Now()
		}
	})
	return at, err
}

// branch plays the log to a decision, lets propose make it, and the policy play on. The policy is asked at the time of the log's
// next decision, too: an instant at which the log's scheduler asked to be called is no event.
func branch(
	ctx context.Context, log *sim.Log, p *policy.Policy, decision int, next time.Duration, seed uint64,
	propose func(*cluster.Txn, []cluster.Proposal) error,
) (*sim.Log, error) {
	s, recorded, err := sim.Branch(log, decision-1)
	if err != nil {
		return nil, err
	}
	tx := s.State().Txn()
	if err := propose(tx, recorded); err != nil {
		return nil, err
	}
	tx.WakeAt(next)
	s.Commit()
	sched, err := p.New()
	if err != nil {
		return nil, err
	}
	if err := s.RunOn(ctx, sched, seed); err != nil {
		return nil, err
	}
	out := s.Log()
	out.Scheduler = p.Name
	return out, nil
}

// repeat proposes what the log does.
func repeat(tx *cluster.Txn, ops []cluster.Proposal) error {
	for i := range ops {
		if err := tx.Do(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

// alter proposes what is to be done instead of what the log does.
func (past *Past) alter(tx *cluster.Txn, ops []cluster.Proposal, p *policy.Policy, a Alteration, seed uint64) error {
	s := tx.View()
	var err error
	switch {
	case a.Candidate > 0:
		tx.Tell(s.Introduce())
		err = take(tx, p, a.Candidate, seed)
	case a.Start != "":
		if err = start(tx, a.Start); err == nil {
			past.rest(tx, ops, func(o *cluster.Proposal) bool { return s.Spec(o.Job).Name == a.Start })
		}
	default:
		left := func(o *cluster.Proposal) bool { return about(o) && s.Spec(o.Job).Name == a.Leave }
		if !slices.ContainsFunc(ops, func(o cluster.Proposal) bool { return left(&o) }) {
			return fmt.Errorf("decision %d does nothing with job %s: it does this: %s", a.Decision, a.Leave, past.Does)
		}
		past.rest(tx, ops, left)
	}
	if err != nil {
		return fmt.Errorf("decision %d: %w", a.Decision, err)
	}
	past.Instead = words(s, proposed(tx))
	return nil
}

// rest proposes what the log does, except for what is left out, as far as it fits.
func (past *Past) rest(tx *cluster.Txn, ops []cluster.Proposal, left func(*cluster.Proposal) bool) {
	for i := range ops {
		if !left(&ops[i]) && !tx.Try(&ops[i]) {
			past.Dropped = append(past.Dropped, words(tx.View(), ops[i:i+1]))
		}
	}
}

// start starts a waiting job by best fit.
func start(tx *cluster.Txn, name string) error {
	s := tx.View()
	for _, id := range s.Pending() {
		if s.Spec(id).Name != name {
			continue
		}
		at, ok := s.BestFit(id, nil)
		if !ok {
			return fmt.Errorf("job %s does not fit then", name)
		}
		return tx.Place(id, at)
	}
	return fmt.Errorf("job %s does not wait then", name)
}

// take lets a learned team decide, which takes a given candidate in its first choice.
func take(tx *cluster.Txn, p *policy.Policy, candidate int, seed uint64) error {
	team, err := teamOf(p)
	if err != nil {
		return err
	}
	team.Force(candidate)
	if err := team.Reset(seed); err != nil {
		return err
	}
	if err := team.Schedule(tx); err != nil {
		return err
	}
	if team.Forced() {
		return errors.New("the team has no candidates then")
	}
	return nil
}

func teamOf(p *policy.Policy) (*agents.Team, error) {
	if p.Learned == nil {
		return nil, fmt.Errorf("%s chooses among no candidates, want a learned team", p.Name)
	}
	if p.Rule != "" {
		return nil, fmt.Errorf("%s: the candidates of a decision are those of the team without %s: want the policy without it",
			p.Name, p.Rule)
	}
	return agents.NewTeam(p.Learned), nil
}

// Choices returns the choices that a learned team would make at a decision of a log.
func Choices(log *sim.Log, p *policy.Policy, decision int, seed uint64) ([]explain.Choice, error) {
	all, _, err := choices(log, p, decision, seed)
	return all, err
}

// choices is Choices, and says what the team does.
func choices(log *sim.Log, p *policy.Policy, decision int, seed uint64) (all []explain.Choice, does string, err error) {
	team, err := teamOf(p)
	if err != nil {
		return nil, "", err
	}
	s, _, err := sim.Branch(log, decision-1)
	if err != nil {
		return nil, "", err
	}
	var seen explain.Choices
	team.Record(seen.Add)
	if err := team.Reset(seed); err != nil {
		return nil, "", err
	}
	tx := s.State().Txn()
	tx.Tell(s.State().Introduce())
	if err := team.Schedule(tx); err != nil {
		return nil, "", err
	}
	return seen.All, words(tx.View(), proposed(tx)), nil
}

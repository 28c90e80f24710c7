package decide

import (
	"context"
	"fmt"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/policy"
)

// proposal contains what a policy proposes, in a transaction that is still open.
type proposal struct {
	tx *cluster.Txn
	// outOfDistribution counts the choices that a learned team left to its prior because they were outside the training
	// distribution.
	outOfDistribution int
}

// learned is a scheduler that counts the choices that it left to its prior.
type learned interface{ OutOfDistribution() int }

var _ learned = (*agents.Team)(nil)

// recorder is a scheduler that can tell of each of its choices.
type recorder interface {
	Record(func(*cluster.Txn, *agents.Choice) error)
}

var _ recorder = (*agents.Team)(nil)

// propose asks a policy for its decisions on a state. It adds the choices of a learned team to seen, if that is not nil. Some
// policies break off after ctx ends.
func propose(ctx context.Context, s *cluster.State, p *policy.Policy, seed uint64, seen *explain.Choices) (proposal, error) {
	sched, err := p.New()
	if err != nil {
		return proposal{}, err
	}
	if err := sched.Reset(seed); err != nil {
		return proposal{}, fmt.Errorf("reset %s: %w", p.Name, err)
	}
	if team, ok := sched.(recorder); ok && seen != nil {
		team.Record(seen.Add)
	}
	cluster.Within(ctx, sched)
	tx := s.Begin(s.Introduce())
	if err := sched.Schedule(tx); err != nil {
		proposal{tx: tx}.takeBack()
		return proposal{}, fmt.Errorf("plan with %s: %w", p.Name, err)
	}
	out := proposal{tx: tx}
	if team, ok := sched.(learned); ok {
		out.outOfDistribution = team.OutOfDistribution()
	}
	return out, nil
}

// takeBack rolls the transaction back, so that the state is unchanged.
func (p proposal) takeBack() {
	p.tx.Rollback(0)
	p.tx.End()
}

// result returns the proposals for the caller to keep.
func (p proposal) result(a *Answer) *Result {
	out := &Result{Answer: a}
	for i := range p.tx.Ops() {
		out.Proposals = append(out.Proposals, p.tx.Ops()[i].Proposal())
	}
	if at, ok := p.tx.Wake(); ok {
		out.Wake = &at
	}
	return out
}

// starts returns the jobs that a proposal is about.
func (p proposal) starts() map[cluster.JobID]bool {
	jobs := map[cluster.JobID]bool{}
	for i := range p.tx.Ops() {
		jobs[p.tx.Ops()[i].Job] = true
	}
	return jobs
}

// besides is the name of the prior in reasons.
const besides = "the prior"

// Asking says how Plan asks a policy.
type Asking struct {
	Seed uint64
	// Stops is how many running jobs may be stopped or moved, -1 for any number.
	Stops int
	// Choices says whether to tell what a learned team weighed.
	Choices bool
}

// Planned is what a policy would do in a state, with reasons.
type Planned struct {
	*explain.Plan
	Why     *explain.Decision
	Held    []Held           // what Asking.Stops held back
	Choices []explain.Choice // of a learned team, if Asking.Choices; nil for a policy that is none, or with a suffix such as +know
}

// Plan asks a policy for its decisions about a state, explains them, and rolls them back. The reasons of a learned policy also
// say where it differs from its prior, unless that returns an error. Equal arguments give equal plans. Plan breaks off soon after
// ctx ends.
func Plan(ctx context.Context, s *cluster.State, p *policy.Policy, ask Asking) (*Planned, error) {
	facts := explain.New(&s.View)
	if p.Prior != nil {
		// A suffix such as +know may stand for what the prior lacks, so that it fails: then the prior is left out, as in Decide.
		if from, err := propose(ctx, s, p.Prior, ask.Seed, nil); err == nil {
			facts.Beside(besides, from.starts())
			from.takeBack()
		}
	}
	var seen *explain.Choices
	if ask.Choices {
		seen = new(explain.Choices)
	}
	from, err := propose(ctx, s, p, ask.Seed, seen)
	if err != nil {
		return nil, err
	}
	out := &Planned{}
	if ask.Stops >= 0 {
		all := from.result(nil)
		from.takeBack()
		from = proposal{tx: s.Begin(nil)}
		out.Held = (&Limits{Stops: ask.Stops}).Apply(from.tx, all.Proposals, nil)
		if all.Wake != nil {
			from.tx.SetWake(*all.Wake, true)
		}
	}
	defer from.takeBack()
	if out.Plan, out.Why, err = facts.Plan(ctx, p.Name, from.tx); err != nil {
		return nil, fmt.Errorf("plan with %s: %w", p.Name, err)
	}
	if seen != nil {
		out.Choices = seen.All
	}
	return out, nil
}

// barePlan is Plan without reasons.
func barePlan(s *cluster.State, p *policy.Policy, seed uint64) (*explain.Plan, error) {
	out, err := propose(context.Background(), fresh(&s.View), p, seed, nil)
	if err != nil {
		return nil, err
	}
	return explain.Bare(p.Name, &s.View, out.tx), nil
}

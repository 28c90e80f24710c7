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

// propose asks a policy for its decisions on a state.
func propose(s *cluster.State, p *policy.Policy, seed uint64) (proposal, error) {
	sched, err := p.New()
	if err != nil {
		return proposal{}, err
	}
	if err := sched.Reset(seed); err != nil {
		return proposal{}, fmt.Errorf("reset %s: %w", p.Name, err)
	}
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

// PlanWithin is Plan with a limit of how many running jobs may be stopped or moved, -1 for none. It also returns the
// proposals that this limit held back, as Limits.Apply does.
func PlanWithin(s *cluster.State, p *policy.Policy, seed uint64, stops int) (*explain.Plan, *explain.Decision, []Held, error) {
	if stops < 0 {
		plan, why, err := Plan(s, p, seed)
		return plan, why, nil, err
	}
	out, err := propose(s, p, seed)
	if err != nil {
		return nil, nil, nil, err
	}
	all := out.result(nil)
	out.takeBack()
	facts := explain.New(&s.View)
	tx := s.Begin(nil)
	defer proposal{tx: tx}.takeBack()
	held := (&Limits{Stops: stops}).Apply(tx, all.Proposals, nil)
	plan, why, err := facts.Plan(context.Background(), p.Name, tx)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("plan with %s: %w", p.Name, err)
	}
	if all.Wake != nil {
		plan.Wake = new(all.Wake.Seconds())
	}
	return plan, why, held, nil
}

// Plan asks a policy for its decisions about a state, explains them, and rolls them back. The reasons of a learned policy also
// say where it differs from its prior. Equal arguments give equal plans.
func Plan(s *cluster.State, p *policy.Policy, seed uint64) (*explain.Plan, *explain.Decision, error) {
	facts := explain.New(&s.View)
	if p.Prior != nil {
		from, err := propose(s, p.Prior, seed)
		if err != nil {
			return nil, nil, err
		}
		facts.Beside(besides, from.starts())
		from.takeBack()
	}
	out, err := propose(s, p, seed)
	if err != nil {
		return nil, nil, err
	}
	plan, why, err := facts.Plan(context.Background(), p.Name, out.tx)
	out.takeBack()
	if err != nil {
		return nil, nil, fmt.Errorf("plan with %s: %w", p.Name, err)
	}
	return plan, why, nil
}

// barePlan is Plan without reasons.
func barePlan(s *cluster.State, p *policy.Policy, seed uint64) (*explain.Plan, error) {
	out, err := propose(fresh(&s.View), p, seed)
	if err != nil {
		return nil, err
	}
	return explain.Bare(p.Name, &s.View, out.tx), nil
}

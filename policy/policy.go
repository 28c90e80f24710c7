package policy

import (
	"fmt"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// Policy makes schedulers that decide. New may be called concurrently, and each scheduler decides once.
type Policy struct {
	Name   string
	Digest string // of what the name does not say, such as weights
	New    func() (cluster.Scheduler, error)
	Prior  *Policy // that a learned policy started from, nil for others

	Learned  *agents.Policy         // nil for a baseline
	Training checkpoints.Provenance // of a learned one
	Folder   string                 // that it was read from, "" for what comes with the program
	Run      string                 // folder of the run that trained it, "" where that is not known
}

// Prior is the name of what a learned policy starts from; as a name of its own it is the usual one.
const Prior = "prior"

// team is a learned policy with its prior.
func team(p *agents.Policy, training checkpoints.Provenance, folder string) *Policy {
	from := priorOf(p)
	return &Policy{
		Name: p.Name, Digest: from.Digest, Prior: from, Learned: p, Training: training, Folder: folder,
		New: func() (cluster.Scheduler, error) { return agents.NewTeam(p), nil },
	}
}

// priorOf is the prior of a learned policy.
func priorOf(p *agents.Policy) *Policy {
	return &Policy{
		Name: Prior, Digest: p.Digest(), New: func() (cluster.Scheduler, error) { return agents.NewPrior(p), nil },
	}
}

// usualPrior is the prior of an untrained policy.
func usualPrior() (*Policy, error) {
	p, err := agents.NewPolicy(Prior, agents.DefaultSize(), agents.DefaultWindow, agents.DefaultPrior, rng.Stream(0, Prior))
	if err != nil {
		return nil, err
	}
	return priorOf(p), nil
}

// releasedPolicy is the policy that comes with the program.
func releasedPolicy() (*Policy, error) {
	p, m, err := agents.LoadFS(released.FS())
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", released.Name, err)
	}
	p.Name = released.Name
	return team(p, m.Training, ""), nil
}

// named gives a policy another name.
func (p *Policy) named(name string) {
	p.Name = name
	if p.Learned != nil {
		p.Learned.Name = name // so the log of an episode, and what is drawn from it, says the same
	}
}

// lend makes a policy borrow from the inference pool too.
func (p *Policy) lend(suffix string, borrow func(cluster.Scheduler) cluster.Scheduler) {
	inner := p.New
	p.Name += suffix
	p.New = func() (cluster.Scheduler, error) {
		s, err := inner()
		if err != nil {
			return nil, err
		}
		return borrow(s), nil
	}
}

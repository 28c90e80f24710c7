package policy

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// Policy makes schedulers. New may be called concurrently. Each scheduler is for one use.
type Policy struct {
	Name   string
	Digest string         // of what the name leaves open, such as weights
	Spec   baselines.Spec // by which the policy was found; the zero Spec for the prior of a found policy
	// Rule is the baseline with its options and suffixes, or the suffixes behind a learned policy. Unlike Name it always says which
	// they are: somebody may give policies other names.
	Rule string
	New  func() (cluster.Scheduler, error)
	// With, if not nil, makes schedulers that use what the caller gives, such as a predictor fitted on the training split of a
	// scenario, or what was learned in production. If the schedulers need it, New returns an error that wraps
	// baselines.ErrUnfitted. With may be called concurrently.
	With  func(baselines.Given) (cluster.Scheduler, error)
	Needs baselines.Needs // what With needs or begins with
	Prior *Policy         // that a learned policy reviews; nil for others

	Learned  *agents.Policy         // nil unless the policy is a team of agents
	Central  *agents.Central        // nil unless the policy is a central controller that was trained with other software
	Training checkpoints.Provenance // of a learned policy
	Folder   string                 // that the policy was read from; "" for a policy that comes with the program
	Run      string                 // folder of the run that trained it; "" if unknown
}

// Trained reports whether the policy was trained on jobs before. Training.Seen says which, if that is known.
func (p *Policy) Trained() bool { return p.Learned != nil || p.Central != nil }

// Same reports whether both policies do the same, whatever their names.
func (p *Policy) Same(as *Policy) bool {
	return p.Digest == as.Digest && p.Rule == as.Rule &&
		(p.Learned == nil) == (as.Learned == nil) && (p.Central == nil) == (as.Central == nil)
}

// Prior is the name of the base policy that a learned policy reviews. On its own it stands for the prior of an untrained policy.
const Prior = "prior"

// team returns a learned policy with its prior.
func team(p *agents.Policy, training checkpoints.Provenance, folder string) *Policy {
	t := &Policy{Name: p.Name, Digest: p.Digest(), Learned: p, Training: training, Folder: folder}
	t.on(&p.Setting, func(g baselines.Given) cluster.Scheduler {
		own := *p
		own.Given = g
		return agents.NewTeam(&own)
	})
	t.Prior = priorOf(&p.Setting, t.Digest)
	return t
}

// central returns a policy of a central controller with its prior.
func central(c *agents.Central, training checkpoints.Provenance, folder string) *Policy {
	p := &Policy{Name: c.Name, Digest: c.Digest(), Central: c, Training: training, Folder: folder}
	p.on(&c.Setting, func(g baselines.Given) cluster.Scheduler {
		own := *c
		own.Given = g
		return agents.NewCentralTeam(&own)
	})
	p.Prior = priorOf(&c.Setting, p.Digest)
	return p
}

// by makes the policy make schedulers with create. g is what they are given unless the caller gives something.
func (p *Policy) by(needs baselines.Needs, g baselines.Given, create func(baselines.Given) (cluster.Scheduler, error)) {
	p.New = func() (cluster.Scheduler, error) { return create(g) }
	if p.Needs = needs; needs != (baselines.Needs{Estimates: needs.Estimates}) {
		p.With = create
	}
}

// on makes the policy make schedulers of a learned policy.
func (p *Policy) on(s *agents.Setting, create func(baselines.Given) cluster.Scheduler) {
	p.by(s.Needs(), s.Given, func(g baselines.Given) (cluster.Scheduler, error) {
		if err := s.Base().Lacks(g); err != nil {
			return nil, err
		}
		return create(g), nil
	})
}

// priorOf returns the prior of a learned policy with the given digest.
func priorOf(s *agents.Setting, digest string) *Policy {
	from := &Policy{Name: Prior, Digest: digest}
	from.on(s, func(g baselines.Given) cluster.Scheduler {
		own := *s
		own.Given = g
		return agents.NewPrior(&own)
	})
	return from
}

// usualPrior returns the prior of an untrained policy with default settings.
func usualPrior() (*Policy, error) {
	p, err := agents.NewPolicy(Prior, agents.DefaultSize(), agents.DefaultWindow, agents.DefaultPrior, rng.Stream(0, Prior))
	if err != nil {
		return nil, err
	}
	return priorOf(&p.Setting, p.Digest()), nil
}

// releasedPolicy returns the policy that comes with the program.
func releasedPolicy() (*Policy, error) {
	p, m, err := agents.LoadFS(released.FS())
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", released.Name, err)
	}
	p.Name = released.Name
	return team(p, m.Training, ""), nil
}

// UsualPrior reports whether the policy is that of the name prior, whatever it is called now.
func (p *Policy) UsualPrior() bool { return p.Rule == "" && p.Learned == nil && p.Central == nil }

// Given returns the policy with what its schedulers, and those of its prior, may use. A policy without With does not change.
func (p Policy) Given(g baselines.Given) Policy {
	if p.Prior != nil {
		p.Prior = new(p.Prior.Given(g))
	}
	if with := p.With; with != nil {
		p.New, p.With = func() (cluster.Scheduler, error) { return with(g) }, nil
	}
	return p
}

// wear puts the outer suffixes of a name around the schedulers of a policy that is no baseline, and names the policy as asked.
func (p *Policy) wear(spec baselines.Spec) {
	if p.Spec = spec; !spec.IsBaseline() && len(spec.Suffixes) > 0 {
		inner, needs := *p, spec.NeedsAround(p.Needs)
		p.Rule = strings.Join(spec.Suffixes, "")
		p.Name += p.Rule
		p.With = nil
		p.by(needs, baselines.Given{}, func(g baselines.Given) (cluster.Scheduler, error) {
			s, err := inner.Given(g).New()
			if err != nil {
				return nil, err
			}
			return spec.Wrap(g, s)
		})
	}
	if spec.Label == "" {
		return
	}
	p.Name = spec.Label
	if p.Learned != nil {
		p.Learned.Name = p.Name // so that the event log of an episode, and plots of it, show the same name
	}
	if p.Central != nil {
		p.Central.Name = p.Name // see above
	}
}

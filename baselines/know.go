package baselines

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
)

// KnowSuffix behind the name of a policy replaces the estimates of run times by what the policy learns from the jobs that end.
const KnowSuffix = "+know"

// knower is a scheduler that decides by what it has learned of run times, and not by estimates.
type knower struct {
	cluster.Scheduler
	name  string
	fresh func() *belief.Learner // that has learned nothing
	begin []byte                 // what it has learned before an episode, as belief.Learner.Save returns it; nil for nothing
	times *belief.Learner
	step  time.Duration
}

// knowing is what the options of KnowSuffix set.
type knowing struct {
	seen seenJobs
	time belief.Kind
	by   belief.Rank
	step time.Duration
}

// seenJobs are the jobs from whose run times the policy has learned when an episode begins.
type seenJobs string

const (
	seenNothing  seenJobs = "nothing"
	seenTraining seenJobs = "training" // those of the training split of the scenario
)

// knowers describes KnowSuffix.
func knowers() Baseline {
	return Baseline{
		KnowSuffix, "behind any policy: it predicts run times from the jobs that have ended, and is told none",
		"The policy sees no estimates. In their place it sees how much longer a job runs that has run for so long, by the run times" +
			" of the jobs that have ended since the episode began, or also of those of the training split.",
		"own; the prediction by user and size as in Helios (Hu et al., SC 2021), with the age of the job", needsNothing,
		func(s *Settings) maker {
			knows(&s.Set)
			return nil
		},
	}
}

// knows declares the options of KnowSuffix.
func knows(s *option.Set) *knowing {
	k := &knowing{seen: seenNothing, time: belief.Age, by: belief.Gittins, step: time.Minute}
	option.Choice(s, &k.time, "time", []belief.Kind{belief.Age, belief.History},
		"run times by the age of a job alone, or by its user and its number of workers, too", "own choice")
	option.Choice(s, &k.seen, "seen", []seenJobs{seenNothing, seenTraining},
		"from which jobs it has learned before an episode: none, or those of the scenario's training split (in eval and headroom)",
		"own choice")
	option.Choice(s, &k.by, "by", []belief.Rank{belief.Mean, belief.Gittins, belief.Median},
		"what stands for the time left: its mean, its Gittins rank (the least expected time for each end) or its median",
		"own choice, by validation windows of Venus, Philly and their mix")
	s.Duration(&k.step, "step", "the least time between two decisions that are made only because predictions changed", "own choice")
	return k
}

// cutKnow cuts KnowSuffix and its options off the end of a name. It returns the rest of the name and a function that makes a
// scheduler decide by these predictions; the function is nil if the name has no such suffix.
func (g Given) cutKnow(name string) (inner string, know func(cluster.Scheduler) cluster.Scheduler, err error) {
	inner, options, found := cutSuffix(name, KnowSuffix)
	if !found {
		return name, nil, nil
	}
	var s option.Set
	k := knows(&s)
	if err := s.Parse(options); err != nil {
		return name, nil, fmt.Errorf("policy %q: %s: %w", name, KnowSuffix, err)
	}
	var begin []byte
	if k.seen == seenTraining {
		if g.Learned == nil {
			return name, nil, fmt.Errorf("policy %q: %s: option seen: %w", name, KnowSuffix, ErrUnfitted)
		}
		begin = g.Learned(k.time)
	}
	suffix := name[len(inner):]
	return inner, func(s cluster.Scheduler) cluster.Scheduler {
		fresh := func() *belief.Learner { return belief.New(k.time, k.by) }
		return &knower{Scheduler: s, name: s.Name() + suffix, fresh: fresh, begin: begin, step: max(k.step, time.Second)}
	}, nil
}

func (p *knower) Name() string { return p.name }

func (p *knower) Reset(seed uint64) error {
	p.times = p.fresh()
	if p.begin != nil {
		if err := p.times.Restore(p.begin); err != nil {
			return fmt.Errorf("begin with what was learned before: %w", err)
		}
	}
	return p.Scheduler.Reset(seed)
}

func (p *knower) Schedule(tx *cluster.Txn) error {
	s := tx.View()
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished {
			p.times.Ended(s.Spec(e.Job), s.Age(e.Job))
		}
	}
	tx.Believe(p.times)
	defer tx.Believe(nil)
	if err := p.Scheduler.Schedule(tx); err != nil {
		return err
	}
	soonest := cluster.Never
	for _, id := range s.Running() {
		soonest = min(soonest, s.AsksAgain(id))
	}
	if soonest < cluster.Never-p.step {
		tx.WakeAt((max(soonest, tx.Now())/p.step + 1) * p.step)
	}
	return nil
}

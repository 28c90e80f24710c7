package baselines

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
)

// KnowSuffix behind the name of a policy selects what the policy knows of run times and of speeds.
const KnowSuffix = "+know"

// knower is a scheduler that decides by what it has learned, and not by what it is told.
type knower struct {
	cluster.Scheduler
	knowing
	name   string
	begin  []byte // what it has learned of run times before an episode, as belief.Learner.Save returns it; nil for nothing
	times  *belief.Learner
	speeds *belief.Speeds
	seen   []byte // what it has learned of speeds before an episode, as belief.Speeds.Save returns it; nil for nothing
}

// knowing is what the options of KnowSuffix set.
type knowing struct {
	time  belief.Kind
	speed knownSpeeds
	from  seenJobs
	by    belief.Rank
	step  time.Duration
}

// Values of the option time beside the kinds of learners, and of the option speed.
const (
	timeTold  belief.Kind = "told"
	timeTruth belief.Kind = "truth"

	speedTold  knownSpeeds = "told"
	speedTruth knownSpeeds = "truth"
	speedNone  knownSpeeds = "none"
	speedFit   knownSpeeds = "fit"
)

// knownSpeeds is what a policy knows of speeds.
type knownSpeeds string

// seenJobs are the jobs from whose run times the policy has learned when an episode begins.
type seenJobs string

const (
	seenNothing  seenJobs = "nothing"
	seenTraining seenJobs = "training" // those of the training split of the scenario
)

// knowers describes KnowSuffix.
func knowers() Baseline {
	return Baseline{
		KnowSuffix, "behind any policy: what it knows of run times and speeds, by default only how long other jobs ran",
		"The policy sees no estimates. In their place it sees how much longer a job runs that has run for so long, by the run times" +
			" of the jobs that have ended since the episode began, or also of those of the training split. With speed=fit it sees no" +
			" profiles either: in their place it sees what it has learned from measured throughputs.",
		"own; the prediction by user and size as in Helios (Hu et al., SC 2021), with the age of the job", needsNothing,
		func(s *Settings) maker {
			knows(&s.Set)
			return nil
		},
	}
}

// knows declares the options of KnowSuffix.
func knows(s *option.Set) *knowing {
	k := &knowing{time: belief.Age, speed: speedTold, from: seenNothing, by: belief.Gittins, step: time.Minute}
	option.Choice(s, &k.time, "time", []belief.Kind{belief.Age, belief.History, timeTold, timeTruth},
		"run times by the age of a job alone, or by its user and its number of workers, too; as the scenario tells them; or, as a"+
			" reference that no cluster has, true ones (in eval and headroom)", "own choice")
	option.Choice(s, &k.speed, "speed", []knownSpeeds{speedTold, speedNone, speedFit, speedTruth},
		"speeds as the scenario tells them; none, so that less than asked for is slower and more is no faster; fitted to the"+
			" measured throughputs; or, as a reference that no cluster has, true ones (in eval and headroom)", "own choice")
	option.Choice(s, &k.from, "seen", []seenJobs{seenNothing, seenTraining},
		"from which jobs it has learned before an episode: none, or those of the scenario's training split (in eval and headroom)"+
			"; with speed=fit from the readings of some of its windows",
		"own choice")
	option.Choice(s, &k.by, "by", []belief.Rank{belief.Mean, belief.Gittins, belief.Median},
		"what stands for the time left: its mean, its Gittins rank (the least expected time for each end) or its median",
		"own choice, by validation windows of Venus, Philly and their mix")
	s.Duration(&k.step, "step", "the least time between two decisions that are made only because predictions changed", "own choice")
	return k
}

// cutKnow cuts KnowSuffix and its options off the end of a name. It returns the rest of the name and a function that makes a
// scheduler decide by what the suffix says; the function is nil if the name has no such suffix.
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
	if k.time == timeTruth || k.speed == speedTruth {
		if g.Tell == nil {
			return name, nil, fmt.Errorf("policy %q: %s: the truth: %w", name, KnowSuffix, ErrUnfitted)
		}
		g.Tell(Truth{Times: k.time == timeTruth, Speeds: k.speed == speedTruth})
	}
	var begin, speeds []byte
	if k.from == seenTraining {
		if g.Learned == nil || g.Speeds == nil {
			return name, nil, fmt.Errorf("policy %q: %s: option seen: %w", name, KnowSuffix, ErrUnfitted)
		}
		if k.predicts() {
			begin = g.Learned(k.time)
		}
		if k.speed == speedFit {
			speeds = g.Speeds()
		}
	}
	suffix := name[len(inner):]
	k.step = max(k.step, time.Second)
	return inner, func(s cluster.Scheduler) cluster.Scheduler {
		return &knower{Scheduler: s, knowing: *k, name: s.Name() + suffix, begin: begin, seen: speeds}
	}, nil
}

// predicts reports whether a learner predicts run times.
func (k *knowing) predicts() bool { return k.time != timeTold && k.time != timeTruth }

// learns reports whether the policy has beliefs of its own about speeds.
func (k *knowing) learns() bool { return k.speed == speedFit || k.speed == speedNone }

func (p *knower) Name() string { return p.name }

func (p *knower) Reset(seed uint64) error {
	if p.predicts() {
		p.times = belief.New(p.time, p.by)
		if p.begin != nil {
			if err := p.times.Restore(p.begin); err != nil {
				return fmt.Errorf("begin with what was learned before: %w", err)
			}
		}
	}
	if p.learns() {
		p.speeds = belief.NewSpeeds(p.speed == speedFit)
		if p.seen != nil {
			if err := p.speeds.Restore(p.seen); err != nil {
				return fmt.Errorf("begin with what was learned of speeds before: %w", err)
			}
		}
	}
	return p.Scheduler.Reset(seed)
}

func (p *knower) Schedule(tx *cluster.Txn) error {
	if p.learns() {
		p.speeds.Observe(tx)
		tx.Expect(p.speeds)
		defer tx.Expect(nil)
	}
	if !p.predicts() {
		return p.Scheduler.Schedule(tx)
	}
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

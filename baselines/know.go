package baselines

import (
	"fmt"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
)

// KnowSuffix behind the name of a policy selects what the policy knows of run times and of speeds.
const KnowSuffix = "+know"

// before is what a policy has learned before an episode, as belief.Learner.Save and belief.Speeds.Save return it, or before a
// decision in production; nil for nothing.
type before struct {
	times, speeds []byte
	memory        *belief.Memory
}

// knowing is what the options of KnowSuffix set.
type knowing struct {
	time  belief.Kind
	speed knownSpeeds
	seen  seenJobs
	by    belief.Rank
	step  time.Duration
}

// Values of the options time and by beside the kinds and ranks of learners, and of the option speed.
const (
	timeTold  belief.Kind = "told"
	timeTruth belief.Kind = "truth"

	byUsual belief.Rank = "usual" // the Gittins rank, or the mean where jobs cannot be stopped

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
	k := &knowing{time: belief.Age, speed: speedTold, seen: seenNothing, by: byUsual, step: time.Minute}
	option.Choice(s, &k.time, "time", []belief.Kind{belief.Age, belief.History, timeTold, timeTruth},
		"run times by the age of a job alone; by its user and its number of workers, too; as the scenario tells them; or, as a"+
			" reference that no cluster has, true ones (in eval)", "own choice")
	option.Choice(s, &k.speed, "speed", []knownSpeeds{speedTold, speedNone, speedFit, speedTruth},
		"speeds as the scenario tells them; none, so that less than asked for is slower and more is no faster; fitted to the"+
			" measured throughputs; or, as a reference that no cluster has, true ones (in eval)", "own choice")
	option.Choice(s, &k.seen, "seen", []seenJobs{seenNothing, seenTraining},
		"from which jobs it has learned before an episode: none, or those of the scenario's training split (in eval)"+
			"; with speed=fit from the readings of some of its windows; in production, training demands a file of saved"+
			" beliefs",
		"own choice")
	option.Choice(s, &k.by, "by", []belief.Rank{byUsual, belief.Mean, belief.Gittins, belief.Median},
		"what stands for the time left: its mean, its Gittins rank (the least expected time for each end) or its median; usual is the"+
			" Gittins rank, or the mean where nothing can be stopped: there a start counts for as long as the job runs",
		"own choice, by validation windows of Venus, Philly and their mix")
	s.Duration(&k.step, "step", "the least time between two decisions that are made only because predictions changed", "own choice")
	return k
}

// cutKnow cuts KnowSuffix and its options off the end of a name. It returns the rest of the name and a function that makes a
// scheduler decide by what the suffix says; the function is nil if the name has no such suffix.
func (g Given) cutKnow(name string) (inner string, know func(cluster.Scheduler) cluster.Scheduler, err error) {
	inner, beliefs, err := g.Beliefs(name)
	if err != nil || beliefs == nil {
		return name, nil, err
	}
	return inner, func(s cluster.Scheduler) cluster.Scheduler {
		return &knower{s, beliefs(), s.Name() + name[len(inner):]}
	}, nil
}

// CutKnow cuts KnowSuffix and its options off the end of a policy's name. It does not check the options.
func CutKnow(name string) (inner, suffix string) {
	inner, _, _ = cutSuffix(name, KnowSuffix)
	return inner, name[len(inner):]
}

// Beliefs cuts KnowSuffix and its options off the end of a policy's name. It returns the rest of the name and a function that
// returns new beliefs as the suffix says; the function is nil if the name has no such suffix.
func (g Given) Beliefs(name string) (inner string, beliefs func() *Beliefs, err error) {
	inner, options, found := cutSuffix(name, KnowSuffix)
	if !found {
		return name, nil, nil
	}
	k, err := parseKnow(options)
	if err != nil {
		return name, nil, fmt.Errorf("policy %q: %s: %w", name, KnowSuffix, err)
	}
	if k.time == timeTruth || k.speed == speedTruth {
		if g.Tell == nil {
			return name, nil, fmt.Errorf("policy %q: %s: the truth: %w", name, KnowSuffix, ErrUnfitted)
		}
		g.Tell(Truth{Times: k.time == timeTruth, Speeds: k.speed == speedTruth})
	}
	begin, err := g.before(k)
	if err != nil {
		return name, nil, fmt.Errorf("policy %q: %s: option seen: %w; plan, whatif and serve take it from a file, with --beliefs",
			name, KnowSuffix, err)
	}
	return inner, func() *Beliefs { return &Beliefs{knowing: *k, before: begin} }, nil
}

func parseKnow(options string) (*knowing, error) {
	var s option.Set
	k := knows(&s)
	if err := refuseNetworks(options); err != nil {
		return nil, err
	}
	if err := s.Parse(options); err != nil {
		return nil, err
	}
	k.step = max(k.step, time.Second)
	return k, nil
}

// refuseNetworks returns an error for options of KnowSuffix that named networks, which earlier versions had.
func refuseNetworks(options string) error {
	for part := range strings.SplitSeq(options, ":") {
		switch name, value, _ := strings.Cut(part, "="); {
		case name == "from", name == "time" && value == "learned":
			return fmt.Errorf("option %s: networks of run times are gone, no policy could be told apart with them: "+
				"want time=history without from", name)
		case name == "speeds", name == "speed" && value == "learned":
			return fmt.Errorf("option %s: networks of speeds are gone, no policy could be told apart with them: "+
				"want speed=fit without speeds", name)
		}
	}
	return nil
}

// before returns what a policy has learned when an episode begins.
func (g Given) before(k *knowing) (b before, err error) {
	if g.Memory != nil && (k.predicts() || k.fits()) {
		b.memory = g.Memory()
	}
	if b.memory != nil || k.seen == seenNothing {
		return b, nil
	}
	if k.predicts() {
		if g.Learned == nil {
			return b, ErrUnfitted
		}
		b.times = g.Learned(k.time)
	}
	if k.fits() {
		if g.Speeds == nil {
			return b, ErrUnfitted
		}
		b.speeds = g.Speeds()
	}
	return b, nil
}

// predicts reports whether a learner predicts run times.
func (k *knowing) predicts() bool { return k.time != timeTold && k.time != timeTruth }

// learns reports whether the policy has beliefs of its own about speeds.
func (k *knowing) learns() bool {
	return k.speed == speedNone || k.fits()
}

// fits reports whether the policy learns from readings.
func (k *knowing) fits() bool { return k.speed == speedFit }

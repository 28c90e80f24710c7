package baselines

import (
	"time"

	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/belief"
)

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
		declares(knows),
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

// needs returns what a policy with these options needs of Given.
func (k *knowing) needs() Needs {
	seen := k.seen == seenTraining
	return Needs{
		Memory: k.predicts() || k.fits(), Learned: seen && k.predicts(), Speeds: seen && k.fits(),
		Truth: Truth{Times: k.time == timeTruth, Speeds: k.speed == speedTruth},
	}
}

// beliefs returns what a policy believes when an episode begins.
func (k *knowing) beliefs(g Given) *Beliefs {
	b := &Beliefs{knowing: *k}
	b.step = max(k.step, time.Second)
	switch needs := k.needs(); {
	case needs.Memory && g.Memory != nil:
		b.memory = g.Memory
	default:
		if needs.Learned {
			b.before.times = g.Learned(k.time)
		}
		if needs.Speeds {
			b.before.speeds = g.Speeds()
		}
	}
	return b
}

// predicts reports whether a learner predicts run times.
func (k *knowing) predicts() bool { return k.time != timeTold && k.time != timeTruth }

// learns reports whether the policy has beliefs of its own about speeds.
func (k *knowing) learns() bool {
	return k.speed == speedNone || k.fits()
}

// fits reports whether the policy learns from readings.
func (k *knowing) fits() bool { return k.speed == speedFit }

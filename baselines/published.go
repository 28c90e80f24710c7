package baselines

import (
	"time"

	"github.com/clustergym/clustergym/baselines/gittins"
	"github.com/clustergym/clustergym/env/cluster"
)

// field returns the other published schedulers, which placers or packages of their own implement.
func field() []Baseline {
	return []Baseline{
		{
			"gittins", "preemptive Gittins index of attained service, learned from the jobs that ended (Tiresias); needs no estimates",
			"The live jobs with the highest chance of ending for the service it takes go first, by what the jobs that ended have taught." +
				" The first that fit the cluster's totals run, the others wait.",
			"Tiresias (Gu et al., NSDI 2019), §3.2 and §3.3: discretised 2D-Gittins", needsNothing, declareGittins,
		},
		{
			"serverfilling", "preemptive; of the jobs with the least service left that fill the cluster, largest first (ServerFilling)",
			"The live jobs with the least remaining time x GPUs whose needs add up to all GPUs are the candidates. Those that need most" +
				" run first, so that they leave no gap for the others; jobs behind the candidates run if GPUs are left. Behind it, `" +
				KnowSuffix + "` makes ServerFilling-Gittins of ServerFilling-SRPT.",
			"ServerFilling-SRPT and -Gittins (Grosof, Scully, Harchol-Balter and Scheller-Wolf, Optimal scheduling in the" +
				" multiserver-job model under heavy traffic, SIGMETRICS 2023), for one pool of GPUs and needs that are powers of two;" +
				" own: several servers, for which a job that finds no place gives way, any needs, and `quantum` and `gain`", needsEstimates,
			estimating(preemptiveOf(&preemptive{order: serviceLeft, plan: plan{filling: true}}, bestFit)),
		},
		{
			"synergy", "srtf that gives jobs CPU and memory by what these do to their speed (Synergy-TUNE)",
			"Jobs run in the order of srtf. Each starts with the CPU and memory that keep it fast, makes do with less where these are" +
				" short, and what is left goes to who gains most by it.",
			"Synergy (Mohan et al., OSDI 2022), TUNE; the order is an option in the paper too: any order takes place=tune",
			needsEstimates + ", and what profiles say of speed", estimating(preemptiveOf(&preemptive{order: leftWith}, "tune")),
		},
		{
			"lucid", "shortest job first that packs mild pairs on the same GPUs (Lucid-style)",
			"The waiting job with the shortest estimated duration starts first, one that does not fit is passed over. While no GPUs are" +
				" free, a job joins a partner with as many GPUs if profiles say that they hardly disturb each other.",
			"Lucid (Hu et al., ASPLOS 2023): sharing and order; not its profiling partition and its models, for which profiles and" +
				" estimates stand", needsEstimates + ", and what profiles say of speed",
			estimating(listOf(&list{order: byEstimate, skip: true}, "pack")),
		},
		{
			"fgd", "submission order with skip; jobs start where they fragment the cluster least (FGD)",
			"Jobs start in the order of their submission, one that does not fit is passed over. Each starts where the GPUs that typical" +
				" jobs could no longer use grow least.",
			"Weng et al., USENIX ATC 2023: fragmentation gradient descent; any order takes place=fgd", needsNothing,
			listOf(&list{order: bySubmit, skip: true}, "fgd"),
		},
	}
}

func declareGittins(s *Settings) maker {
	c := gittins.Default()
	s.Int(&c.Least, "least", 1, 1<<16, "jobs that must have ended before the index is used", "own choice")
	s.Gone("bound", "queues", "unit", "growth", "window")
	return s.preemptive(quantum{}, bestFit, func() preemptive {
		o := gittins.New(c)
		order := func(s *cluster.View, id cluster.JobID, extra time.Duration) (time.Duration, error) {
			rank, err := o.Key(s, id)
			return rank + held(s, id, extra), err
		}
		return preemptive{order: order, alarm: o.Alarm, learn: o}
	})
}

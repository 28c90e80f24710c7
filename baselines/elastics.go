package baselines

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
)

// elastics returns the schedulers that choose the number of workers of elastic jobs.
func elastics() []Baseline {
	return []Baseline{
		{
			"lyra", "shortest job first for base demand, a knapsack for what elastic jobs get beyond (Lyra, first called Aryl)",
			"Base demand is admitted shortest first, taking back workers beyond the base of elastic jobs; what is left goes to elastic" +
				" jobs by a multiple-choice knapsack over the time that each worker saves. With " + LoanSuffix + " behind it, it is the" +
				" whole of Lyra: elastic jobs go to servers on loan first, so that giving these back scales jobs in.",
			"Lyra (Li et al., EuroSys 2023), §5; package baselines/elastic marks what is reconstructed", needsEstimates, declareLyra,
		},
		{
			"pollux", "numbers of workers by genetic search for the highest mean goodput (Pollux)",
			"Every minute a genetic search looks for the numbers of workers with the highest generalised mean of speedups over all jobs." +
				" Goodput is throughput here: batch sizes are not tuned.",
			"Pollux (Qiao et al., OSDI 2021), as in Lyra (EuroSys 2023), §7.1", needsNothing + "; models tell it how they scale",
			declarePollux,
		},
	}
}

// elastic declares the options that every elastic policy shares: those of the scheduler that carries out its decisions.
func (s *Settings) elastic(epoch time.Duration, policy func() elastic.Policy) maker {
	c := elastic.Default()
	c.Epoch, c.Pause, c.Gather, c.Slowest = epoch, time.Minute, true, 0.5
	s.Duration(&c.Epoch, "epoch", "how often it reallocates; 0 whenever a job comes or ends or the cluster changes",
		"own choice; Lyra's is unknown (30s to 60s: 60 %), Pollux's is 60s")
	s.Bool(&c.Elastic, "elastic", "whether jobs run with other numbers of workers than they ask for",
		"Lyra, §7.4: false is an ablation")
	s.Bool(&c.Special, "special", "whether elastic jobs go to servers on loan first, base and flexible workers apart", "Lyra, §5.3")
	s.Bool(&c.Decreasing, "decreasing", "whether jobs with the largest workers are placed first", "Lyra, §5.3")
	s.Bool(&c.Gather, "gather", "whether a gang goes on as few servers as possible instead of every worker where it fits best",
		"own choice, for physics in which distance matters")
	s.Bool(&c.Faster, "faster", "whether jobs grow only where profiles promise speed by it", "own choice")
	s.Duration(&c.Pause, "pause", "what a resize costs a job, for which it must make up; 0 if nothing",
		"own choice; Lyra's simulator charges nothing (§7.2)")
	s.Float(&c.Slowest, "slowest", 0, 1, "the part of its speed in proportion below which a gang waits rather than be scattered",
		"own choice, for physics in which distance matters")
	s.Int(&c.Looks, "looks", 1, 100, "how often it plans anew without gangs that found no servers", "own choice")
	return func(name string) cluster.Scheduler { return elastic.New(name, policy(), c) }
}

func declareLyra(s *Settings) maker {
	s.Gone("longest", "together", "loaned")
	return s.elastic(0, elastic.NewLyra)
}

func declarePollux(s *Settings) maker {
	c := elastic.DefaultPollux()
	s.Int(&c.Population, "population", 2, 10_000, "allocations that live at a time", "Pollux's artifact")
	s.Int(&c.Generations, "generations", 0, 100_000, "of the search", "Lyra, §7.1; Pollux's preset is 100")
	s.Int(&c.Patience, "patience", 0, 100_000, "generations without a better allocation after which it ends; 0 never", "own choice")
	s.Int(&c.Jobs, "jobs", 0, 100_000, "jobs that one search decides on", "own choice: it bounds the time of a search")
	s.Float(&c.Power, "power", -math.MaxInt32, math.MaxInt32, "exponent of the mean; the less, the fairer", "Pollux, §4.2")
	s.Duration(&c.Delay, "delay", "what a change costs a running job", "Pollux, §4.2.1")
	s.Gone("floor", "mutations", "scaling")
	return s.elastic(time.Minute, func() elastic.Policy { return elastic.NewPollux(c) })
}

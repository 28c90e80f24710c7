package baselines

import (
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

// elastic declares the option that every elastic policy shares.
func (s *Settings) elastic(epoch time.Duration, policy func() elastic.Policy) maker {
	c := elastic.Default()
	c.Epoch = epoch
	s.Duration(&c.Epoch, "epoch", "how often it reallocates; 0 whenever a job comes or ends or the cluster changes",
		"own choice; Lyra's is unknown (30s to 60s: 60 %), Pollux's is 60s")
	s.Gone("elastic", "special", "decreasing", "gather", "faster", "pause", "slowest", "looks")
	return func(name string) cluster.Scheduler { return elastic.New(name, policy(), c) }
}

func declareLyra(s *Settings) maker {
	s.Gone("longest", "together", "loaned")
	return s.elastic(0, elastic.NewLyra)
}

func declarePollux(s *Settings) maker {
	c := elastic.DefaultPollux()
	s.Int(&c.Generations, "generations", 0, 100_000, "of the search", "Lyra, §7.1; Pollux's preset is 100")
	s.Gone("floor", "mutations", "scaling", "population", "patience", "jobs", "power", "delay")
	return s.elastic(time.Minute, func() elastic.Policy { return elastic.NewPollux(c) })
}

package baselines

import (
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
			"Lyra (Li et al., EuroSys 2023), §5; package baselines/elastic marks what is reconstructed", needsEstimates,
			estimating(declareLyra),
		},
	}
}

func declareLyra(s *Settings) maker {
	c := elastic.Default()
	s.Duration(&c.Epoch, "epoch", "how often it reallocates; 0 whenever a job comes or ends or the cluster changes",
		"own choice; Lyra's is unknown (30s to 60s: 60 %)")
	s.Gone("elastic", "special", "decreasing", "gather", "faster", "pause", "slowest", "looks", "longest", "together", "loaned")
	return func(name string) cluster.Scheduler { return elastic.New(name, elastic.NewLyra(), c) }
}

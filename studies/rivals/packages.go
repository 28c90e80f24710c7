package rivals

import (
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/studies/rivals/gavel"
	"github.com/clustergym/clustergym/studies/rivals/pollux"
)

// fair returns Gavel.
func fair() baselines.Baseline {
	return baselines.Baseline{
		Name: "gavel", About: "max-min fair shares of time on GPU types by linear programs, in rounds (Gavel)",
		Rule: "A linear program gives every job the share of its time on every GPU type that makes the least served job as well" +
			" served as possible. Rounds of six minutes run those first that are furthest behind their share, preempting the others.",
		Source: "Gavel (Narayanan et al., OSDI 2020), §4.1, §4.3 and §5, without space sharing",
		Needs:  needsNothing + "; models tell it their speeds",
		Declare: func(s *baselines.Settings) func(string) cluster.Scheduler {
			round := gavel.Round
			s.Duration(&round, "round", "how often it is decided anew who runs where", "Gavel, §7")
			s.Gone("aware", "levels", "backfill")
			return func(name string) cluster.Scheduler { return gavel.New(name, round) }
		},
	}
}

// searched returns Pollux.
func searched() baselines.Baseline {
	return baselines.Baseline{
		Name: "pollux", About: "numbers of workers by genetic search for the highest mean goodput (Pollux)",
		Rule: "Every minute a genetic search looks for the numbers of workers with the highest generalised mean of speedups over all" +
			" jobs. Goodput is throughput here: batch sizes are not tuned.",
		Source: "Pollux (Qiao et al., OSDI 2021), as in Lyra (EuroSys 2023), §7.1",
		Needs:  needsNothing + "; models tell it how they scale",
		Declare: func(s *baselines.Settings) func(string) cluster.Scheduler {
			search, c := pollux.Default(), elastic.Default()
			c.Epoch = time.Minute
			s.Int(&search.Generations, "generations", 0, 100_000, "of the search", "Lyra, §7.1; Pollux's preset is 100")
			s.Duration(&c.Epoch, "epoch", "how often it reallocates; 0 whenever a job comes or ends or the cluster changes",
				"Pollux: 60s")
			s.Gone("elastic", "special", "decreasing", "gather", "faster", "pause", "slowest", "looks")
			s.Gone("floor", "mutations", "scaling", "population", "patience", "jobs", "power", "delay")
			return func(name string) cluster.Scheduler { return elastic.New(name, pollux.New(search), c) }
		},
	}
}

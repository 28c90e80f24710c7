package baselines

import (
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/placement"
)

// What schedulers need to know about jobs.
const (
	needsNothing   = "nothing of a job but its request"
	needsEstimates = "an estimate of every job's duration"
)

// orders returns the common heuristics.
func orders() []Baseline {
	return []Baseline{
		{
			"fifo", "submission order; a job that does not fit blocks the queue",
			"Jobs start in the order of their submission. One that does not fit blocks all behind it.",
			"semantics of Tiresias' simulator (Gu et al., NSDI 2019)", needsNothing,
			blocking(list{order: bySubmit}),
		},
		{
			"fjf", "submission order; a job that does not fit is skipped",
			"Jobs start in the order of their submission. One that does not fit is passed over until something changes.",
			"semantics of Tiresias' simulator (Gu et al., NSDI 2019): first job that fits", needsNothing,
			listOf(&list{order: bySubmit, skip: true}, bestFit),
		},
		{
			"sjf", "shortest estimated duration first; a job that does not fit blocks the queue",
			"The waiting job with the shortest estimated duration starts first. One that does not fit blocks all behind it.",
			"semantics of Lucid's simulator (Hu et al., ASPLOS 2023)", needsEstimates,
			estimating(blocking(list{order: byEstimate})),
		},
		{
			"qssf", "shortest estimated service (time x GPUs) first; a job that does not fit blocks the queue (Helios)",
			"The waiting job with the least estimated GPU-time starts first. One that does not fit blocks all behind it. Behind it," +
				" `" + KnowSuffix + ":time=history:by=mean` predicts from the jobs of the same user and size that have ended, as QSSF does.",
			"Quasi-Shortest-Service-First of Helios (Hu et al., SC 2021), without names of jobs, which no public trace has, and with one" +
				" queue in place of one for each virtual cluster", needsEstimates,
			estimating(blocking(list{order: byService})),
		},
		{
			"sjfskip", "shortest estimated duration first; a job that does not fit is skipped",
			"The waiting job with the shortest estimated duration starts first. One that does not fit is passed over.",
			"semantics of the simulator of Alibaba PAI (Weng et al., NSDI 2022)", needsEstimates,
			estimating(listOf(&list{order: byEstimate, skip: true}, bestFit)),
		},
		{
			"sjfhold", "sjfskip that holds GPUs for the first job that does not fit against jobs 5 times as long that would delay it",
			"As sjfskip, but GPUs are held for the first job that does not fit. Nothing starts that is over `times` times as long as" +
				" that job and would not end before it could start.",
			"the shadow time of EASY backfilling (Lifka, JSSPP 1995); the bound is an own choice", needsEstimates,
			estimating(func(s *Settings) maker {
				l := &list{order: byEstimate, skip: true, hold: 5}
				s.Float(&l.hold, "times", 0, 1e6, "how much longer than the held job a job may be that delays it; 0 holds nothing back",
					"own choice, tuned on generated workloads")
				return s.list(l, bestFit)
			}),
		},
		{
			"srtf", "preemptive shortest remaining time first",
			"The live jobs with the least time left that fit the cluster's totals in turn run, the others wait. A running job is" +
				" preempted for one that has less left.",
			"semantics of Tiresias' simulator (Gu et al., NSDI 2019)", needsEstimates,
			estimating(func(s *Settings) maker {
				create := s.preemptive(quantum{times: -1, gain: -1}, bestFit, func() preemptive { return preemptive{order: leftWith} })
				return func(name string) cluster.Scheduler {
					all := create(name).(*preemptive)
					q := all.quantum
					if _, plain := all.plan.place.(*placement.BestFit); plain && q.times <= 0 && q.gain <= 0 && !q.evict {
						return newSRTF(*all)
					}
					return all
				}
			}),
		},
		{
			"srsf", "preemptive shortest remaining service (time x GPUs) first",
			"As srtf, by the time left times the GPUs asked for. So small jobs go before large ones that are as long.",
			"semantics of Tiresias' simulator (Gu et al., NSDI 2019)", needsEstimates,
			estimating(preemptiveOf(&preemptive{order: serviceLeft}, bestFit)),
		},
		{
			"las", "preemptive two-dimensional least attained service with queues (Tiresias); needs no estimates",
			"Jobs sink from one level to the next when the GPU-time they attained has doubled, and within a level go by submission." +
				" The first that fit the cluster's totals in turn run, the others wait. A job that was started is not stopped before it" +
				" has run for `quantum` times as long as restarts take.",
			"Tiresias (Gu et al., NSDI 2019), §3.3 discretised 2D-LAS without its promotion of starved jobs; its §6 has one bound of" +
				" 3,200 GPU-seconds (`levels=single:quantum=0`); levels that double and the quantum are own choices", needsNothing,
			func(s *Settings) maker {
				l := levels{doubling, firstLevel}
				option.Choice(&s.Set, &l.kind, "levels", []levelKind{doubling, single},
					"each level as wide as all above it, or two with one bound of 3,200 GPU-seconds", "own choice; single is Tiresias' §6")
				s.Gone("first")
				return s.preemptive(quantum{times: 4}, bestFit, func() preemptive {
					levels := l
					return preemptive{order: levels.order, alarm: levels.sinks}
				})
			},
		},
		{
			"random", "waiting jobs that fit in random order",
			"Waiting jobs are tried in an order drawn anew at every decision point. It is the floor of every comparison.",
			"own", needsNothing,
			func(s *Settings) maker {
				placer := s.Placer(bestFit)
				return func(name string) cluster.Scheduler {
					p, _ := placer()
					return &random{name: name, place: p}
				}
			},
		},
	}
}

// estimating declares a scheduler that needs an estimate of every job.
func estimating(declare func(*Settings) maker) func(*Settings) maker {
	return func(s *Settings) maker {
		s.Needs.Estimates = true
		return declare(s)
	}
}

// listOf declares a list that uses the given placer by default.
func listOf(l *list, placer string) func(*Settings) maker {
	return func(s *Settings) maker { return s.list(l, placer) }
}

// blocking declares a list in which a job that does not fit blocks all behind it, or all that would delay it.
func blocking(declared list) func(*Settings) maker {
	return func(s *Settings) maker {
		const none, easy = "false", "easy"
		l, backfill := declared, none
		option.Choice(&s.Set, &backfill, "backfill", []string{none, easy},
			"whether jobs start behind the first one that does not fit: none, or (easy) those that by estimates do not delay it",
			"easy is EASY backfilling (Lifka, JSSPP 1995)")
		build := s.list(&l, bestFit)
		return func(name string) cluster.Scheduler {
			l.easy.on = backfill == easy
			return build(name)
		}
	}
}

func (s *Settings) list(l *list, byDefault string) maker {
	placer := s.Placer(byDefault)
	return func(name string) cluster.Scheduler {
		made := *l
		made.name = name
		made.place, _ = placer()
		return &made
	}
}

// preemptiveOf declares a preemptive order that uses the given placer by default.
func preemptiveOf(p *preemptive, placer string) func(*Settings) maker {
	return func(s *Settings) maker {
		return s.preemptive(quantum{times: -1, gain: -1}, placer, func() preemptive { return *p })
	}
}

// preemptive declares the options of a preemptive order, and returns what makes schedulers of what create returns.
func (s *Settings) preemptive(q quantum, byDefault string, create func() preemptive) maker {
	s.quantum(&q)
	placer := s.Placer(byDefault)
	return func(name string) cluster.Scheduler {
		p := create()
		p.name, p.quantum = name, q
		p.plan.place, p.plan.amounts = placer()
		return &p
	}
}

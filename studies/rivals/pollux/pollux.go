// Package pollux has Pollux-style elastic scheduling (Qiao et al., OSDI 2021), which Lyra is compared with.
package pollux

import (
	"math/rand/v2"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// Config are the options of the policy. [C] is public code of Pollux: AdaptDL, and an older version of its policy.
type Config struct {
	Population  int // number of allocations kept: 100 [C]
	Generations int // 250, as Lyra (EuroSys 2023), §7.1, chose for more than 3,500 GPUs; Pollux's preset is 100
	// Patience ends the search after that many generations without a better allocation; 0 never does. Own choice: 50.
	Patience int
	// Jobs is the largest number of jobs that one search decides on: running jobs first, then waiting jobs that fit, in the order
	// of submission. Of the other jobs, the running ones keep what they have, and the waiting ones get their base from what is
	// left. Own choice: 2,000, which bounds the time of an allocation.
	Jobs int
}

// Constants of the search.
const (
	// polluxFloor is added to every speedup, so that allocations in which jobs wait have different means: 0.001 [C].
	polluxFloor = 1e-3
	// mutations is the fraction of jobs whose workers are drawn again in each child, at least one job. Own choice.
	mutations = 0.01
	// delay is the cost of a change of allocation for a running job, in seconds. Its speedup is multiplied by
	// (age-changes·delay)/(age+delay). 30 [C]; today's AdaptDL subtracts a tenth instead.
	delay = 30
)

// Default returns the default options.
func Default() Config {
	return Config{
		Population: 100, Generations: 250, Patience: 50, Jobs: 2000,
	}
}

// pollux is Pollux-style (Qiao et al., OSDI 2021): a genetic search for the numbers of workers with the highest fitness, the
// generalised mean of the jobs' speedups. A job's speedup is relative to its speed with an equal share of the cluster. The
// policy has no clock of its own; Pollux searches every 60 s, which is elastic.Config.Epoch.
//
// Differences from the source: goodput is throughput at a fixed batch size per worker. Pollux derives statistical efficiency
// from gradient noise, which no trace contains, so batch sizes are not tuned. The search is over numbers of workers, not over
// servers, which the scheduler chooses, and it begins with what runs now and not with the population of the last search. Running
// jobs keep at least their base. A waiting job that starts pays no delay, although the artifact charges it.
type pollux struct {
	Config
	draw    *rand.Rand
	history []changes // by job
}

// changes is how often a job's number of workers has changed while it ran; now is its number of workers when last seen.
type changes struct{ now, count int32 }

// New returns the policy. It panics if an option is out of range.
func New(c Config) elastic.Policy {
	if c.Population < 2 || c.Generations < 0 || c.Jobs < 0 {
		panic("pollux: options out of range")
	}
	p := &pollux{Config: c}
	p.Reset(0)
	return p
}

func (*pollux) Name() string { return "pollux" }

func (p *pollux) Reset(seed uint64) {
	p.draw = rng.Stream(seed, "baselines", "pollux")
	p.history = nil
}

func (p *pollux) Allocate(s *cluster.View, jobs []elastic.Job) {
	p.follow(s, jobs)
	left := newBudget(s, jobs)
	left.keep(jobs)
	chosen, others := p.choose(left, jobs)
	for _, j := range others {
		if j.Now > 0 {
			left.must(j, min(j.Now-j.Want, left.fits(j)))
		}
	}
	newSearch(p, s, left, chosen).run()
	for i := range jobs { // every job that starts increases the fitness
		if j := &jobs[i]; j.Want == 0 {
			left.give(j, j.Base)
		}
	}
}

// follow counts the changes of running jobs.
func (p *pollux) follow(s *cluster.View, jobs []elastic.Job) {
	if n := s.Jobs() - len(p.history); n > 0 {
		p.history = append(p.history, make([]changes, n)...)
	}
	for i := range jobs {
		h := &p.history[jobs[i].ID]
		if h.now > 0 && jobs[i].Now != h.now {
			h.count++
		}
		h.now = jobs[i].Now
	}
}

// choose separates the jobs that the search decides on from the others, both in the order of jobs.
func (p *pollux) choose(left *budget, jobs []elastic.Job) (chosen, others []*elastic.Job) {
	picked := make([]bool, len(jobs))
	n := 0
	for _, running := range []bool{true, false} {
		for i := range jobs {
			j := &jobs[i]
			if n < p.Jobs && running == (j.Now > 0) && (running || left.fits(j) >= j.Base) {
				picked[i] = true
				n++
			}
		}
	}
	for i := range jobs {
		if picked[i] {
			chosen = append(chosen, &jobs[i])
		} else {
			others = append(others, &jobs[i])
		}
	}
	return chosen, others
}

// penalty returns the factor on the speedup of a running job whose number of workers changes.
func (p *pollux) penalty(s *cluster.View, id cluster.JobID) float64 {
	age := (s.Now() - s.Spec(id).Submit).Seconds()
	count := float64(p.history[id].count) + float64(max(s.Starts(id)-1, 0))
	return max(age-count*delay, 0) / (age + delay)
}

// term returns what a speedup adds to the mean, which is the harmonic one [C]; more is better.
func term(speedup float64) float64 { return -1 / (speedup + polluxFloor) }

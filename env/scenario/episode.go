package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// Episode is one window of the workload under one seed. Its jobs belong to the caller: first the Config.Warm jobs that were in
// the cluster before the window, then the window's jobs in id order. The first arrival of the window is submitted at 0. All
// episodes share the Config.Cluster, so it is read only.
type Episode struct {
	Name string // the name of the window, for example "test-3"
	sim.Episode
}

// Episode returns the i-th window of a split. Time 0 is its first arrival. The episode has the estimates that the scenario sets,
// failures, inference demand, and the jobs that already run or wait. Noisy estimates, profile errors, the noise of readings,
// failures and the phase of the demand are drawn from streams named after the seed and the window, so they are the same for every
// policy that runs the same case.
func (s *Source) Episode(split Split, i int, seed uint64) (Episode, error) {
	if n := s.Count(split); i < 0 || i >= n {
		return Episode{}, fmt.Errorf("scenario %s: window %d of %s, want 0 to %d", s.scenario.Name, i, split, n-1)
	}
	name := windowName(split, i)
	p, w := &s.pool, s.windows[split][i]
	zero := p.submit(w.from)
	jobs := p.cut(w.from, w.to, zero)
	before := p.cut(w.warm, w.from, p.submit(w.warm))
	for part, some := range map[string][]trace.Job{"estimates": jobs, "warm estimates": before} {
		if err := s.scenario.tellTimes(some, seed, part, name); err != nil {
			return Episode{}, err
		}
	}
	e := Episode{Name: name, Episode: sim.Episode{Config: s.config, Jobs: jobs, Clock: zero % (24 * time.Hour)}}
	if len(before) > 0 {
		warm, running, err := s.warmUp(before, zero-p.submit(w.warm))
		if err != nil {
			return Episode{}, fmt.Errorf("scenario %s: warm up %s: %w", s.scenario.Name, name, err)
		}
		e.Jobs, e.Running, e.Config.Warm = slices.Concat(warm, jobs), running, len(warm)
	}
	s.scenario.tellSpeeds(&e.Config, seed, name)
	until := s.until(e.Jobs)
	e.Config.Outages = s.outages(name, seed, until)
	e.Config.Demand = s.demand.from(rng.Stream(seed, "scenario", "demand", name), until)
	return e, nil
}

// Jobs returns all jobs of a split, with the estimates that the scenario sets and times counted from the first arrival. It
// returns none if the scenario does not have the split. Models have the names that schedulers are told. The jobs belong to the
// caller.
func (s *Source) Jobs(split Split, seed uint64) ([]trace.Job, error) {
	p := &s.pool
	from, to := p.bounds(s.scenario.Window.fractions(split))
	if from == to {
		return nil, nil
	}
	jobs := p.cut(from, to, p.submit(from))
	for i := range jobs {
		s.config.Hidden.Hide(&jobs[i].JobSpec)
	}
	return jobs, s.scenario.tellTimes(jobs, seed, "estimates", windowName(split, 0))
}

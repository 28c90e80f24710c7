package sim

import (
	"fmt"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/rng"
)

// Phases makes jobs change their speed as they go, as training jobs do that evaluate, load or save between epochs. The work of a
// job consists of phases of Every each. In each of them the speed of the job is multiplied by a factor, uniform between Slowest
// and 1, drawn from Seed, the job's name and the number of the phase. The zero value changes no speed.
//
// No profile contains the factors, and no change of phase causes a decision. A scheduler that is told speeds sees the new rate of
// the job at its next decision, with an event of kind Respeed. A job takes longer than its isolated run time then, even alone and
// as it asked.
type Phases struct {
	Every   time.Duration `log:"every,need,1..maxTime"`
	Slowest float64       `log:"slowest,need"`
	Seed    uint64        `log:"seed,need"`
}

func (p *Phases) validate() error {
	if p.Every < 0 || p.Every > 0 && !(p.Slowest > 0 && p.Slowest <= 1) || p.Every == 0 && *p != (Phases{}) {
		return fmt.Errorf("phases of %v with a slowest factor of %v, want an interval above 0 and a factor above 0 and at most 1,"+
			" or neither", p.Every, p.Slowest)
	}
	return nil
}

// factor returns the factor of a job's speed in one of its phases.
func (p *Phases) factor(job string, phase int32) float64 {
	draw := rng.Stream(p.Seed, "phase", job, strconv.Itoa(int(phase)))
	return p.Slowest + (1-p.Slowest)*draw.Float64()
}

// queue sets when a running job ends and when its present phase ends, if it goes on at the given rate from the instant from on.
func (s *Sim) queue(id cluster.JobID, done, from time.Duration, rate float64) {
	s.finish.set(id, ends(s.work(id), done, from, rate))
	if s.phases == nil {
		return
	}
	if end := time.Duration(s.phases[id]+1) * s.cfg.Phases.Every; end < s.work(id) {
		s.turns.set(id, ends(end, done, from, rate))
	} else {
		s.turns.remove(id)
	}
}

// unqueue removes a job that was stopped after it had done the work kept.
func (s *Sim) unqueue(id cluster.JobID, kept time.Duration) {
	s.finish.remove(id)
	if s.phases == nil {
		return
	}
	s.turns.remove(id)
	s.phases[id] = min(s.phases[id], int32(kept/s.cfg.Phases.Every))
}

// turn passes the time until the next event, and lets the phases change that end meanwhile. It returns the instant of the event.
func (s *Sim) turn() time.Duration {
	at := s.upcoming()
	for s.turns.len() > 0 {
		now := s.turns.min()
		if now > at || now == cluster.Never || s.cfg.Horizon > 0 && now > s.cfg.Horizon {
			break
		}
		s.watched(now)
		s.measure(now)
		s.pass(now)
		s.state.Advance(now)
		id := s.turns.pop()
		s.phases[id]++
		if s.respeeded(id, s.speed(id)) {
			s.events = append(s.events, cluster.Event{Kind: cluster.Respeed, Job: id})
		}
		at = s.upcoming()
	}
	return at
}

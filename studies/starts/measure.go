// Package starts measures how forecasts of when jobs start turn out.
package starts

import (
	"context"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/policy"
)

// Coverage counts how forecasts of starts turned out.
type Coverage struct {
	Forecasts int // the first forecast of each waiting job that was asked about
	Within    int // of these jobs, those that started before their P90
	Before    int // those that started before their median
	Near      int // those that waited between half of their median and twice that; both count as at least 30 s
}

// Add adds other counts.
func (c *Coverage) Add(o Coverage) {
	c.Forecasts += o.Forecasts
	c.Within += o.Within
	c.Before += o.Before
	c.Near += o.Near
}

// Share returns n as a share of the forecasts, NaN if there are none.
func (c *Coverage) Share(n int) float64 { return float64(n) / float64(c.Forecasts) }

// Meter measures how forecasts of starts turn out, in episodes one after the other. It learns run times from the jobs that
// end, and corrects the forecasts by those that have turned out, also from one episode to the next.
type Meter struct {
	Policy policy.Policy
	Every  int // asks about every so many jobs that have to wait
	whatif.Forecaster

	learned *belief.Memory
	met     int // jobs that had to wait
}

// Measure plays an episode and returns how the forecasts turned out that were made in it.
func (m *Meter) Measure(ctx context.Context, e *sim.Episode, seed uint64) (c Coverage, err error) {
	if m.learned == nil {
		m.learned = belief.NewMemory()
	}
	m.learned.Forget()
	m.Restart()
	shared := m.learned.Copy()
	p := m.Policy.Given(baselines.Given{Memory: shared})
	sched, err := p.New()
	if err != nil {
		return c, err
	}
	if err := sched.Reset(seed); err != nil {
		return c, fmt.Errorf("reset %s: %w", p.Name, err)
	}
	s, err := e.New()
	if err != nil {
		return c, err
	}
	m.Options.Physics = e.Config.Physics
	open, seen := map[cluster.JobID]asked{}, map[cluster.JobID]bool{}
	for tx, more := s.Next(); more; tx, more = s.Next() {
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
		m.learned.Observe(tx)
		if err := sched.Schedule(tx); err != nil {
			return c, err
		}
		s.Commit()
		c.Add(judge(&s.State().View, open))
		wanted := map[string]bool{}
		for _, id := range m.fresh(&s.State().View, seen) {
			if m.met++; m.met%max(m.Every, 1) == 0 {
				wanted[s.State().Spec(id).Name] = true
			}
		}
		if len(wanted) == 0 {
			m.Learn(&s.State().View)
			continue
		}
		times := m.learned.Times(belief.History, belief.Gittins)
		starts, err := m.Starts(ctx, &s.State().View, p, times, func(job string) bool { return wanted[job] })
		if err != nil {
			return c, err
		}
		for _, x := range starts {
			open[x.Job] = asked{x, s.State().Now()}
		}
	}
	return c, nil
}

// fresh returns the waiting jobs that did not wait before.
func (m *Meter) fresh(s *cluster.View, seen map[cluster.JobID]bool) (ids []cluster.JobID) {
	for _, id := range s.Pending() {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids
}

// asked is a forecast that has not turned out yet.
type asked struct {
	whatif.Start
	at time.Duration // when it was made
}

// judge counts the jobs that have started, and removes them from those open.
func judge(s *cluster.View, open map[cluster.JobID]asked) (c Coverage) {
	for _, id := range s.Running() {
		x, ok := open[id]
		if !ok {
			continue
		}
		delete(open, id)
		c.Forecasts++
		waited := s.Now() - x.at
		if waited <= x.P90 {
			c.Within++
		}
		if waited <= x.Median {
			c.Before++
		}
		if said := max(x.Median, moment); said/2 <= max(waited, moment) && max(waited, moment)/2 <= said {
			c.Near++
		}
	}
	return c
}

const moment = 30 * time.Second

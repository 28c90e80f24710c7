package whatif

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// calibration corrects the forecasts of a Forecaster by how earlier ones turned out. They know little of the run times of
// jobs, and nothing of jobs yet to come, so their quantiles are wrong, but they are wrong in a similar way today and
// yesterday.
//
// It multiplies each quantile by a factor of its own. When a job starts later than its quantile said the factor grows,
// otherwise it falls, in the proportion in which the quantile may be missed: in the long run, that share of jobs starts
// later, whatever the forecasts are worth (Gibbs and Candès, Adaptive conformal inference under distribution shift, 2021,
// with steps on the logarithm). The first forecast of each job counts, as it was corrected then. That a quantile is missed is
// learned as soon as its time is over. Nothing is learned from a state that is earlier than the last.
type calibration struct {
	median, p90 factor
	open        map[string]*forecast // of jobs that wait, by name
	last        time.Duration        // of the state that was seen last
}

// factor is the factor of a quantile.
type factor struct {
	of   float64 // the quantile, such as 0.9
	step float64 // how fast it changes
	most float64 // of the logarithm, either way
	log  float64

	misses, hits int // in the state that is being judged
}

// forecast is the first forecast of a job that waits, with what is left to judge of it.
type forecast struct {
	at              time.Duration // when it was made, on the clock of the cluster
	median, p90     time.Duration // from then on, corrected
	missed, missed9 bool          // the times are over, and the job had not started
}

const (
	together = 32          // jobs that count in one state
	soonest  = time.Minute // shorter forecasts are corrected as if they said this

	mostOpen = 100_000 // forecasts that have not turned out yet; beyond that, no more are added
)

// newCalibration returns a calibration that corrects nothing yet. The factor of the median changes slowly and stays within
// about 1.4: waits of a minute are missed by large factors, and a larger correction for these made the medians of usual waits
// wrong. Step and bound were chosen on training and validation windows. The factor of the 90th percentile changes fast, so that
// it also holds when the load changes. It aims at 93 %: of the jobs that are late at one instant only some count, so that less
// than the share aimed at start in time, on training and validation windows 90 %.
func newCalibration() *calibration {
	return &calibration{
		median: factor{of: 0.5, step: 0.01, most: 0.35}, p90: factor{of: 0.93, step: 0.1, most: 8}, open: map[string]*forecast{},
	}
}

// correct corrects forecasts about a state in place, after it has learned from the state. If a job is gone without having
// been seen to run, nothing is learned.
func (c *calibration) correct(s *cluster.View, starts []Start) {
	earlier := s.Now() < c.last // a caller asks about the past, or about another cluster
	if !earlier {
		c.last = s.Now()
		c.learn(s)
	}
	if len(starts) == 0 {
		return
	}
	for i := range starts {
		x := &starts[i]
		x.Median, x.P90 = scale(x.Median, c.median.log), scale(x.P90, c.p90.log)
		x.Median = min(x.Median, x.P90) // the correction of the 90th percentile is the faster one
		name := s.Spec(x.Job).Name
		waits := s.Phase(x.Job) == cluster.Pending // others are stopped only if the plan is carried out
		if _, known := c.open[name]; waits && !known && !earlier && len(c.open) < mostOpen {
			c.open[name] = &forecast{at: s.Now(), median: x.Median, p90: x.P90}
		}
	}
}

// learn learns from the jobs that have started, and from those that should have, in the order of their ids.
func (c *calibration) learn(s *cluster.View) {
	if len(c.open) == 0 {
		return
	}
	here := map[string]bool{}
	for _, ids := range [][]cluster.JobID{s.Pending(), s.Running()} {
		ids = slices.Clone(ids)
		slices.Sort(ids)
		for _, id := range ids {
			name := s.Spec(id).Name
			f, known := c.open[name]
			if !known {
				continue
			}
			runs := s.Phase(id) == cluster.Running
			waited := s.Now() - f.at
			if runs {
				waited = max(waited-s.Age(id), 0)
			}
			f.missed = f.missed || c.median.judge(waited, f.median, runs)
			f.missed9 = f.missed9 || c.p90.judge(waited, f.p90, runs)
			here[name] = !runs
		}
	}
	c.median.turn()
	c.p90.turn()
	maps.DeleteFunc(c.open, func(name string, _ *forecast) bool { return !here[name] })
}

// judge counts a job that has waited for a time so far, or until it started, and reports whether its quantile was missed. A
// quantile that was missed before must not be judged again.
func (f *factor) judge(waited, said time.Duration, started bool) (missed bool) {
	switch missed = waited > said; {
	case missed:
		f.misses++
	case started:
		f.hits++
	}
	return missed
}

// turn changes the factor by what was counted in one state. Jobs that start at one time, or are late at one time, often wait
// for the same job: at most a few of them count.
func (f *factor) turn() {
	f.log += f.step * (f.of*float64(min(f.misses, together)) - (1-f.of)*float64(min(f.hits, together)))
	f.log = min(max(f.log, -f.most), f.most)
	f.misses, f.hits = 0, 0
}

func scale(t time.Duration, log float64) time.Duration {
	if t == cluster.Never {
		return t
	}
	at := float64(max(t, soonest)) * math.Exp(log)
	if at >= float64(cluster.Never) {
		return cluster.Never
	}
	return time.Duration(at)
}

package whatif

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

// Start is when a waiting job is expected to start, as the time since the snapshot. It is cluster.Never if the job does not start
// in half, or in a tenth, of the futures.
type Start struct {
	Job    cluster.JobID
	Median time.Duration // the job starts earlier in half of the futures
	P90    time.Duration // the job starts earlier in nine tenths of the futures
}

// How many futures a Forecaster plays.
const (
	UsualDraws = 20 // of futures
	LeastDraws = 5  // with which Starts answers if the time is over before all are played
)

// Forecaster forecasts when waiting jobs start. It learns from the states of a cluster, one after the other, how its forecasts
// turned out. Only Forecast is safe for concurrent use.
type Forecaster struct {
	Draws   int // of futures, 20 if 0
	Options Options
	Played  func(n, of int) // is told after each future how many of them are played; may be nil

	calibration *calibration // nil before the first forecast
	mu          sync.Mutex   // of Forecast
}

// Forecast is Starts with what a decider has learned, by the names of jobs.
func (f *Forecaster) Forecast(
	ctx context.Context, s *cluster.View, p policy.Policy, waits func(job string) bool, learned *belief.Memory,
) (all []explain.Start, err error) {
	var times *belief.Learner
	if learned != nil {
		times = learned.Times(belief.History, belief.Gittins)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	starts, err := f.Starts(ctx, s, p, times, waits)
	for _, x := range starts {
		all = append(all, explain.NewStart(s.Spec(x.Job).Name, x.Median, x.P90))
	}
	return all, err
}

// Starts returns when each waiting job of a state is expected to start, by id. With waits it answers for those jobs alone for
// whose names waits returns true, and also for running jobs that the policy stops at once: when they start again. Leave out
// jobs that start now: their forecasts would count. Starts plays the state on in several futures, in which the policy decides
// as it would. In each future, jobs run for times that are drawn at random, given how long they have run:
//
//   - of similar jobs, if the learner has seen enough of them end (nil: it has seen none);
//   - else around the job's estimate, which is then wrong by a factor of about three, up or down;
//   - else of the prior of a learner that has seen no job end.
//
// No further jobs are submitted in these futures. The quantiles over the futures are then corrected by how earlier forecasts
// turned out. Jobs that can never start are left out of the result.
//
// The states must be of one cluster and follow one another. If the context ends, Starts answers from the futures played so
// far, or returns an error if they are fewer than five. The same calls give the same results unless a context ends.
func (f *Forecaster) Starts(
	ctx context.Context, s *cluster.View, p policy.Policy, times *belief.Learner, waits func(job string) bool,
) ([]Start, error) {
	starts, err := f.draw(ctx, s, p, times)
	if err != nil {
		return nil, err
	}
	starts = slices.DeleteFunc(starts, func(x Start) bool {
		return waits == nil && s.Phase(x.Job) != cluster.Pending || waits != nil && !waits(s.Spec(x.Job).Name)
	})
	f.begin()
	f.calibration.correct(s, starts)
	return starts, nil
}

// Learn learns from a state how earlier forecasts turned out, as Starts does.
func (f *Forecaster) Learn(s *cluster.View) {
	f.begin()
	f.calibration.correct(s, nil)
}

// Restart makes the Forecaster expect the states of another cluster, or of an earlier time. It keeps what it has learned.
func (f *Forecaster) Restart() {
	f.begin()
	f.calibration.last = 0
	clear(f.calibration.open) // other jobs may have the same names
}

func (f *Forecaster) begin() {
	if f.calibration == nil {
		f.calibration = newCalibration()
	}
}

// draw returns the quantiles over the futures, not corrected.
func (f *Forecaster) draw(
	ctx context.Context, s *cluster.View, p policy.Policy, times *belief.Learner,
) ([]Start, error) {
	if times == nil {
		times = belief.New(belief.History, belief.Gittins)
	}
	all := slices.Concat(s.Pending(), s.Running())
	slices.Sort(all)
	at := map[cluster.JobID][]time.Duration{}
	o := f.Options
	draws := cmp.Or(f.Draws, UsualDraws)
	for k := range draws {
		random := rng.Stream(o.Seed, "starts", fmt.Sprint(k))
		o.work = func(spec *cluster.JobSpec, done time.Duration) time.Duration {
			return drawWork(times, spec, done, random)
		}
		st, _, err := simulate(ctx, s, p, Change{}, o)
		switch {
		case err != nil && ctx.Err() != nil && k >= LeastDraws:
			return quantiles(all, at), nil
		case err != nil:
			return nil, err
		}
		for i := range st.jobs {
			switch j := &st.jobs[i]; {
			case j.Ran && !j.AtOnce || j.Never == neverFits:
			case j.Started:
				at[j.ID] = append(at[j.ID], j.Start)
			default:
				at[j.ID] = append(at[j.ID], cluster.Never)
			}
		}
		if f.Played != nil {
			f.Played(k+1, draws)
		}
	}
	return quantiles(all, at), nil
}

// quantiles returns the median and the 90th percentile of the starts of each job that has any.
func quantiles(ids []cluster.JobID, at map[cluster.JobID][]time.Duration) (all []Start) {
	for _, id := range ids {
		if x := at[id]; len(x) > 0 {
			slices.Sort(x)
			nth := func(q float64) time.Duration { return x[min(int(math.Ceil(q*float64(len(x)+1))), len(x))-1] }
			all = append(all, Start{id, nth(0.5), nth(0.9)})
		}
	}
	return all
}

const (
	known  = 2 // similar jobs that have ended, from which on they say more than an estimate
	spread = 1 // standard deviation of the logarithm of run time / estimate
)

// drawWork draws the work of a job in all, more than it has done.
func drawWork(times *belief.Learner, spec *cluster.JobSpec, done time.Duration, random *rand.Rand) time.Duration {
	u, z := random.Float64(), random.NormFloat64()
	if spec.Estimate > 0 && times.Counted(spec) < known {
		for range 20 {
			work := float64(spec.Estimate) * math.Exp(spread*z)
			if work > float64(done) && work < float64(longest) {
				return time.Duration(work) + 1
			}
			z = random.NormFloat64()
		}
		return done + max(done, time.Minute)
	}
	return done + max(min(times.Of(spec).Quantile(done, u), longest), 1)
}

// longest bounds the work of a job, so that the sum of the work of many jobs is a time.
const longest = 365 * 24 * time.Hour

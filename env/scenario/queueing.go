package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Queueing is how long jobs wait before they first start, against how long they take in all.
type Queueing struct {
	Scheduler string  `json:"scheduler"`
	Windows   int     `json:"windows"`
	Queueing  float64 `json:"queueing_s"` // first start - submit: mean over the jobs of a window, then over windows
	JCT       float64 `json:"jct_s"`      // finish - submit: the same
}

// Share is queueing over JCT, 0 where nothing was measured.
func (q *Queueing) Share() float64 {
	if q.JCT == 0 {
		return 0
	}
	return q.Queueing / q.JCT
}

// Queueing plays every window of a split under one seed and a scheduler, which create makes anew for each. Where the scenario
// grants no estimates the scheduler is told the truth, since most need it: it measures the scenario and is not compared. done,
// if not nil, is told after each window how many are done.
func (s *Source) Queueing(
	ctx context.Context, split Split, seed uint64, create func() cluster.Scheduler, done func(n int),
) (*Queueing, error) {
	estimates := s.scenario.Estimates
	if estimates.Kind == trace.None || estimates.Kind == "" {
		estimates.Kind = trace.Oracle
	}
	q := &Queueing{}
	for i := range s.Count(split) {
		e, err := s.episode(split, i, seed, estimates)
		if err != nil {
			return nil, err
		}
		sched := create()
		q.Scheduler = sched.Name()
		run, err := e.New()
		if err == nil {
			err = run.Run(ctx, sched, seed)
		}
		if err != nil {
			return nil, fmt.Errorf("scenario %s: measure %s: %w", s.scenario.Name, e.Name, err)
		}
		queueing, jct := waits(run.Log(), e.Config.Warm)
		q.Queueing += queueing
		q.JCT += jct
		q.Windows++
		if done != nil {
			done(q.Windows)
		}
	}
	if q.Windows > 0 {
		q.Queueing /= float64(q.Windows)
		q.JCT /= float64(q.Windows)
	}
	return q, nil
}

// waits returns the mean queueing and the mean JCT, in seconds, of the jobs that finished and belong to the window.
func waits(log *sim.Log, warm int) (queueing, jct float64) {
	started := make([]time.Duration, len(log.Jobs))
	for i := range started {
		started[i] = -1
	}
	n := 0.0
	for i := range log.Records {
		r := &log.Records[i]
		switch {
		case int(r.Job) < warm:
		case r.Kind == sim.Start && started[r.Job] < 0:
			started[r.Job] = r.At
		case r.Kind == sim.Finish:
			submit := log.Jobs[r.Job].Submit
			queueing += (started[r.Job] - submit).Seconds()
			jct += (r.At - submit).Seconds()
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return queueing / n, jct / n
}

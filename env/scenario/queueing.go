package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Queueing compares how long jobs wait before their first start with how long they take altogether.
type Queueing struct {
	Scheduler string  `json:"scheduler"`
	Windows   int     `json:"windows"`
	Queueing  float64 `json:"queueing_s"` // first start - submit, mean over the jobs of a window and then over windows
	JCT       float64 `json:"jct_s"`      // finish - submit, averaged in the same way
}

// Share returns queueing divided by JCT, or 0 if nothing was measured.
func (q *Queueing) Share() float64 {
	if q.JCT == 0 {
		return 0
	}
	return q.Queueing / q.JCT
}

// Queueing runs every window of a split under one seed. The function create makes a new scheduler for each window. If the
// scenario grants no estimates, the scheduler gets the true run times, because most schedulers need estimates; this is acceptable
// because the result describes the scenario and does not compare schedulers. If done is not nil, Queueing calls it after each
// window with the number of finished windows.
func (s *Source) Queueing(
	ctx context.Context, split Split, seed uint64, create func() cluster.Scheduler, done func(n int),
) (*Queueing, error) {
	q := &Queueing{}
	for i := range s.Count(split) {
		e, err := s.Episode(split, i, seed)
		if err != nil {
			return nil, err
		}
		e.Tell(!s.scenario.Estimated(), false)
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

// waits returns the mean queueing delay and the mean JCT in seconds over the finished jobs that belong to the window.
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

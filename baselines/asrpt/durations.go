package asrpt

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Durations predicts how long jobs take and learns from the jobs that end. It predicts each job once, when first asked about it,
// and observes it when it has finished. One scheduler at a time may use a Durations.
type Durations struct {
	predictor Predictor
	known     map[cluster.JobID]time.Duration
}

// NewDurations returns Durations that use the predictor and own it.
func NewDurations(p Predictor) *Durations {
	return &Durations{predictor: p, known: map[cluster.JobID]time.Duration{}}
}

// Reset forgets all jobs and resets the predictor.
func (d *Durations) Reset(seed uint64) {
	clear(d.known)
	d.predictor.Reset(seed)
}

// Note learns from a job that has finished and ignores other events. Call Note with all events of an instant before asking about
// jobs that arrive at that instant; drivers order events so that this works.
func (d *Durations) Note(s *cluster.View, e cluster.Event) {
	if e.Kind != cluster.Finished {
		return
	}
	spec := s.Spec(e.Job)
	d.predictor.Observe(spec, max(s.Progress(e.Job).Seconds()/physics.IterationSeconds(spec), 1))
	delete(d.known, e.Job)
}

// Predicted returns n·α_min: the whole duration of the job if it runs alone and well placed. n is the number of iterations
// predicted when a caller first asked about the job. The result is above 0.
func (d *Durations) Predicted(s *cluster.View, id cluster.JobID) time.Duration {
	if t, ok := d.known[id]; ok {
		return t
	}
	spec := s.Spec(id)
	if s.Believes() && spec.Estimate != 0 { // it is hidden
		hidden := *spec
		hidden.Estimate = 0
		spec = &hidden
	}
	n, _ := d.predictor.Predict(spec)
	t := duration(n * physics.IterationSeconds(spec))
	d.known[id] = t
	return t
}

// duration converts seconds. The result is at least a nanosecond and at most 36 years, so that sums of a few do not overflow.
func duration(seconds float64) time.Duration {
	const most = 1 << 60
	ns := math.Round(seconds * float64(time.Second))
	switch {
	case ns >= most:
		return most
	case ns >= 1:
		return time.Duration(ns)
	}
	return 1
}

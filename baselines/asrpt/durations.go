package asrpt

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Durations predicts how long jobs take, and learns from those that end: each job is predicted once, when first asked
// about, and observed when it has finished. Orders that are compared with A-SRPT share it with A-SRPT. It is used by one
// scheduler at a time.
type Durations struct {
	predictor Predictor
	known     map[cluster.JobID]time.Duration
}

// NewDurations returns Durations that ask the predictor, which is theirs from then on.
func NewDurations(p Predictor) *Durations {
	return &Durations{predictor: p, known: map[cluster.JobID]time.Duration{}}
}

// Reset forgets all jobs and resets the predictor.
func (d *Durations) Reset(seed uint64) {
	clear(d.known)
	d.predictor.Reset(seed)
}

// Note learns from a job that has finished; other events tell it nothing. Note events before asking about jobs that arrive
// at the same instant: the drivers order them so.
func (d *Durations) Note(s *cluster.View, e cluster.Event) {
	if e.Kind != cluster.Finished {
		return
	}
	spec := s.Spec(e.Job)
	d.predictor.Observe(spec, max(s.Progress(e.Job).Seconds()/physics.IterationSeconds(spec), 1))
	delete(d.known, e.Job)
}

// Predicted is n·α_min: how long the job, in whole, takes alone and well placed, by the iterations predicted for it when it
// was first asked about. It is above 0.
func (d *Durations) Predicted(s *cluster.View, id cluster.JobID) time.Duration {
	if t, ok := d.known[id]; ok {
		return t
	}
	spec := s.Spec(id)
	n, _ := d.predictor.Predict(spec)
	t := duration(n * physics.IterationSeconds(spec))
	d.known[id] = t
	return t
}

// Workload is the predicted GPU-time: Predicted times the GPUs that the job asks for.
func (d *Durations) Workload(s *cluster.View, id cluster.JobID) time.Duration {
	return duration(d.Predicted(s, id).Seconds() * s.Spec(id).GPUs())
}

// duration is a number of seconds, at least a nanosecond and at most 36 years, so that sums of a few stay in range.
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

package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/internal/rng"
)

// Readings describes how the throughput of running jobs is measured. The zero value measures nothing.
//
// A running job is measured once whenever it has progressed for Interval at the same speed: Interval after it starts, restarts,
// moves or resizes, and Interval after another job has changed its speed. It is not measured again before its speed or its
// placement changes, as its throughput stays the same. A reading is thus the mean throughput over the last Interval. It is the
// job's speed, in the unit of physics.Throughput, times exp(Noise·z). z is standard normal and drawn from Seed, the job's name
// and the instant, so that a reading depends on how the job itself runs and on nothing else. Schedulers see it at their next
// decision; it causes none.
//
// A job that already runs when the episode begins has been measured before if it has run for Interval (cluster.JobSpec.Ran). Its
// reading is at 0, where no other can be, and tells how fast the job runs as it is placed then.
type Readings struct {
	Interval time.Duration `log:"interval,need,1..maxTime"`
	Noise    float64       `log:"noise,need,0..MaxNoise"`
	Seed     uint64        `log:"seed,need"`
}

func (r *Readings) validate() error {
	if r.Interval < 0 || !(r.Noise >= 0 && r.Noise <= MaxNoise) || r.Interval == 0 && *r != (Readings{}) {
		return fmt.Errorf("readings every %v with noise %v, want an interval above 0 and noise from 0 to %d, or neither",
			r.Interval, r.Noise, MaxNoise)
	}
	return nil
}

// MaxNoise is the largest standard deviation of the logarithm of readings.
const MaxNoise = 2

// reading is a reading that is due.
type reading struct {
	at  time.Duration
	job cluster.JobID
}

// measure takes the readings that are due after now, up to the given instant. No job's speed changes in between. Like pass, it
// also records the demand before each reading.
func (s *Sim) measure(until time.Duration) {
	every := s.cfg.Readings.Interval
	if every == 0 {
		return
	}
	s.readings = s.readings[:0]
	for _, id := range s.state.Running() {
		if at := later(s.since(id), every); at > s.state.Now() && at <= until {
			s.readings = append(s.readings, reading{at, id})
		}
	}
	slices.SortFunc(s.readings, func(a, b reading) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.job, b.job)) })
	for _, r := range s.readings {
		s.pass(r.at)
		s.state.Advance(r.at)
		s.take(r)
	}
}

// found takes the readings of the jobs that already run when the episode begins, once they have been placed. The next decision is
// the scheduler's first.
func (s *Sim) found() {
	s.warm = true
	every := s.cfg.Readings.Interval
	for _, id := range slices.Sorted(slices.Values(s.state.Running())) {
		if every > 0 && s.state.Spec(id).Ran >= every {
			s.take(reading{0, id})
		}
	}
}

// take takes a reading now.
func (s *Sim) take(r reading) {
	speed := s.rate(r.job) * physics.Throughput(s.cfg.Physics, &s.state.View, r.job)
	speed *= s.cfg.Readings.noise(s.state.Spec(r.job).Name, r.at)
	s.state.AddReading(r.job, cluster.Reading{At: r.at, Speed: speed, Configuration: s.state.Configuration(r.job)})
	s.log.reading(r, speed)
}

// noise returns the factor of a reading.
func (r *Readings) noise(job string, at time.Duration) float64 {
	if r.Noise == 0 {
		return 1
	}
	draw := rng.Stream(r.Seed, "reading", job, strconv.FormatInt(int64(at), 10))
	return math.Exp(r.Noise * draw.NormFloat64())
}

package sim_test

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
)

// measure checks that the job has run at its speed for exactly the interval, and that the reading is its throughput, but for noise.
func (a *audit) measure(r *sim.Record) {
	j, with := &a.jobs[r.Job], &a.log.Config.Readings
	found := r.At == 0 && a.log.Jobs[r.Job].Ran >= with.Interval
	if !j.runs || j.rate == 0 || a.moved || !found && (r.At != a.due(j) || j.measured == r.At) {
		a.fail("measure job %d at %v: %+v", r.Job, r.At, *j)
	}
	j.measured = r.At
	want, got := j.rate*physics.Throughput(a.log.Config.Physics, &a.rebuild().View, r.Job), a.log.Speed(r)
	if with.Noise == 0 && got != want || !(math.Abs(math.Log(got/want)) <= 8*with.Noise) {
		a.fail("job %d has the reading %v, want %v with noise %v", r.Job, got, want, with.Noise)
	}
}

// due returns when a job that runs at its speed from j.from on is measured.
func (a *audit) due(j *account) time.Duration {
	if every := a.log.Config.Readings.Interval; every > 0 && j.from <= never-every {
		return j.from + every
	}
	return never
}

// measuredUntil checks that the log has not skipped any reading that must precede the record.
func (a *audit) measuredUntil(r *sim.Record) {
	for i := range a.jobs {
		j := &a.jobs[i]
		if at := a.due(j); j.runs && j.measured != at && (at < r.At || at == r.At && r.Kind != sim.Measure) {
			a.fail("before %v at %v: job %d was not measured at %v", r.Kind, r.At, i, at)
		}
	}
}

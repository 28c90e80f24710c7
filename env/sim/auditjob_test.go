package sim_test

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

const never = time.Duration(math.MaxInt64)

// account is what the audit knows of a job.
type account struct {
	submitted, runs, done bool
	first                 time.Duration // of its first start, -1 before
	place                 cluster.Placement
	gpus                  []int32
	from                  time.Duration // it works from here on
	rate                  float64       // 0 until its speed under a new placement has been looked at
	work                  time.Duration // done until from, to the nanosecond
	ends                  time.Duration // when its work will be done at this rate
	exact                 float64       // the same work, never rounded
	pieces                int           // since it was last exact
}

// job follows a record of a job.
func (a *audit) job(r *sim.Record, j *account) {
	hold := func(ok bool) {
		if !ok {
			a.fail("%v job %d: %+v", r.Kind, r.Job, *j)
		}
	}
	switch restart := &a.log.Config.Restart; r.Kind {
	case sim.Submit:
		hold(!j.submitted && r.At == a.log.Jobs[r.Job].Submit)
		j.submitted = true
	case sim.Start:
		hold(j.submitted && !j.runs && !j.done)
		if j.first < 0 {
			j.first = r.At
		}
		j.runs, j.from = true, a.now
		a.put(r, restart.Preempt)
	case sim.Resize, sim.Migrate:
		hold(j.runs)
		if r.Kind == sim.Migrate && a.log.Placement(r).Workers() != j.place.Workers() {
			a.fail("migration of job %d to %v changes its workers %v", r.Job, a.log.Placement(r), j.place)
		}
		a.take(r.Job)
		if r.Kind == sim.Migrate {
			a.put(r, restart.Migrate)
		} else {
			a.put(r, restart.Resize)
		}
	case sim.Preempt:
		hold(j.runs)
		a.take(r.Job)
		j.runs = false
		if restart.FromScratch {
			j.keep(0)
		}
	case sim.Interrupt:
		hold(j.runs && len(a.stopped) > 0)
		a.stopped = a.stopped[1:]
		a.take(r.Job)
		j.runs = false
		if restart.FromScratch && j.work > 0 || restart.Interval > 0 && j.work%restart.Interval > 0 {
			a.lost++
		}
		switch {
		case restart.FromScratch:
			j.keep(0)
		case restart.Interval > 0:
			j.keep(j.work / restart.Interval * restart.Interval)
		}
	case sim.Finish:
		hold(j.runs && r.At == j.ends)
		a.take(r.Job)
		a.finish(r, j)
	}
}

// finish holds the job to end at the first instant at which the integral of its speed reaches its work.
func (a *audit) finish(r *sim.Record, j *account) {
	work := float64(a.log.Jobs[r.Job].Work)
	slack := float64(j.pieces)/2 + 1 + 1e-9*work // each piece is rounded to a nanosecond
	if j.exact < work-slack || j.exact > work+slack+j.rate {
		a.fail("job %d finished after %v ns of work, want %v within %v", r.Job, j.exact, work, slack)
	}
	j.runs, j.done = false, true
	a.finished++
}

func (j *account) keep(work time.Duration) {
	j.work, j.exact, j.pieces = work, float64(work), 0
}

// put starts a placement, after a pause if it is not that of the job's first instant.
func (a *audit) put(r *sim.Record, pause time.Duration) {
	j := &a.jobs[r.Job]
	j.place, j.gpus, j.rate = a.log.Placement(r), a.log.GPUs(r), 0
	if r.At > j.first {
		j.from = max(j.from, r.At+pause)
	}
	if len(j.place) > 1 {
		a.crossed++
	}
	a.admit(r.Job)
	a.occupy(r.Job, 1)
	a.moved = true
}

// take ends it.
func (a *audit) take(id cluster.JobID) {
	a.jobs[id].pass(a.now)
	a.occupy(id, -1)
	a.moved = true
}

// pass counts the work until an instant. A job works only while it is placed and does not restart.
func (j *account) pass(now time.Duration) {
	if now <= j.from {
		return
	}
	d := now - j.from
	j.exact += float64(d) * j.rate
	j.pieces++
	if j.rate == 1 {
		j.work += d
	} else {
		j.work += time.Duration(float64(d)*j.rate + 0.5)
	}
	j.from = now
}

// respeed looks at the speed of every running job on a cluster that is built anew from the audit, so that a job whose speed
// changes without the simulator's notice is found out.
func (a *audit) respeed() {
	if !a.moved {
		return
	}
	a.moved = false
	s := a.rebuild()
	for i := range a.jobs {
		j := &a.jobs[i]
		if !j.runs {
			continue
		}
		id := cluster.JobID(i)
		rate, most := a.log.Config.Physics.Speed(&s.View, id), a.most(id)
		if !(rate > 0 && rate <= most*(1+1e-12)) {
			a.fail("job %d runs at %v, want above 0 and at most %v", i, rate, most)
		}
		if r := &a.log.Config.Restart; r.Save > 0 {
			rate *= float64(r.Interval) / float64(r.Interval+r.Save)
		}
		if rate == j.rate {
			continue
		}
		if j.rate > 0 {
			a.respeeds++
		}
		j.pass(a.now)
		j.rate, j.ends = rate, after(j.from, a.log.Jobs[i].Work-j.work, rate)
	}
}

// after is the first nanosecond at which work is done that begins at an instant.
func after(from, work time.Duration, rate float64) time.Duration {
	if work <= 0 {
		return from
	}
	if rate != 1 {
		t := math.Ceil(float64(work) / rate)
		if t >= float64(never) {
			return never
		}
		work = time.Duration(t)
	}
	if work > never-from {
		return never
	}
	return from + work
}

// rebuild puts every running job on the very GPUs that the log gives it, on a fresh cluster that checks it once more.
func (a *audit) rebuild() *cluster.State {
	s, err := cluster.NewState(a.log.Config.Cluster, len(a.jobs))
	if err != nil {
		a.t.Fatal(err)
	}
	tx := s.Begin(nil)
	for i := range a.servers {
		if a.servers[i].lent {
			if err := tx.Loan(cluster.ServerID(i)); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	tx.End()
	for _, o := range a.out {
		s.Fail(o.Server, o.GPU, nil)
	}
	for i := range a.jobs {
		if j := &a.jobs[i]; j.runs {
			s.Submit(cluster.JobID(i), &a.log.Jobs[i].JobSpec)
			if err := s.Restore(cluster.JobID(i), slices.Clone(j.place), j.gpus); err != nil {
				a.fail("%v", err)
			}
		}
	}
	return s
}

// most is a bound on the speed of a job under a physics, from the numbers of its parts and the catalogue alone.
func (a *audit) most(id cluster.JobID) float64 {
	return speedCap(a.log.Config.Physics, &a.log.Jobs[id].JobSpec, a.jobs[id].place, &a.log.Config.Cluster)
}

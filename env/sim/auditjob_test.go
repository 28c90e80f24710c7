package sim_test

import (
	"math"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

const never = time.Duration(math.MaxInt64)

// account is the state of a job in the audit.
type account struct {
	submitted, runs, done bool
	first                 time.Duration // when the job first started, -1 before that
	place                 cluster.Placement
	gpus                  []int32
	from                  time.Duration // work up to this instant is counted; later than now during a restart pause
	rate                  float64       // 0 until respeed has computed the speed under a new placement
	work                  time.Duration // work done until from, in whole nanoseconds
	ends                  time.Duration // when the job will have done its work at this rate
	exact                 float64       // the same work, not rounded
	pieces                int           // the number of roundings since exact and work were equal
	measured              time.Duration // when it was last measured
}

// job applies a record that concerns a job.
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

// finish checks that the job ends at the first instant at which the integral of its speed reaches its work.
func (a *audit) finish(r *sim.Record, j *account) {
	work := float64(a.log.Jobs[r.Job].Work)
	slack := float64(j.pieces)/2 + 1 + 1e-9*work // each piece of work is rounded to a nanosecond
	if j.exact < work-slack || j.exact > work+slack+j.rate {
		a.fail("job %d finished after %v ns of work, want %v within %v", r.Job, j.exact, work, slack)
	}
	j.runs, j.done = false, true
	a.finished++
}

func (j *account) keep(work time.Duration) {
	j.work, j.exact, j.pieces = work, float64(work), 0
}

// put starts a job on a placement, after a pause unless the job first starts at this instant.
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

// take ends the job's placement.
func (a *audit) take(id cluster.JobID) {
	a.jobs[id].pass(a.now)
	a.occupy(id, -1)
	a.moved = true
}

// pass counts the work done until now. A job works only while it is placed and not in a restart pause.
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

// respeed computes the speed of every running job on a cluster that it builds from the audit's own state. So it detects a job
// whose speed changed without the simulator's notice.
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

// after returns the first nanosecond at which the work is done if it begins at from.
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

// rebuild places every running job on exactly the GPUs that the log gives it, on a new cluster, which checks the placements
// again.
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

// most returns an upper bound on the speed of a job.
func (a *audit) most(id cluster.JobID) float64 {
	return speedCap(a.log.Config.Physics, &a.log.Jobs[id].JobSpec, a.jobs[id].place, &a.log.Config.Cluster)
}

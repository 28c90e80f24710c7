package whatif

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// tally records what happens in a play.
type tally struct {
	ids     []cluster.JobID // ascending
	jobs    []Job           // by index into ids
	spec    func(cluster.JobID) *cluster.JobSpec
	out     Outcome
	start   time.Duration // time at which the play begins
	at      time.Duration // time since then
	servers int           // number of servers open to training
	open    int64         // number of working GPUs on those
	waits   int           // jobs that have not started, of those that can
	held    int64         // thousandths of GPUs
	used    float64       // GPU-hours held
	there   float64
}

// newTally returns a tally of jobs that have not ended, as they are now.
func newTally(s *cluster.View, ids []cluster.JobID, specs func(cluster.JobID) *cluster.JobSpec) tally {
	y := tally{ids: ids, jobs: make([]Job, len(ids)), spec: specs, start: s.Now(), out: Outcome{Side: Side{Servers: -1}}}
	for i, id := range ids {
		spec, runs := specs(id), s.Phase(id) == cluster.Running
		y.jobs[i] = Job{ID: id, Name: spec.Name, Workers: spec.Workers, Age: s.Now() - spec.Submit, Ran: runs}
		y.jobs[i].since = max(-y.jobs[i].Age, 0)
		if y.waits++; runs {
			y.take(id, s.Placement(id).GPUMilli())
		}
	}
	return y
}

// index returns the index of a job in ids.
func (y *tally) index(id cluster.JobID) int {
	i, _ := slices.BinarySearch(y.ids, id)
	return i
}

// survey counts the servers and GPUs that are open to training from now on.
func (y *tally) survey(s *cluster.View) {
	y.servers = 0
	for i := range s.Servers() {
		if s.Open(cluster.ServerID(i)) {
			y.servers++
		}
	}
	y.open = s.Total().GPUMilli / cluster.WholeGPU
}

// pass advances the tally to the given time.
func (y *tally) pass(now time.Duration) {
	at := (now - y.start).Round(time.Microsecond)
	if at <= y.at {
		return
	}
	if y.out.Servers < 0 {
		y.out.Servers, y.out.GPUs = y.servers, y.open
	}
	hours := (at - y.at).Hours()
	y.used += hours * float64(y.held) / cluster.WholeGPU
	y.there += hours * float64(y.open)
	y.at = at
}

// happen records the events that the policy receives.
func (y *tally) happen(events []cluster.Event) {
	for _, e := range events {
		switch e.Kind {
		case cluster.Finished:
			j := &y.jobs[y.index(e.Job)]
			y.held -= j.held
			j.held, j.running, j.Finished, j.Finish = 0, false, true, y.at
			y.out.Makespan, y.out.Held, y.out.Open = y.at.Seconds(), y.used, y.there
		case cluster.Interrupted:
			y.interrupt(e.Job)
		}
	}
}

// operate records the policy's operations.
func (y *tally) operate(ops []cluster.Op) {
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case cluster.OpPreempt:
			y.out.Preemptions++
			y.stop(o.Job)
		case cluster.OpMigrate:
			y.out.Migrations++
			y.take(o.Job, o.Placement().GPUMilli())
		case cluster.OpResize:
			y.out.Resizes++
			y.take(o.Job, o.Placement().GPUMilli())
		case cluster.OpPlace:
			y.take(o.Job, o.Placement().GPUMilli())
		}
	}
}

func (y *tally) take(id cluster.JobID, milli int64) {
	j := &y.jobs[y.index(id)]
	y.held += milli - j.held
	j.held = milli
	if j.running {
		return
	}
	j.Wait += y.at - j.since
	j.running, j.since = true, y.at
	if !j.Started {
		y.waits--
		j.Started, j.Start = true, y.at
	}
}

func (y *tally) interrupt(id cluster.JobID) {
	y.out.Interruptions++
	y.stop(id)
}

func (y *tally) stop(id cluster.JobID) {
	j := &y.jobs[y.index(id)]
	y.held -= j.held
	j.held, j.running, j.since = 0, false, y.at
	j.Stops++
	if y.at == 0 { // the job had no time to run
		if j.Started {
			y.waits++
		}
		j.Started, j.AtOnce = false, j.AtOnce || j.Ran
	}
}

package whatif

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// books add up what happens in a play.
type books struct {
	ids     []cluster.JobID // ascending
	jobs    []Job           // by index into ids
	out     Outcome
	start   time.Duration // the instant of the snapshot
	at      time.Duration // since then
	servers int           // that training jobs may use
	open    int64         // GPUs in order on those
	held    int64         // thousandths of GPUs
	used    float64       // GPU-hours
	there   float64
}

// newBooks returns books in which the jobs are as they are in the snapshot.
func newBooks(s *cluster.State, ids []cluster.JobID) books {
	b := books{ids: ids, jobs: make([]Job, len(ids)), start: s.Now(), out: Outcome{Servers: -1}}
	for i, id := range ids {
		spec, runs := s.Spec(id), s.Phase(id) == cluster.Running
		b.jobs[i] = Job{ID: id, Name: spec.Name, Workers: spec.Workers, Age: s.Now() - spec.Submit, Ran: runs}
		if runs {
			b.take(id, s.Placement(id).GPUMilli())
		}
	}
	return b
}

// index is where a job stands in ids.
func (b *books) index(id cluster.JobID) int {
	i, _ := slices.BinarySearch(b.ids, id)
	return i
}

// survey counts the servers and GPUs that are there for training jobs from now on.
func (b *books) survey(s *cluster.State) {
	b.servers = 0
	for i := range s.Servers() {
		if s.Open(cluster.ServerID(i)) {
			b.servers++
		}
	}
	b.open = s.Total().GPUMilli / cluster.WholeGPU
}

// pass lets the time until an instant pass.
func (b *books) pass(now time.Duration) {
	at := (now - b.start).Round(time.Microsecond)
	if at <= b.at {
		return
	}
	if b.out.Servers < 0 {
		b.out.Servers, b.out.GPUs = b.servers, b.open
	}
	hours := (at - b.at).Hours()
	b.used += hours * float64(b.held) / cluster.WholeGPU
	b.there += hours * float64(b.open)
	b.at = at
}

// happen notes what the policy is told of.
func (b *books) happen(events []cluster.Event) {
	for _, e := range events {
		switch e.Kind {
		case cluster.Finished:
			j := &b.jobs[b.index(e.Job)]
			b.held -= j.held
			j.held, j.running, j.Finished, j.Finish = 0, false, true, b.at
			b.out.Makespan, b.out.Held, b.out.Open = b.at, b.used, b.there
		case cluster.Interrupted:
			b.interrupt(e.Job)
		}
	}
}

// operate notes what the policy does.
func (b *books) operate(ops []cluster.Op) {
	for i := range ops {
		switch o := &ops[i]; o.Kind {
		case cluster.OpPreempt:
			b.out.Preemptions++
			b.stop(o.Job)
		case cluster.OpMigrate:
			b.out.Migrations++
			b.take(o.Job, o.Placement().GPUMilli())
		case cluster.OpResize:
			b.out.Resizes++
			b.take(o.Job, o.Placement().GPUMilli())
		case cluster.OpPlace:
			b.take(o.Job, o.Placement().GPUMilli())
		}
	}
}

func (b *books) take(id cluster.JobID, milli int64) {
	j := &b.jobs[b.index(id)]
	b.held += milli - j.held
	j.held = milli
	if j.running {
		return
	}
	j.Wait += b.at - j.since
	j.running, j.since = true, b.at
	if !j.Started {
		j.Started, j.Start = true, b.at
	}
}

func (b *books) interrupt(id cluster.JobID) {
	b.out.Interruptions++
	b.stop(id)
}

func (b *books) stop(id cluster.JobID) {
	j := &b.jobs[b.index(id)]
	b.held -= j.held
	j.held, j.running, j.since = 0, false, b.at
	j.Stops++
	if b.at == 0 { // it had no time to run
		j.Started, j.AtOnce = false, j.AtOnce || j.Ran
	}
}

package sim

import (
	"time"

	"github.com/clustergym/clustergym/env/backlog"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Backlog appends to dst the jobs that will wait or run at the instant at, which must not be before now, if nothing happens until
// then. It uses the true work of the jobs, which schedulers do not know, so it serves to judge decisions in hindsight.
//
// The work left of a job includes the restart pause that it is in or, if it was stopped, the pause of its next start. It is work
// as the job asked to run; how jobs slow each other down is left out. The capacity of a job's machine are the working GPUs of all
// open servers whose type the job accepts, each counted with the speed of the job's model on it (physics.SpeedOn). If there are
// none, the machine has as many GPUs as the job asked for. The weights are 1.
func (s *Sim) Backlog(at time.Duration, dst []backlog.Job) []backlog.Job {
	v := &s.state.View
	types := v.Types()
	gpus := make([]float64, len(types))
	for i := range v.Servers() {
		if id := cluster.ServerID(i); v.Open(id) {
			gpus[v.TypeOf(id)] += float64(v.Working(id))
		}
	}
	for _, id := range v.Pending() {
		pause := time.Duration(0)
		if v.Starts(id) > 0 {
			pause = s.cfg.Restart.Preempt
		}
		dst = append(dst, s.behind(id, s.Progress(id), pause, types, gpus))
	}
	for _, id := range v.Running() {
		done, from := s.Progress(id), max(s.since(id), v.Now())
		if at > from {
			done += cluster.Scale(at-from, s.rate(id))
		}
		dst = append(dst, s.behind(id, done, max(from-at, 0), types, gpus))
	}
	return dst
}

// behind returns a job of the backlog that has done some of its work and restarts for the given pause first. gpus counts the GPUs
// of each type.
func (s *Sim) behind(id cluster.JobID, done, pause time.Duration, types []string, gpus []float64) backlog.Job {
	spec := s.state.Spec(id)
	left := max(s.work(id)-done, 0).Hours()
	if r := &s.cfg.Restart; r.Save > 0 {
		left *= float64(r.Interval+r.Save) / float64(r.Interval)
	}
	capacity, best := 0.0, 0.0
	for i, n := range gpus {
		if n > 0 && spec.Allows(types[i]) {
			speed := physics.SpeedOn(s.cfg.Physics, spec, types[i])
			capacity, best = capacity+n*speed, max(best, speed)
		}
	}
	if capacity == 0 {
		capacity, best = spec.GPUs(), 1
	}
	return backlog.Job{
		ID: id, Work: (left + pause.Hours()) * spec.GPUs(), Capacity: capacity, Weight: 1,
		Least: left/best*float64(spec.Workers)/float64(spec.Most()) + pause.Hours(),
	}
}

package objectives

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Replay returns the meter of the whole episode of an event log. It plays the log again, so that it returns the errors of sim.Replay.
func Replay(log *sim.Log, o *Objective, clock time.Duration) (*Meter, error) {
	m := NewMeter(o, Options{
		RunTime: func(id cluster.JobID) time.Duration { return log.Jobs[id].Work },
		Spec:    func(id cluster.JobID) *cluster.JobSpec { return &log.Jobs[id].JobSpec },
		Jobs:    len(log.Jobs), Warm: log.Config.Warm, Clock: clock,
	})
	var v *cluster.View
	err := sim.Visit(log, sim.Look{
		Begin: func(s *sim.Sim) {
			v = &s.State().View
			s.Watch(func(from, to time.Duration) { m.Pass(v, from, to) })
		},
	})
	if err != nil {
		return nil, err
	}
	m.Catch(v)
	return m, nil
}

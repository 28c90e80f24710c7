package main

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/cluster"
)

// Lean shows a server by one number and a job by three, and nothing of the cluster. Its window holds the jobs that wait
// longest among those that could start now.
type Lean struct {
	Window int // jobs shown
	spec   env.Spec
	fits   []int32 // scratch: workers of the job in hand that each server takes
}

var _ env.Encoder = (*Lean)(nil)

// Spec implements env.Encoder.
func (l *Lean) Spec(servers int) env.Spec {
	l.fits = make([]int32, servers)
	l.spec = env.Spec{
		Agents: servers, Window: l.Window, Menu: env.AsRequested(),
		Server: []env.Feature{{Name: "free_gpus", Unit: "of its own", Max: 1}},
		Job: []env.Feature{
			{Name: "length", Unit: "log of the estimate, 1 is 100 days", Max: 1},
			{Name: "width", Unit: "log2 of workers / 10", Max: 1},
			{Name: "age", Unit: "log of the time since submission, 1 is 100 days", Max: 1},
		},
	}
	return l.spec
}

// Encode implements env.Encoder. It depends on the state alone.
func (l *Lean) Encode(s *cluster.State, ts *env.TimeStep) {
	for i := range l.spec.Agents {
		id := cluster.ServerID(i)
		ts.Servers[i] = float32(s.FreeGPUs(id)) / float32(max(s.Server(id).GPUs, 1))
	}
	clear(ts.Jobs)
	clear(ts.Mask)
	for i := range l.spec.Agents {
		ts.Mask[i*l.spec.Actions()] = true // no-op
	}
	l.choose(s, ts.Window)
	for k, id := range ts.Window {
		if id < 0 {
			break
		}
		job := s.Spec(id)
		row := ts.Jobs[3*k:]
		row[0] = logTime(job.Estimate)
		row[1] = float32(min(math.Log2(float64(job.Workers))/10, 1))
		row[2] = logTime(s.Now() - job.Submit)
		l.startable(s, id)
		for i, n := range l.fits {
			ts.Mask[i*l.spec.Actions()+1+k] = n > 0
		}
	}
}

// choose fills the window, -1 where fewer jobs wait.
func (l *Lean) choose(s *cluster.State, window []cluster.JobID) {
	for k := range window {
		window[k] = -1
	}
	for _, id := range s.Pending() {
		if !l.startable(s, id) {
			continue
		}
		for k, other := range window {
			if other < 0 {
				window[k] = id
				break
			}
			if before(s, id, other) {
				window[k], id = id, other
			}
		}
	}
}

func before(s *cluster.State, a, b cluster.JobID) bool {
	x, y := s.Spec(a).Submit, s.Spec(b).Submit
	return x < y || x == y && a < b
}

// startable counts the workers that each server takes and reports whether they make the gang.
func (l *Lean) startable(s *cluster.State, id cluster.JobID) bool {
	job, total := s.Spec(id), int64(0)
	for i := range l.fits {
		l.fits[i] = s.Fits(cluster.ServerID(i), id, job.Request)
		total += int64(l.fits[i])
	}
	return total >= int64(job.Workers)
}

// logTime maps a duration to [0, 1], 100 days to 1.
func logTime(d time.Duration) float32 {
	return float32(min(math.Log1p(d.Minutes())/math.Log1p(100*24*60), 1))
}

package perfetto

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// counters contains an episode's counters over time, in thousandths.
type counters struct {
	servers []cluster.ServerSpec
	lent    []bool
	down    []bool
	broken  []int64 // GPUs that have failed, by server
	held    []int64 // by job
	now     levels
	told    levels // the values last written
	any     bool   // whether any values were written
	pool    bool   // whether there is an inference pool
}

type levels struct{ queue, wanted, held, open, loan, need int64 }

func newCounters(log *sim.Log) *counters {
	servers := log.Config.Cluster.Servers
	c := &counters{
		servers: servers, lent: make([]bool, len(servers)), down: make([]bool, len(servers)),
		broken: make([]int64, len(servers)), held: make([]int64, len(log.Jobs)),
	}
	for i := range servers {
		c.pool = c.pool || servers[i].Pool == cluster.Inference
		c.add(cluster.ServerID(i), 1)
	}
	return c
}

// add adds (sign 1) or removes (sign -1) what a server contributes in its present state.
func (c *counters) add(id cluster.ServerID, sign int64) {
	v := &c.servers[id]
	if c.lent[id] {
		c.now.loan += sign * 1000
	}
	if !c.down[id] && (v.Pool == cluster.Training || c.lent[id]) {
		c.now.open += sign * (int64(v.GPUs) - c.broken[id]) * cluster.WholeGPU
	}
}

func (c *counters) follow(log *sim.Log, r *sim.Record) {
	switch r.Kind {
	case sim.Submit, sim.Preempt, sim.Interrupt:
		c.now.queue += 1000
		c.now.wanted += log.Jobs[r.Job].GPUMilli()
		c.hold(r.Job, 0)
	case sim.Start:
		c.now.queue -= 1000
		c.now.wanted -= log.Jobs[r.Job].GPUMilli()
		c.hold(r.Job, log.Placement(r).GPUMilli())
	case sim.Resize, sim.Migrate:
		c.hold(r.Job, log.Placement(r).GPUMilli())
	case sim.Finish:
		c.hold(r.Job, 0)
	case sim.Need:
		c.now.need = log.Config.Demand[r.Index].Need
	case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
		c.add(r.Server, -1)
		switch failed := r.Kind == sim.Fail; {
		case r.Kind != sim.Fail && r.Kind != sim.Repair:
			c.lent[r.Server] = r.Kind == sim.Loan
		case r.Index < 0:
			c.down[r.Server] = failed
		case failed:
			c.broken[r.Server]++
		default:
			c.broken[r.Server]--
		}
		c.add(r.Server, 1)
	}
}

func (c *counters) hold(id cluster.JobID, milli int64) {
	c.now.held += milli - c.held[id]
	c.held[id] = milli
}

// count writes the counters that have changed since they were last written. It is called after all records of an instant.
func (p *pen) count(at time.Duration) {
	c := p.counters
	now, told := &c.now, &c.told
	for _, k := range []struct {
		name, unit string
		now, told  int64
		shown      bool
	}{
		{"jobs that wait", "jobs", now.queue, told.queue, true},
		{"GPUs waited for", "GPUs", now.wanted, told.wanted, true},
		{"GPUs held", "GPUs", now.held, told.held, true},
		{"utilisation", "percent", now.percent(), told.percent(), true},
		{"servers on loan", "servers", now.loan, told.loan, c.pool},
		{"servers that inference needs", "servers", now.need, told.need, c.pool},
	} {
		if k.shown && (k.now != k.told || !c.any) {
			p.out.counter(at, p.preemptions, k.name, k.unit, k.now)
		}
	}
	c.told, c.any = c.now, true
}

// percent returns the fraction of the GPUs open to training that is held, in thousandths of a percent.
func (l *levels) percent() int64 {
	if l.open == 0 {
		return 0
	}
	return l.held * 100_000 / l.open
}

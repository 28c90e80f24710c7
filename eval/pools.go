package eval

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// pools tracks, through the records of a log, which servers are open to training and which serve inference.
type pools struct {
	servers   []cluster.ServerSpec
	lent      []bool
	down      []bool
	broken    []int64 // GPUs that have failed, by server
	open      int64   // number of GPUs that training jobs may use
	inference int64   // number of servers that inference may use
	onLoan    int64   // number of servers
}

func newPools(log *sim.Log) pools {
	servers := log.Config.Cluster.Servers
	p := pools{servers: servers, lent: make([]bool, len(servers)), down: make([]bool, len(servers)),
		broken: make([]int64, len(servers))}
	for i := range servers {
		p.count(cluster.ServerID(i), 1)
	}
	return p
}

// trains reports whether training jobs may use a server.
func (p *pools) trains(id cluster.ServerID) bool {
	return !p.down[id] && (p.lent[id] || p.servers[id].Pool == cluster.Training)
}

// count adds (sign 1) or removes (sign -1) what a server contributes in its present state.
func (p *pools) count(id cluster.ServerID, sign int64) {
	if p.lent[id] {
		p.onLoan += sign
	}
	switch {
	case p.trains(id):
		p.open += sign * (int64(p.servers[id].GPUs) - p.broken[id])
	case !p.down[id]:
		p.inference += sign
	}
}

// follow applies a record about a server.
func (p *pools) follow(r *sim.Record) {
	p.count(r.Server, -1)
	switch {
	case r.Kind == sim.Loan || r.Kind == sim.Reclaim || r.Kind == sim.Seize:
		p.lent[r.Server] = r.Kind == sim.Loan
	case r.Index < 0:
		p.down[r.Server] = r.Kind == sim.Fail
	case r.Kind == sim.Fail:
		p.broken[r.Server]++
	default:
		p.broken[r.Server]--
	}
	p.count(r.Server, 1)
}

// level is the state of an episode between two records. Amounts that jobs ask for and hold are in thousandths of a GPU.
type level struct {
	pools
	queue   int64 // number of waiting jobs
	waiting int64 // the amount that they ask for
	asked   int64 // the amount that all submitted, unfinished jobs ask for
	held    int64
	need    int64 // of the inference pool, in thousandths of a server
	jobs    []demand
}

// demand is the amount that a job asks for and the amount that it holds.
type demand struct{ asks, holds int64 }

func newLevel(log *sim.Log) level {
	n := level{pools: newPools(log), jobs: make([]demand, len(log.Jobs))}
	for i := range n.jobs {
		n.jobs[i].asks = log.Jobs[i].GPUMilli()
	}
	return n
}

// follow applies a record.
func (n *level) follow(log *sim.Log, r *sim.Record) {
	switch r.Kind {
	case sim.Submit:
		n.asked += n.jobs[r.Job].asks
		n.wait(r.Job, 1)
	case sim.Start:
		n.wait(r.Job, -1)
		n.hold(r.Job, log.Placement(r).GPUMilli())
	case sim.Resize, sim.Migrate:
		n.hold(r.Job, log.Placement(r).GPUMilli())
	case sim.Preempt, sim.Interrupt:
		n.wait(r.Job, 1)
		n.hold(r.Job, 0)
	case sim.Finish:
		n.asked -= n.jobs[r.Job].asks
		n.hold(r.Job, 0)
	case sim.Loan, sim.Reclaim, sim.Seize, sim.Fail, sim.Repair:
		n.pools.follow(r)
	case sim.Need:
		n.need = log.Config.Demand[r.Index].Need
	}
}

func (n *level) wait(id cluster.JobID, sign int64) {
	n.queue += sign
	n.waiting += sign * n.jobs[id].asks
}

func (n *level) hold(id cluster.JobID, milli int64) {
	n.held += milli - n.jobs[id].holds
	n.jobs[id].holds = milli
}

// loans integrates what inference needs, lacks and lends, from the first demand to the end of the log. A server that is down
// serves neither pool; failed single GPUs do not reduce the servers of inference.
type loans struct {
	began                        bool
	lent, short, wanted, elapsed sum
}

func (l *loans) pass(d time.Duration, n *level) {
	if !l.began {
		return
	}
	l.elapsed.add(d, 1)
	l.lent.add(d, n.onLoan)
	l.wanted.add(d, n.need)
	l.short.add(d, max(n.need-thousand*n.inference, 0))
}

const thousand = 1000 // thousandths of a server

package eval

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// pools follows which servers serve training and which inference through the records of a log.
type pools struct {
	servers   []cluster.ServerSpec
	lent      []bool
	down      []bool
	broken    []int64 // GPUs out of order
	open      int64   // GPUs that training jobs may use
	inference int64   // servers that inference may use
	onLoan    int64   // servers
}

func newPools(log *sim.Log) *pools {
	servers := log.Config.Cluster.Servers
	p := &pools{servers: servers, lent: make([]bool, len(servers)), down: make([]bool, len(servers)),
		broken: make([]int64, len(servers))}
	for i := range servers {
		p.count(cluster.ServerID(i), 1)
	}
	return p
}

// count adds (1) or takes away (-1) what a server gives in its present state.
func (p *pools) count(id cluster.ServerID, sign int64) {
	v := &p.servers[id]
	if p.lent[id] {
		p.onLoan += sign
	}
	switch {
	case p.down[id]:
	case v.Pool == cluster.Training || p.lent[id]:
		p.open += sign * (int64(v.GPUs) - p.broken[id])
	default:
		p.inference += sign
	}
}

// follow takes a record into account. Before anything changes it calls changing.
func (p *pools) follow(r *sim.Record, changing func()) {
	var change func()
	switch r.Kind {
	case sim.Loan, sim.Reclaim, sim.Seize:
		change = func() { p.lent[r.Server] = r.Kind == sim.Loan }
	case sim.Fail, sim.Repair:
		change = func() {
			switch {
			case r.Index < 0:
				p.down[r.Server] = r.Kind == sim.Fail
			case r.Kind == sim.Fail:
				p.broken[r.Server]++
			default:
				p.broken[r.Server]--
			}
		}
	default:
		return
	}
	changing()
	p.count(r.Server, -1)
	change()
	p.count(r.Server, 1)
}

// loaning returns the mean number of servers on loan and the share of the inference demand that was not served, both over the
// time from the first demand to the end of the log. A server that is down serves nobody; single GPUs out of order are not
// counted against inference.
func loaning(log *sim.Log) (meanLent, unserved float64) {
	p := newPools(log)
	need, since, began := int64(0), time.Duration(0), false
	var lent, short, wanted, elapsed sum
	pass := func(at time.Duration) {
		if began {
			d := at - since
			elapsed.add(d, 1)
			lent.add(d, p.onLoan)
			wanted.add(d, need)
			short.add(d, max(need-thousand*p.inference, 0))
		}
		since = at
	}
	for i := range log.Records {
		r := &log.Records[i]
		p.follow(r, func() { pass(r.At) })
		if r.Kind == sim.Need {
			pass(r.At)
			need, began = log.Config.Demand[r.Index].Need, true
		}
		if i == len(log.Records)-1 {
			pass(r.At)
		}
	}
	if elapsed != (sum{}) {
		meanLent = lent.seconds() / elapsed.seconds()
	}
	if wanted != (sum{}) {
		unserved = short.seconds() / wanted.seconds()
	}
	return meanLent, unserved
}

const thousand = 1000 // thousandths of a server

// utilisation is GPU-time held over GPU-time available in [from, until].
func utilisation(log *sim.Log, from, until time.Duration) float64 {
	type holding struct {
		since time.Duration
		milli int64
	}
	held := make([]holding, len(log.Jobs))
	var used, available sum
	stop := func(id cluster.JobID, at time.Duration) {
		h := &held[id]
		used.add(at-h.since, h.milli)
		*h = holding{}
	}
	p, since := newPools(log), from
	pass := func(at time.Duration) {
		at = min(max(at, from), until)
		available.add(at-since, p.open*cluster.WholeGPU)
		since = at
	}
	for i := range log.Records {
		r := &log.Records[i]
		p.follow(r, func() { pass(r.At) })
		switch r.Kind {
		case sim.Start, sim.Resize, sim.Migrate:
			stop(r.Job, r.At)
			held[r.Job] = holding{r.At, log.Placement(r).GPUMilli()}
		case sim.Preempt, sim.Interrupt, sim.Finish:
			stop(r.Job, r.At)
		}
	}
	for id := range held {
		stop(cluster.JobID(id), until)
	}
	pass(until)
	if available == (sum{}) {
		return 0
	}
	return used.seconds() / available.seconds()
}

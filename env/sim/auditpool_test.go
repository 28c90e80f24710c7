package sim_test

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// need checks that the Need records follow the demand of the configuration one by one.
func (a *audit) need(r *sim.Record) {
	all := a.log.Config.Demand
	if a.needs == len(all) || int(r.Index) != a.needs || all[a.needs].At != r.At {
		a.fail("need %d, want the %d of %d, each at its time", r.Index, a.needs, len(all))
	}
	a.needs++
}

// offered returns the number of servers that may be on loan after the first n demands.
func (a *audit) offered(n int) int32 {
	if n > 0 {
		return a.log.Config.Demand[n-1].Offer
	}
	pool := int32(0)
	for i := range a.servers {
		if a.servers[i].spec.Pool == cluster.Inference {
			pool++
		}
	}
	return pool
}

// allowed returns the number of servers that may still be on loan at an instant: the most that the pool offered at any time
// within the grace before it.
func (a *audit) allowed(at time.Duration) int32 {
	most := a.offered(a.needs)
	for n := a.needs; n > 0 && a.log.Config.Demand[n-1].At > at-a.log.Config.Grace; n-- {
		most = max(most, a.offered(n-1))
	}
	return most
}

// lend applies a loan, a return or a seizure. It checks that a seizure comes only when the time to return the server is over.
func (a *audit) lend(r *sim.Record) {
	m := &a.servers[r.Server]
	if m.spec.Pool != cluster.Inference || m.lent == (r.Kind == sim.Loan) {
		a.fail("%v server %d: on loan %v", r.Kind, r.Server, m.lent)
	}
	m.lent = !m.lent
	switch r.Kind {
	case sim.Loan:
		if a.lent++; a.lent > a.offered(a.needs) || m.down {
			a.fail("loan of server %d (down: %v): %d on loan, want at most %d", r.Server, m.down, a.lent, a.offered(a.needs))
		}
	case sim.Reclaim:
		if a.lent--; m.residents > 0 {
			a.fail("reclaim of server %d while %d jobs run on it", r.Server, m.residents)
		}
	case sim.Seize:
		if allowed := a.allowed(a.now); a.lent <= allowed {
			a.fail("seizure of server %d while %d are on loan, of which %d may be", r.Server, a.lent, allowed)
		}
		a.lent--
		a.stop(r.Server, -1)
	}
}

// breakdown checks that failures and repairs follow the outages of the configuration.
func (a *audit) breakdown(r *sim.Record) {
	m := &a.servers[r.Server]
	same := func(o *sim.Outage) bool { return o.Server == r.Server && o.GPU == r.Index && o.To == r.At }
	if r.Kind == sim.Repair {
		i := slices.IndexFunc(a.out, same)
		if i < 0 {
			a.fail("repair of server %d GPU %d, which is not out until now", r.Server, r.Index)
		}
		a.out = slices.Delete(a.out, i, i+1)
	} else {
		all := a.log.Config.Outages
		i := slices.IndexFunc(all, func(o sim.Outage) bool { return o.Server == r.Server && o.GPU == r.Index && o.From == r.At })
		if i < 0 {
			a.fail("failure of server %d GPU %d out of the blue", r.Server, r.Index)
		}
		a.out = append(a.out, &all[i])
		a.failed++
		a.stop(r.Server, r.Index)
	}
	if r.Index < 0 {
		m.down = r.Kind == sim.Fail
	} else {
		m.broken[r.Index] = r.Kind == sim.Fail
	}
}

// stop lists the jobs that lose the GPU of a server (-1: any GPU). Their Interrupt records must follow at once.
func (a *audit) stop(server cluster.ServerID, gpu int32) {
	for i := range a.jobs {
		j := &a.jobs[i]
		if !j.runs {
			continue
		}
		gpus := j.gpus
		for _, p := range j.place {
			if p.Server == server && (gpu < 0 || slices.Contains(gpus[:p.Workers], gpu)) {
				a.stopped = append(a.stopped, cluster.JobID(i))
			}
			gpus = gpus[p.Workers:]
		}
	}
}

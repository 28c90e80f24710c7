package sim

import (
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// This file simulates what happens to the cluster without the scheduler: failures, repairs, and the inference pool's demand.

// breakdowns applies the failures and repairs of the instant.
func (s *Sim) breakdowns(at time.Duration) {
	for ; s.fault < len(s.faults) && s.faults[s.fault].at == at; s.fault++ {
		f := &s.faults[s.fault]
		kind, tell := Fail, cluster.Failed
		if f.repair {
			kind, tell = Repair, cluster.Repaired
			s.state.Repair(f.Server, f.GPU)
		} else {
			s.touchServer(f.Server)
			s.ended = s.state.Fail(f.Server, f.GPU, s.ended[:0])
		}
		s.log.append(Record{At: at, Kind: kind, Server: f.Server, Index: f.GPU})
		s.events = append(s.events, cluster.Event{Kind: tell, Server: f.Server})
		if !f.repair {
			s.interrupt(at)
		}
	}
}

// interrupt records that the jobs in s.ended were stopped, and reduces their progress to their last checkpoints.
func (s *Sim) interrupt(at time.Duration) {
	for _, id := range s.ended {
		s.stop(id, s.cfg.Restart.Interval)
		s.log.append(Record{At: at, Kind: Interrupt, Job: id})
		s.events = append(s.events, cluster.Event{Kind: cluster.Interrupted, Job: id})
	}
}

// inference applies the inference pool's demand of the instant and seizes the servers on loan that are overdue.
func (s *Sim) inference(at time.Duration) {
	s.collect(at)
	for s.demand < len(s.cfg.Demand) && s.cfg.Demand[s.demand].At == at {
		s.log.append(Record{At: at, Kind: Need, Index: int32(s.demand)})
		d := &s.cfg.Demand[s.demand]
		s.demand++
		if d.Offer == s.state.Offer() && s.demand > 1 {
			continue
		}
		s.state.SetOffer(d.Offer, cluster.Never)
		s.events = append(s.events, cluster.Event{Kind: cluster.Offered})
		s.collect(at)
	}
}

// collect seizes the overdue servers and updates the deadline by which the next server on loan must be back. An offer remains
// valid for Grace after it falls: as many servers may be on loan as the pool offered at any time in the last Grace.
func (s *Sim) collect(at time.Duration) {
	if owed, _ := s.state.Owed(); owed == 0 {
		return
	}
	if at < s.due {
		s.remind()
		return
	}
	allowed := s.state.Offer()
	for i := s.demand - 1; i >= 0 && later(s.cfg.Demand[i].At, s.cfg.Grace) > at; i-- {
		allowed = max(allowed, s.offerBefore(i))
	}
	s.seize(at, max(s.state.Lent()-allowed, 0))
	s.remind()
}

// remind sets the deadline of the servers that the scheduler owes the pool: the first instant at which one of them becomes
// overdue.
func (s *Sim) remind() {
	deadline, allowed := cluster.Never, s.state.Offer()
	for i := s.demand - 1; i >= 0 && s.state.Lent() > allowed; i-- {
		deadline, allowed = later(s.cfg.Demand[i].At, s.cfg.Grace), max(allowed, s.offerBefore(i))
	}
	if deadline = max(deadline, s.due); s.state.Lent() > allowed {
		deadline = s.due
	}
	s.state.SetOffer(s.state.Offer(), deadline)
}

// offerBefore returns how many servers the pool offered before the i-th demand.
func (s *Sim) offerBefore(i int) int32 {
	if i == s.ahead {
		return s.offered
	}
	return s.cfg.Demand[max(i-1, 0)].Offer
}

// seize takes the given number of servers on loan back by force, those with the fewest jobs first, then those with the lowest
// ids.
func (s *Sim) seize(at time.Duration, servers int32) {
	for range servers {
		best := cluster.ServerID(-1)
		for i := range s.state.Servers() {
			id := cluster.ServerID(i)
			if s.state.OnLoan(id) && (best < 0 || len(s.state.Residents(id)) < len(s.state.Residents(best))) {
				best = id
			}
		}
		s.touchServer(best)
		s.ended = s.state.Seize(best, s.ended[:0])
		s.log.append(Record{At: at, Kind: Seize, Server: best})
		s.interrupt(at)
	}
}

// nextOffer returns when the inference pool next changes the number of servers it offers, or cluster.Never.
func (s *Sim) nextOffer() time.Duration {
	if s.demand == len(s.offers) {
		return cluster.Never
	}
	return s.offers[s.demand]
}

// offersAfter returns, for every index i into demand, the time of the first change of the offer at index i or later.
func offersAfter(demand []Demand) []time.Duration {
	all := make([]time.Duration, len(demand))
	next := cluster.Never
	for i := len(demand) - 1; i >= 0; i-- {
		if i == 0 || demand[i].Offer != demand[i-1].Offer {
			next = demand[i].At
		}
		all[i] = next
	}
	return all
}

// pass records each demand before the instant until. None of them changed the offer, so the scheduler was not called for them.
func (s *Sim) pass(until time.Duration) {
	for ; s.demand < len(s.cfg.Demand) && s.cfg.Demand[s.demand].At < until; s.demand++ {
		s.log.append(Record{At: s.cfg.Demand[s.demand].At, Kind: Need, Index: int32(s.demand)})
	}
}

// Package beliefs computes what a scheduler that is told neither run times nor speeds would believe at an instant of an event
// log, and shows what was saved of such beliefs. It replays the log and learns as the policies with +know do: see package belief.
// The same log gives the same numbers.
package beliefs

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Beliefs is what was learned from a log by an instant, or what was saved. It is not safe for concurrent use.
type Beliefs struct {
	log    *sim.Log
	kind   belief.Kind
	state  cluster.State                   // at the instant
	all    *belief.Learner                 // one distribution for all jobs
	times  *belief.Learner                 // of the kind asked for
	speeds *belief.Speeds                  // fitted to the readings
	ran    map[cluster.JobID]time.Duration // how long the ended jobs ran
	saved  *saved                          // not nil: there is no log, and log and ran are nil
}

// End stands for the last decision of a log.
const End = cluster.Never

// Learn replays a log up to an instant and learns from the jobs that have ended by the last decision that is not after it, and
// from the readings that the scheduler had then. How long a job ran is counted as its scheduler counts it: the time for which it
// ran, or, if the log's scenario tells speeds, the time that its work takes as requested.
func Learn(log *sim.Log, at time.Duration, kind belief.Kind) (*Beliefs, error) {
	if n := len(log.Records); at != End && n > 0 && at > log.Records[n-1].At {
		return nil, fmt.Errorf("the log ends at %v, before %v", log.Records[n-1].At, at)
	}
	decisions := 0 // until then
	look := sim.Look{After: func(tx *cluster.Txn, _ int) bool {
		if tx.Now() > at {
			return false
		}
		decisions++
		return true
	}}
	if err := sim.Visit(log, look); err != nil {
		return nil, err
	}
	if decisions == 0 {
		return nil, fmt.Errorf("the log has no decision up to %v", at)
	}
	b := &Beliefs{
		log: log, kind: kind, all: belief.New(belief.Age, belief.Gittins), times: belief.New(kind, belief.Gittins),
		speeds: belief.NewSpeeds(true), ran: map[cluster.JobID]time.Duration{},
	}
	look = sim.Look{
		Before: func(tx *cluster.Txn, _ int) { b.observe(tx) },
		After: func(tx *cluster.Txn, _ int) bool {
			if decisions--; decisions == 0 {
				tx.View().CopyTo(&b.state)
			}
			return decisions > 0
		},
	}
	if err := sim.Visit(log, look); err != nil {
		return nil, err
	}
	if at != End {
		b.state.Advance(at)
	}
	return b, nil
}

// observe learns what a scheduler would at a decision.
func (b *Beliefs) observe(tx *cluster.Txn) {
	b.speeds.Observe(tx)
	s := tx.View()
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished {
			spec, ran := s.Spec(e.Job), s.Age(e.Job)
			b.all.Ended(spec, ran)
			b.times.Ended(spec, ran)
			b.ran[e.Job] = ran
		}
	}
}

// submitted returns the submitted jobs of a user, of all users if it is "", by their ids.
func (b *Beliefs) submitted(user string) (ids []cluster.JobID) {
	for i := range b.state.Jobs() {
		id := cluster.JobID(i)
		if b.state.Phase(id) != cluster.Unsubmitted && (user == "" || b.state.Spec(id).Owner() == user) {
			ids = append(ids, id)
		}
	}
	return ids
}

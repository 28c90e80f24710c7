// Package placement decides where a waiting job starts and with which amounts of resources. An order of jobs (package baselines)
// decides which job starts next; a Placer decides the rest. Every order works with every placer.
package placement

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Placer starts waiting jobs. It may keep state and scratch space between calls. One scheduler at a time may use it.
type Placer interface {
	// Reset restores the state after creation; the options stay. All random choices follow from the seed.
	Reset(seed uint64)
	// Place starts the pending job in the transaction and returns true, or leaves the transaction as it was and returns false if
	// the job does not fit. An error is a fault of the scheduler.
	Place(tx *cluster.Txn, id cluster.JobID) (bool, error)
	// Kind returns the kind of a job. Jobs of a kind fit or fail alike: after one was refused, none of the kind fits until
	// something other than a start changes the cluster.
	Kind(s *cluster.View, id cluster.JobID) Kind
}

// finisher is a Placer with work to do after all jobs have started, for example distributing what is left.
type finisher interface {
	Placer
	Finish(tx *cluster.Txn) error
}

// Finish calls the placer's own Finish if it has one.
func Finish(p Placer, tx *cluster.Txn) error {
	if f, ok := p.(finisher); ok {
		return f.Finish(tx)
	}
	return nil
}

// Kind is what a placer looks at in a job. The fields beyond Shape are zero for placers that start every job as requested.
type Kind struct {
	Shape       cluster.Shape
	Speed       string // see cluster.SpeedKind
	Least, Most int32
}

// Plain returns the kind of a job for placers that start every job as requested.
func Plain(s *cluster.View, id cluster.JobID) Kind { return Kind{Shape: s.Shape(id)} }

// tuned returns the kind of a job for placers that may change its amounts only.
func tuned(s *cluster.View, id cluster.JobID) Kind {
	kind, _ := cluster.SpeedKind(s.Profile(), s.Spec(id))
	return Kind{Shape: s.Shape(id), Speed: kind}
}

// Flexible returns the kind of a job for placers that may change its amounts or its number of workers.
func Flexible(s *cluster.View, id cluster.JobID) Kind {
	spec := s.Spec(id)
	kind, _ := cluster.SpeedKind(s.Profile(), spec)
	return Kind{s.Shape(id), kind, spec.Least(), spec.Most()}
}

// BestFit starts jobs as requested on the few servers that cluster.View.BestFit finds: it consolidates.
type BestFit struct{ fit cluster.Placement }

// Reset implements Placer.
func (*BestFit) Reset(uint64) {}

// Kind implements Placer.
func (*BestFit) Kind(s *cluster.View, id cluster.JobID) Kind { return Plain(s, id) }

// Place implements Placer.
func (b *BestFit) Place(tx *cluster.Txn, id cluster.JobID) (bool, error) {
	var fits bool
	if b.fit, fits = tx.View().BestFit(id, b.fit[:0]); !fits {
		return false, nil
	}
	return true, tx.Place(id, b.fit)
}

// Profile returns the state's profile, which predicts speeds, or ideal physics if the state has none.
func Profile(s *cluster.View) cluster.Profile {
	if p := s.Profile(); p != nil {
		return p
	}
	return physics.Ideal()
}

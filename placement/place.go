// Package placement decides where a waiting job starts, and with how much: orders of jobs decide who and when, a Placer the rest.
// Every order of package baselines works with every placer.
package placement

import (
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
)

// Placer starts waiting jobs. It may keep scratch space and state of its own between calls, and is used by one scheduler at a
// time.
type Placer interface {
	// Reset forgets everything but the placer's options; all that it draws follows from the seed.
	Reset(seed uint64)
	// Place starts the pending job in the transaction and reports true, or leaves the transaction as it was and reports false.
	// An error is a fault of the scheduler, never that the job does not fit.
	Place(tx *cluster.Txn, id cluster.JobID) (bool, error)
	// Kind tells jobs apart that may fare differently: while jobs are only started, no job of a kind that was refused fits.
	Kind(s *cluster.View, id cluster.JobID) Kind
}

// finisher is a Placer that has more to do once all jobs that start have started, for example to hand out what is left.
type finisher interface {
	Placer
	Finish(tx *cluster.Txn) error
}

// Finish does so if the placer is one.
func Finish(p Placer, tx *cluster.Txn) error {
	if f, ok := p.(finisher); ok {
		return f.Finish(tx)
	}
	return nil
}

// Kind is what a placer looks at in a job. Extra fields are zero for placers that start every job as requested.
type Kind struct {
	Shape       cluster.Shape
	Model       string
	Least, Most int32
}

// Plain is the kind of a job that is started as requested.
func Plain(s *cluster.View, id cluster.JobID) Kind { return Kind{Shape: s.Shape(id)} }

// Flexible is the kind of a job that may get other amounts, or fewer or more workers, than it asks for.
func Flexible(s *cluster.View, id cluster.JobID) Kind {
	spec := s.Spec(id)
	return Kind{s.Shape(id), spec.Model, spec.Least(), spec.Most()}
}

// BestFit starts jobs as requested on as few servers as cluster.View.BestFit finds: consolidation.
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

// Profile is what may be known of speed in the state; ideal physics where nothing is.
func Profile(s *cluster.View) cluster.Profile {
	if p := s.Profile(); p != nil {
		return p
	}
	return physics.Ideal()
}

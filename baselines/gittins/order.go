package gittins

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Order is an index that learns from the events of an episode and ranks its jobs. The service of a job is the GPU-time that
// it held, also while it restarted. Not safe for concurrent use.
type Order struct{ index *index }

// New returns an order that knows the history of the options.
func New(c Config) *Order { return &Order{newIndex(c)} }

// Reset forgets all but the history. Nothing is drawn from the seed.
func (o *Order) Reset(uint64) { o.index.Reset() }

// Note learns from an event: the service of a job that has ended.
func (o *Order) Note(s *cluster.View, e cluster.Event) {
	if e.Kind == cluster.Finished {
		o.index.Observe(s.Attained(e.Job))
	}
}

// Key returns the rank of a live job; smaller goes first. The error is always nil.
func (o *Order) Key(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	return o.index.Rank(s.Attained(id)), nil
}

// Alarm returns when the rank of a running job will change by itself, if it will.
func (o *Order) Alarm(s *cluster.View, id cluster.JobID) (time.Duration, bool) {
	got := s.Attained(id)
	next, ok := o.index.Next(got)
	wait := math.Ceil(float64(next-got) / s.Placement(id).GPUs())
	if !ok || wait > math.MaxInt64/4 {
		return 0, false
	}
	return s.Now() + time.Duration(wait), true
}

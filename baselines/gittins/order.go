package gittins

import (
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Order is an index that learns from the events of an episode and ranks its jobs. The service of a job is the GPU-time that it
// held, including restarts. Not safe for concurrent use.
type Order struct{ index *index }

// New returns an order that has observed Config.History.
func New(c Config) *Order { return &Order{newIndex(c)} }

// Reset forgets everything except the history. It ignores the seed.
func (o *Order) Reset(uint64) { o.index.Reset() }

// Note learns the service of a job that has ended, and ignores other events.
func (o *Order) Note(s *cluster.View, e cluster.Event) {
	if e.Kind == cluster.Finished {
		o.index.Observe(s.Attained(e.Job))
	}
}

// Key returns the rank of a live job; smaller goes first. The error is always nil.
func (o *Order) Key(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	return o.index.Rank(s.Attained(id)), nil
}

// Alarm returns when the rank of a running job will change although nothing else happens, and false if it will not.
func (o *Order) Alarm(s *cluster.View, id cluster.JobID) (time.Duration, bool) {
	got := s.Attained(id)
	next, ok := o.index.Next(got)
	wait := math.Ceil(float64(next-got) / s.Placement(id).GPUs())
	if !ok || wait > math.MaxInt64/4 {
		return 0, false
	}
	return s.Now() + time.Duration(wait), true
}

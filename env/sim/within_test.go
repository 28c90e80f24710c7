package sim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/must"
)

// endless is a scheduler whose decision goes on until its context ends.
type endless struct{ ctx context.Context }

func (*endless) Name() string                    { return "endless" }
func (*endless) Reset(uint64) error              { return nil }
func (e *endless) Within(ctx context.Context)    { e.ctx = ctx }
func (e *endless) Schedule(_ *cluster.Txn) error { <-e.ctx.Done(); return e.ctx.Err() }

// TestRunBreaksOffDecisions checks that a scheduler that can break off is told of the context of a run.
func TestRunBreaksOffDecisions(t *testing.T) {
	jobs := []trace.Job{{Work: time.Minute, JobSpec: cluster.JobSpec{Workers: 1, Request: cluster.Amount{GPUMilli: cluster.WholeGPU}}}}
	s := must.Get(sim.New(sim.Config{Cluster: cluster.Uniform(1, 1)}, jobs))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Run(ctx, &endless{}, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want %v", err, context.DeadlineExceeded)
	}
}

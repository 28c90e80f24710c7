package cluster_test

import (
	"context"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
)

type idle struct{}

func (idle) Name() string                { return "idle" }
func (idle) Reset(uint64) error          { return nil }
func (idle) Schedule(*cluster.Txn) error { return nil }

type patient struct {
	idle
	ctx context.Context // what the test looks at
}

func (p *patient) Within(ctx context.Context) { p.ctx = ctx }

type wrapper struct{ cluster.Scheduler }

func (w wrapper) Unwrap() cluster.Scheduler { return w.Scheduler }

func TestWithin(t *testing.T) {
	p := &patient{}
	cluster.Within(t.Context(), wrapper{wrapper{p}})
	if p.ctx != t.Context() {
		t.Error("a scheduler in two wrappers was not told")
	}
	cluster.Within(t.Context(), wrapper{idle{}}) // ignored
}

package explain

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// piecesOn returns a placement of whole GPUs on one server.
func piecesOn(server cluster.ServerID, workers int32) cluster.Placement {
	return cluster.Placement{{Server: server, Workers: workers, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}}}
}

// TestWhyAnOperation checks that every operation is explained by the state in which it was proposed, in the order of the
// transaction.
func TestWhyAnOperation(t *testing.T) {
	s := snapshot(t,
		server("a", 4, "")+","+server("b", 4, "")+","+server("c", 2, "")+","+server("d", 2, `, "pool": "inference"`),
		runs("r", "a", 3, `, "min_workers": 1`)+","+runs("q", "b", 1, "")+","+
			waits("x", 2, `, "estimate_s": 600`)+","+waits("y", 2, `, "estimate_s": 60`)+","+waits("z", 2, ""), "")
	const r, q, x, y = 0, 1, 2, 3
	f := New(&s.View)
	f.Beside("the prior", map[cluster.JobID]bool{x: true})
	tx := s.Begin(nil)
	for _, err := range []error{
		tx.Place(x, piecesOn(2, 2)),   // fills c; b would have had 1 left
		tx.Resize(r, piecesOn(0, 1)),  // leaves a 3
		tx.Migrate(q, piecesOn(0, 1)), // leaves b empty
		tx.Preempt(r),
		tx.Place(y, piecesOn(0, 2)),
		tx.Loan(3),
		tx.Reclaim(3),
	} {
		must.Do(t, err)
	}
	d := must.Get(f.Decision(context.Background(), tx.Ops()))(t)
	want := []struct {
		code Code
		text string
	}{
		{started, "first to come of 3, 100s ago, 2nd shortest with 10.0min left; fills c (next best: b with 1); " +
			"z could have started instead; the prior starts it too"},
		{resized, "had 3 GPUs on a; 60s left; fits a with 3 GPUs left"},
		{migrated, "moves off b; 60s left; fits a with 2 GPUs left"},
		{preempted, "gives its GPUs to jobs that the policy puts first (y); 60s left, 0s of GPU time attained"},
		{started, "2nd to come of 3, 100s ago, shortest with 60s left; fits a with 1 GPU left (next best: b with 2); " +
			"z could have started instead; the prior would let it wait"},
		{loaned, "the inference pool offers 1 server, and 1 are now on loan"},
		{reclaimed, "0 are still on loan of 1 that the inference pool offers, 0 are owed"},
	}
	for i, w := range want {
		if got := d.Steps[i]; got.Code != w.code || got.Text != w.text {
			t.Errorf("operation %d:\ngot  %s: %s\nwant %s: %s", i, got.Code, got.Text, w.code, w.text)
		}
	}
	var names []string
	for _, w := range d.Waiting {
		names = append(names, s.Spec(w.Job).Name)
	}
	if !slices.Equal(names, []string{"r", "z"}) {
		t.Errorf("%v wait, want r and z", names)
	}

	// For a job that starts, Servers shows the servers before its start.
	if got := d.Servers(x); got[2].Free != 2 || got[2].Workers != 2 || got[3].Why != NotLent || got[1].Takes != 3 {
		t.Errorf("servers of x: %+v", got)
	}
	if got := d.Servers(y); got[0].Free != 3 || got[2].Why != NoGPU {
		t.Errorf("servers of y: %+v", got)
	}
	if got := d.Servers(q); got != nil {
		t.Errorf("servers of a job that goes on running: %+v", got)
	}
	tx.Rollback(0)
	if _, err := f.Decision(context.Background(), nil); err != nil {
		t.Error(err)
	}

	// Decision returns an error for operations of another state.
	other := snapshot(t, server("a", 4, ""), waits("x", 2, ""), "")
	foreign := other.Begin(nil)
	must.Do(t, foreign.Place(0, piecesOn(0, 2)))
	if _, err := f.Decision(context.Background(), foreign.Ops()); !errors.Is(err, cluster.ErrInfeasible) {
		t.Errorf("operations of another state: %v", err)
	}
}

// TestRoomCountsWhereGPUsAre checks that Room depends on where and when GPUs become free: here p ends first and frees both GPUs
// of its server.
func TestRoomCountsWhereGPUsAre(t *testing.T) {
	s := snapshot(t, server("a", 2, "")+","+server("b", 2, "")+","+server("c", 2, ""),
		runs("r", "a", 1, "")+","+runs("q", "b", 1, "")+","+runs("p", "c", 2, `, "tenant": "t"`)+","+
			waits("j", 2, `, "tensor": 2`), "")
	s.SetProgress(2, 100*time.Second, s.Now(), 2) // twice as fast: ends first
	d := must.Get(New(&s.View).Decision(context.Background(), nil))(t)
	if r := d.Waiting[0].Room; r == nil || r.Job != "p" || r.Wait != 30*time.Second || r.Before != 0 || r.Servers[0] != "c" {
		t.Errorf("room %+v, want c in 30 s, when p ends", r)
	}
}

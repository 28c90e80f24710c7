package explain

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// drawState draws a small busy cluster: servers of several types and pools, some of them failed, with or without limits of CPU
// and memory, with quotas, GPU shares, groups and elastic jobs. Some of the jobs run.
func drawState(t *rapid.T) *cluster.State {
	limit := rapid.OneOf(rapid.Just(int64(cluster.Unlimited)), rapid.Int64Range(0, 12))
	spec := cluster.Spec{PerGPU: rapid.SampledFrom([]int32{0, 1, 2}).Draw(t, "jobs a GPU")}
	for i := range rapid.IntRange(1, 5).Draw(t, "servers") {
		v := cluster.ServerSpec{
			Name: fmt.Sprintf("s%d", i), GPUs: rapid.Int32Range(0, 6).Draw(t, "GPUs"),
			CPUMilli: limit.Draw(t, "CPU"), MemMiB: limit.Draw(t, "memory"),
			GPUType:   rapid.SampledFrom([]string{"", "A", "A", "B"}).Draw(t, "type"),
			GPUMemMiB: rapid.SampledFrom([]int32{0, 0, 4, 8}).Draw(t, "MiB a GPU"),
		}
		if rapid.IntRange(0, 4).Draw(t, "pool") == 0 {
			v.Pool = cluster.Inference
		}
		spec.Servers = append(spec.Servers, v)
	}
	if rapid.Bool().Draw(t, "quota") {
		spec.Quotas = []cluster.Quota{{Tenant: "t", GPUs: rapid.Int32Range(0, 8).Draw(t, "quota of t")}}
	}
	n := rapid.IntRange(1, 9).Draw(t, "jobs")
	s := must.Get(cluster.NewState(spec, n))(t)
	for i, v := range spec.Servers {
		id := cluster.ServerID(i)
		switch rapid.IntRange(0, 7).Draw(t, "server state") {
		case 0:
			s.Fail(id, -1, nil)
		case 1:
			if v.GPUs > 0 {
				s.Fail(id, rapid.Int32Range(0, v.GPUs-1).Draw(t, "GPU out of order"), nil)
			}
		case 2, 3:
			tx := s.Begin(nil)
			_ = tx.Loan(id) // a training server cannot be lent
			tx.End()
		}
	}
	s.Advance(time.Hour)
	for i := range n {
		id := cluster.JobID(i)
		s.Submit(id, drawJob(t, fmt.Sprintf("j%d", i)))
		if !rapid.Bool().Draw(t, "runs") {
			continue
		}
		tx := s.Begin(nil)
		if p, ok := s.BestFit(id, nil); ok {
			must.Do(t, tx.Place(id, p))
		}
		tx.End()
	}
	s.Advance(2 * time.Hour)
	return s
}

func drawJob(t *rapid.T, name string) *cluster.JobSpec {
	j := &cluster.JobSpec{
		Name: name, Submit: time.Hour, Workers: rapid.Int32Range(1, 7).Draw(t, "workers"),
		Request:  cluster.Amount{GPUMilli: rapid.SampledFrom([]int32{1000, 1000, 250, 500, 700}).Draw(t, "share")},
		Estimate: time.Duration(rapid.IntRange(0, 5).Draw(t, "hours")) * time.Hour,
		Tenant:   rapid.SampledFrom([]string{"", "t"}).Draw(t, "tenant"),
		GPUType:  rapid.SampledFrom([]string{"", "", "A", "B", "C"}).Draw(t, "types that will do"),
		Mixed:    rapid.Bool().Draw(t, "mixed"),
	}
	if rapid.Bool().Draw(t, "amounts") {
		j.Request.CPUMilli, j.Request.MemMiB = rapid.Int32Range(0, 4).Draw(t, "CPU"), rapid.Int32Range(0, 4).Draw(t, "memory")
		j.Request.GPUMemMiB = rapid.Int32Range(0, 5).Draw(t, "GPU memory")
	}
	switch rapid.IntRange(0, 3).Draw(t, "kind of job") {
	case 0:
		j.Tensor = rapid.Int32Range(2, 3).Draw(t, "tensor")
		j.Workers = j.Tensor * rapid.Int32Range(1, 2).Draw(t, "groups")
	case 1:
		j.MinWorkers = rapid.Int32Range(1, j.Workers).Draw(t, "least")
	}
	return j
}

// place reports, by trying greedily on the servers of each type, whether a waiting job can be placed with any number of workers
// that it allows. If alone is true, it tries only the requested number, on a single server.
func place(s *cluster.State, id cluster.JobID, alone bool) bool {
	spec := s.Spec(id)
	least, most := spec.Least(), spec.Most()
	if alone {
		least, most = spec.Workers, spec.Workers
	}
	for first := range s.Servers() {
		for want := least; want <= most; want++ {
			var p cluster.Placement
			left := want
			for k := range s.Servers() {
				v := cluster.ServerID((first + k) % s.Servers())
				if len(p) > 0 && !s.SameType(id, p[0].Server, v) {
					continue
				}
				if n := min(s.Fits(v, id, spec.Request), left); n > 0 {
					p = append(p, cluster.Piece{Server: v, Workers: n, Amount: spec.Request})
					left -= n
				}
				if alone {
					break
				}
			}
			if left > 0 {
				continue
			}
			tx := s.Begin(nil)
			err := tx.Place(id, p)
			tx.Rollback(0)
			tx.End()
			if err == nil {
				return true
			}
		}
	}
	return false
}

// TestReasonsAreTrue checks that a waiting job can be placed if and only if its reason says that it fits, and that a job without
// a hole cannot be placed on one server. It checks that each server is counted once, under a reason that is true of it.
func TestReasonsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawState(t)
		d := must.Get(New(&s.View).Decision(context.Background(), nil))(t)
		if len(d.Waiting) != len(s.Pending()) {
			t.Fatalf("%d jobs are said to wait, want %d", len(d.Waiting), len(s.Pending()))
		}
		for _, w := range d.Waiting {
			fits := w.Code == heldBack || w.Code == spread
			if got := place(s, w.Job, false); got != fits {
				t.Fatalf("job %d is %s (%s), but can be placed: %v", w.Job, w.Code, w.Text, got)
			}
			if (w.Code == noHole || w.Code == spread) && place(s, w.Job, true) {
				t.Fatalf("job %d is %s (%s), but can be placed on one server", w.Job, w.Code, w.Text)
			}
			sum := w.Taking
			for _, e := range w.Excluded {
				sum += e.Servers
			}
			if sum != s.Servers() {
				t.Fatalf("job %d: %d servers counted, want %d: %+v", w.Job, sum, s.Servers(), w)
			}
			confirm(t, s, w.Job)
			if w.Room != nil {
				checkRoom(t, s, &w)
			}
		}
	})
}

// confirm checks every exclusion against the state of the server, without asking whether the job fits.
func confirm(t *rapid.T, s *cluster.State, id cluster.JobID) {
	spec := s.Spec(id)
	a := spec.Request
	for i := range s.Servers() {
		v := cluster.ServerID(i)
		takes, why := exclude(&s.View, id, v)
		if takes != s.Fits(v, id, a) || (why == notExcluding) != (takes > 0) {
			t.Fatalf("server %d takes %d of job %d, excluded %q", v, takes, id, why)
		}
		quota, limited := s.QuotaLeft(id)
		free := int32(0)
		for _, used := range s.GPUUse(v) {
			if int32(used)+a.GPUMilli <= cluster.WholeGPU {
				free++
			}
		}
		group := int64(spec.Together())
		if ok := map[Exclusion]bool{
			notExcluding: true,
			Failed:       s.Down(v),
			NotLent:      s.Server(v).Pool == cluster.Inference && !s.OnLoan(v),
			OtherType:    !spec.Allows(s.Server(v).GPUType),
			notEligible:  spec.Where != nil && !spec.Where.Has(v),
			SmallGPU:     a.GPUMemMiB > s.Server(v).GPUMemMiB && s.Server(v).GPUMemMiB > 0,
			QuotaLeft:    limited && quota/int64(a.GPUMilli) < group,
			NoGPU:        free == 0,
			TooFewGPUs:   free > 0 && int64(free) < group,
			FullGPU:      a.GPUMilli < cluster.WholeGPU && len(s.Residents(v)) > 0,
			NoGPUMemory:  a.GPUMilli < cluster.WholeGPU && a.GPUMemMiB > 0 && len(s.Residents(v)) > 0,
			NoCPU:        s.FreeCPU(v) < group*int64(a.CPUMilli),
			NoMemory:     s.FreeMem(v) < group*int64(a.MemMiB),
		}[why]; !ok {
			t.Fatalf("server %d excludes job %d by %q, which is not so", v, id, why)
		}
	}
}

// checkRoom ends the running jobs that Room says end first. Before the last of them ends, the job must not fit; after it, the job
// must fit.
func checkRoom(t *rapid.T, s *cluster.State, w *Wait) {
	var then cluster.State
	s.CopyTo(&then)
	wants := func() bool {
		if w.Code == spread {
			return place(&then, w.Job, true)
		}
		return place(&then, w.Job, false)
	}
	for n, id := range byEnd(&s.View) {
		if n <= w.Room.Before && wants() {
			t.Fatalf("job %d has room before %d jobs end: %+v", w.Job, n+1, w.Room)
		}
		if then.Finish(id); n == w.Room.Before {
			if s.Spec(id).Name != w.Room.Job || !wants() {
				t.Fatalf("job %d has no room when %s ends, the %d-th: %+v", w.Job, s.Spec(id).Name, n+1, w.Room)
			}
			return
		}
	}
	t.Fatalf("job %d: %d jobs never end before", w.Job, w.Room.Before)
}

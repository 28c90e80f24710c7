package elastic_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines/elastic"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// BenchmarkLyraDecision measures a decision on 1,000 servers of 8 GPUs with 300 running elastic jobs and 5,000 waiting jobs. In
// "busy" the elastic jobs have their base and 8 GPUs are free, as after the end of a job. In "reshuffle" they have all that they
// can use, and shrink for the waiting jobs. In "idle" no job waits, and they grow. In "empty" nothing runs yet.
func BenchmarkLyraDecision(b *testing.B) {
	for _, c := range []struct {
		name            string
		queued, running int
		fill            int // GPUs in use
		full            bool
	}{
		{"busy", 5000, 300, 7992, false}, {"reshuffle", 5000, 300, 8000, true}, {"idle", 0, 300, 6000, false},
		{"empty", 5000, 0, 0, false},
	} {
		for _, gather := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/gather=%v", c.name, gather), func(b *testing.B) {
				s := contended(b, c.queued, c.running, c.fill, c.full)
				cfg := elastic.Literal()
				cfg.Gather = gather
				sched := elastic.New("lyra", elastic.NewLyra(), cfg)
				must.Do(b, sched.Reset(1))
				events, ops := s.Introduce(), 0
				b.ReportAllocs()
				for b.Loop() {
					tx := s.Begin(events)
					must.Do(b, sched.Schedule(tx))
					ops = len(tx.Ops())
					tx.Rollback(0)
					tx.End()
				}
				b.ReportMetric(float64(ops), "ops")
			})
		}
	}
}

// contended returns a cluster with running elastic and rigid jobs, and with waiting jobs.
func contended(b *testing.B, queued, running, fill int, full bool) *cluster.State {
	b.Helper()
	const gpus = 8
	s := must.Get(cluster.NewState(cluster.Uniform(1000, gpus), queued+running+8000))(b)
	r := rand.New(rand.NewPCG(1, 2))
	next := cluster.JobID(0)
	submit := func(workers int32, stretch bool) *cluster.JobSpec {
		spec := &cluster.JobSpec{
			Name: fmt.Sprint(next), Workers: workers, Estimate: time.Duration(1+r.IntN(1e5)) * time.Second,
			Submit: time.Duration(next), Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		}
		if stretch {
			spec.MinWorkers, spec.MaxWorkers = workers/2, workers*2
		}
		s.Submit(next, spec)
		next++
		return spec
	}
	tx := s.Begin(nil)
	used, at, room := 0, 0, int32(gpus)
	place := func(id cluster.JobID, workers int32, request cluster.Amount) {
		var p cluster.Placement
		for left := workers; left > 0; {
			n := min(left, room)
			p = append(p, cluster.Piece{Server: cluster.ServerID(at), Workers: n, Amount: request})
			left, room = left-n, room-n
			if room == 0 {
				at, room = at+1, gpus
			}
		}
		must.Do(b, tx.Place(id, p))
		used += int(workers)
	}
	for range running {
		spec := submit(2+2*r.Int32N(4), true)
		n := spec.Least()
		if full {
			n = spec.Most()
		}
		place(next-1, n, spec.Request)
	}
	for used < fill {
		n := min(1+r.Int32N(8), int32(fill-used))
		spec := submit(n, false)
		place(next-1, n, spec.Request)
	}
	tx.End()
	for range queued {
		if r.IntN(20) == 0 {
			submit(8, true)
		} else {
			submit([]int32{1, 1, 1, 2, 4, 8, 8, 16}[r.IntN(8)], false)
		}
	}
	return s
}

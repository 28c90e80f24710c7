package placement

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// TestEnds checks the results of ends against their definition, after a refresh and when updated as jobs start.
func TestEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers, gpus := rapid.IntRange(1, 5).Draw(t, "servers"), rapid.IntRange(1, 4).Draw(t, "GPUs")
		const jobs = 12
		s := must.Get(cluster.NewState(cluster.Uniform(servers, gpus), jobs))(t)
		tx := s.Begin(nil)
		var e ends
		from := cluster.JobID(rapid.IntRange(0, jobs).Draw(t, "from"))
		for id := range cluster.JobID(jobs) {
			if id == from {
				e.refresh(&s.View)
			}
			s.Submit(id, &cluster.JobSpec{
				Workers: rapid.Int32Range(1, 6).Draw(t, "workers"), Estimate: time.Duration(rapid.IntRange(0, 9).Draw(t, "estimate")) * time.Second,
				Request: cluster.Amount{GPUMilli: rapid.SampledFrom([]int32{1000, 500, 500}).Draw(t, "milli")},
			})
			p, fits := s.BestFit(id, nil)
			if !fits {
				continue
			}
			must.Do(t, tx.Place(id, p))
			if id >= from {
				e.started(&s.View, p)
			}
		}
		if from == jobs {
			e.refresh(&s.View)
		}
		for n := int32(1); n <= int32(servers*gpus); n++ {
			if got, want := e.wait(&s.View, n), plainWait(s, n); got != want {
				t.Fatalf("%d GPUs are free in %v s, want %v", n, got, want)
			}
		}
	})
}

// plainWait tries every instant at which a job ends.
func plainWait(s *cluster.State, n int32) float64 {
	times := []float64{0}
	for _, id := range s.Running() {
		times = append(times, s.Spec(id).Estimate.Seconds())
	}
	slices.Sort(times)
	for _, at := range times {
		whole, rest, most := int32(0), false, int32(0)
		for i := range s.Servers() {
			free := freeAt(s, cluster.ServerID(i), at)
			most = s.Server(cluster.ServerID(i)).GPUs
			if free == most {
				whole++
			}
			rest = rest || free >= n%most && free < most
		}
		if need := n / most; whole > need || whole == need && (rest || n%most == 0) {
			return at
		}
	}
	return math.Inf(1)
}

// freeAt returns the number of a server's GPUs that no job will hold after the instant at.
func freeAt(s *cluster.State, id cluster.ServerID, at float64) (n int32) {
	for g := range s.Server(id).GPUs {
		free := true
		for _, job := range s.Residents(id) {
			left := s.Spec(job).Estimate.Seconds()
			free = free && (!slices.Contains(s.GPUsOn(job, id), g) || left > 0 && left <= at)
		}
		if free {
			n++
		}
	}
	return n
}

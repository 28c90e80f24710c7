// Package workers_test simulates how far a learner and its workers go.
package workers_test

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// costs are what a unit costs besides its computation. docs/scale.md names the benchmarks that measured them.
type costs struct {
	broker  time.Duration // CPU time of the broker and the pool for a unit: BenchmarkSleepers
	take    time.Duration // CPU time of the learner for checking and storing an answer: BenchmarkTake
	network time.Duration // until a message has arrived; a unit waits for four messages, one after another
	cores   int           // of the learner's machine
}

// measured are the costs on the machine of docs/scale.md, with answers of 0.4 MB.
var measured = costs{broker: 540 * time.Microsecond, take: 4700 * time.Microsecond, network: 500 * time.Microsecond, cores: 2}

// simulated is the result of a simulation.
type simulated struct {
	efficiency float64 // time that workers computed, divided by their time until the last answer
	busy       float64 // fraction of the learner's cores that are busy
}

// simulate simulates workers that pull units, compute each for about the time mean, and send answers. The learner's cores serve
// pulls and answers in the order in which they arrive. A worker whose answer is not stored yet waits, as Worker does.
func simulate(workers, units int, mean time.Duration, c costs, draw *rand.Rand) simulated {
	cores := make([]time.Duration, c.cores) // when each core is free
	var spent time.Duration
	serve := func(at, cost time.Duration) time.Duration {
		first := 0
		for i := range cores {
			if cores[i] < cores[first] {
				first = i
			}
		}
		cores[first] = max(at, cores[first]) + cost
		spent += cost
		return cores[first]
	}
	queue := make(events, 0, workers) // when something of each worker arrives at the learner
	for range workers {
		queue = append(queue, event{at: c.network})
	}
	var computed, end time.Duration
	for given := 0; len(queue) > 0; {
		e := &queue[0]
		if e.answer {
			stored := serve(e.at, c.broker/2+c.take)
			end = max(end, stored)
			*e = event{at: stored + 2*c.network} // the worker hears of it, and pulls
		} else if given < units {
			given++
			took := time.Duration(float64(mean) * (0.5 + draw.Float64()))
			computed += took
			*e = event{at: serve(e.at, c.broker/2) + c.network + took + c.network, answer: true}
		} else {
			heap.Pop(&queue)
			continue
		}
		heap.Fix(&queue, 0)
	}
	return simulated{
		efficiency: computed.Seconds() / (float64(workers) * end.Seconds()),
		busy:       spent.Seconds() / (float64(c.cores) * end.Seconds()),
	}
}

type event struct {
	at     time.Duration
	answer bool
}

type events []event

func (q events) Len() int           { return len(q) }
func (q events) Less(i, j int) bool { return q[i].at < q[j].at }
func (q events) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)        { *q = append(*q, x.(event)) }
func (q *events) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

var scaleUnits = flag.Int("units", 100_000, "how many units TestSimulatedWorkers simulates")

// TestSimulatedWorkers simulates a learner with up to 4,096 workers, at the costs measured, and writes a table.
func TestSimulatedWorkers(t *testing.T) {
	light := measured
	light.take = 0 // what giving out units alone would allow
	draw := rand.New(rand.NewPCG(1, 2))
	table := "\n| workers | unit | giving out alone | with answers of 0.4 MB | busy |\n|---|---|---|---|---|\n"
	for _, workers := range []int{16, 64, 256, 1000, 4096} {
		for _, mean := range []time.Duration{time.Second, 10 * time.Second} {
			units := max(*scaleUnits, 20*workers)
			alone, whole := simulate(workers, units, mean, light, draw), simulate(workers, units, mean, measured, draw)
			table += fmt.Sprintf("| %d | %v | %.1f %% | %.1f %% | %.0f %% |\n",
				workers, mean, 100*alone.efficiency, 100*whole.efficiency, 100*whole.busy)
			if workers == 1000 && alone.efficiency < 0.9 {
				t.Errorf("1,000 workers with units of %v: %.3f efficient, want 0.9", mean, alone.efficiency)
			}
			if workers == 64 && whole.efficiency < 0.8 || workers == 16 && whole.efficiency < 0.9 {
				t.Errorf("%d workers with units of %v: %.3f efficient", workers, mean, whole.efficiency)
			}
		}
	}
	t.Log(table)
}

// TestTheSimulationAgreesWithArithmetic checks cases whose results are known.
func TestTheSimulationAgreesWithArithmetic(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	if s := simulate(10, 10_000, time.Second, costs{cores: 1}, draw); s.efficiency < 0.995 || s.efficiency > 1 {
		t.Errorf("without costs: efficiency %v", s.efficiency)
	}
	// 100 workers with units of 1 s want 100 units a second; the learner takes 20 a second.
	if s := simulate(100, 10_000, time.Second, costs{take: 50 * time.Millisecond, cores: 1}, draw); s.efficiency < 0.19 || s.efficiency > 0.21 {
		t.Errorf("a learner that is too slow: efficiency %v, want 0.2", s.efficiency)
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// policy         mean JCT mean queueing       p99 JCT   mean JCT against fifo
	// fifo             12.3 h         9.6 h        55.3 h   -
	// sjfskip           3.6 h         0.9 h        50.0 h   -39 % [-60, -20]
	// backfill          4.1 h         1.5 h        52.6 h   -37 % [-57, -19]
}

// Jobs start out of turn only where the first that waits still starts as promised.
func TestBackfillKeepsItsPromise(t *testing.T) {
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	job := func(name string, submit, workers, length int) trace.Job {
		return trace.Job{
			JobSpec: cluster.JobSpec{
				Name: name, Submit: second(submit), Workers: int32(workers), Estimate: second(length),
				Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
			},
			Work: second(length),
		}
	}
	for _, c := range []struct {
		name string
		job  trace.Job // comes while a holds 5 of 8 GPUs until 100 s, and b waits for 6
		want int       // when it starts
	}{
		{"one that ends before the promise is due", job("c", 2, 3, 98), 2},
		{"one that would end after it", job("c", 2, 3, 99), 150},
		{"one that lasts, on GPUs beside the promise", job("c", 2, 2, 1000), 2},
		{"one that does not fit now", job("c", 2, 4, 10), 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			jobs := []trace.Job{job("a", 0, 5, 100), job("b", 1, 6, 50), c.job}
			episode, err := sim.New(sim.Config{Cluster: cluster.Uniform(2, 4)}, jobs)
			if err != nil {
				t.Fatal(err)
			}
			if err := episode.Run(t.Context(), &Backfill{}, 1); err != nil {
				t.Fatal(err)
			}
			rows := eval.Rows(episode.Log())
			if got := rows[1].Start; got != second(100) {
				t.Errorf("b starts at %v, promised 100s", got)
			}
			if got := rows[2].Start; got != second(c.want) {
				t.Errorf("c starts at %v, want %v", got, second(c.want))
			}
		})
	}
}

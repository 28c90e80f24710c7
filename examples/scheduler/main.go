// Command scheduler is a scheduler of one's own, compared with two that come with clustergym on the same arrivals.
//
//	go run ./scheduler
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scheduler:", err)
		os.Exit(1)
	}
}

// run plays every test window of a built-in scenario under fifo, sjfskip and Backfill.
func run(ctx context.Context, w io.Writer) error {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	policies := []eval.Policy{
		baseline("fifo"),
		baseline("sjfskip"),
		{Name: "backfill", New: func() (cluster.Scheduler, error) { return &Backfill{}, nil }},
	}
	plan, err := eval.NewPlan(src, scenario.Test, nil, policies)
	if err != nil {
		return err
	}
	plan.Suites[0].Seeds = []uint64{1} // none of these draws
	results, err := eval.Run(ctx, plan, nil)
	if err != nil {
		return err
	}
	comparison, err := eval.Compare(results, "fifo")
	if err != nil {
		return err
	}
	return show(w, &comparison)
}

func baseline(name string) eval.Policy {
	return eval.Policy{Name: name, New: func() (cluster.Scheduler, error) { return baselines.New(name) }}
}

// show prints means over windows, and the paired difference from fifo with its 95 % interval.
func show(w io.Writer, c *eval.Comparison) error {
	fmt.Fprintf(w, "%-9s %13s %13s %13s   %s\n", "policy", "mean JCT", "mean queueing", "p99 JCT", "mean JCT against fifo")
	for i := range c.Policies {
		p := &c.Policies[i]
		hours := func(key string) float64 { return float64(metric(p, key).Mean) / 3600 }
		against := "-"
		if d := metric(p, "mean_jct_s").Relative; d != nil {
			against = fmt.Sprintf("%+.0f %% [%+.0f, %+.0f]", d.Mean, d.Lo, d.Hi)
		}
		_, err := fmt.Fprintf(w, "%-9s %11.1f h %11.1f h %11.1f h   %s\n",
			p.Policy, hours("mean_jct_s"), hours("mean_queueing_s"), hours("p99_jct_s"), against)
		if err != nil {
			return err
		}
	}
	return nil
}

func metric(p *eval.Summary, key string) eval.Metric {
	for _, m := range p.Metrics {
		if m.Key == key {
			return m
		}
	}
	panic("scheduler: no metric " + key)
}

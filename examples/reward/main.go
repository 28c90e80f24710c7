// Command reward shows how to score episodes by something else than completion times. It plays the same episodes under the
// usual reward and under its own, and tells which jobs each of the two is about.
//
//	go run ./reward
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/examples/greedy"
)

const (
	floor = 10 * time.Second // of the slowdown
	short = 10 * time.Minute // a short job takes less
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reward:", err)
		os.Exit(1)
	}
}

// run plays all test windows of a built-in scenario, each under two orders of jobs and two rewards.
func run(w io.Writer) error {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-17s %-16s %14s %14s   %s\n", "reward", "order", "sum of rewards", "by the log", "of short jobs")
	for _, reward := range []env.Reward{env.Flow{}, Slowdown{Floor: floor}} {
		for _, o := range orders() {
			t, err := play(src, reward, o.score)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "%-17s %-16s %14.0f %14.0f   %.0f %%\n",
				reward.Name(), o.name, t.rewards, -t.log, 100*t.short/t.log)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

type order struct {
	name  string
	score func(ts *env.TimeStep, k int) float64
}

// orders are preferences among waiting jobs that fit.
func orders() []order {
	return []order{
		{"longest waiting", func(ts *env.TimeStep, k int) float64 { return -ts.State.Spec(ts.Window[k]).Submit.Seconds() }},
		{"shortest first", func(ts *env.TimeStep, k int) float64 { return -ts.State.Spec(ts.Window[k]).Estimate.Seconds() }},
	}
}

// totals are sums over all episodes: of the rewards, and of what the event log says that they should be.
type totals struct{ rewards, log, short float64 }

func play(src *scenario.Source, reward env.Reward, score func(*env.TimeStep, int) float64) (totals, error) {
	var t totals
	e, err := newEnv(src, reward)
	if err != nil {
		return t, err
	}
	defer e.Close()
	p := greedy.Player{Score: score}
	for i := range src.Count(scenario.Test) {
		sum, err := p.Episode(e, uint64(i))
		if err != nil {
			return t, err
		}
		t.rewards += sum
		for _, row := range eval.Rows(e.Log()) {
			cost := row.JCT().Hours()
			if _, own := reward.(Slowdown); own {
				cost = row.JCT().Seconds() / max(row.Work, floor).Seconds()
			}
			t.log += cost
			if row.Work < short {
				t.short += cost
			}
		}
	}
	return t, nil
}

// newEnv returns an environment whose seeds are the test windows of the scenario.
func newEnv(src *scenario.Source, reward env.Reward) (*env.Cluster, error) {
	cfg, err := src.Scenario().SimConfig()
	if err != nil {
		return nil, err
	}
	return env.New(env.Config{
		Sim:        cfg,
		Reward:     reward,
		SkipForced: true,
		Episode: func(seed uint64) (sim.Episode, error) {
			e, err := src.Episode(scenario.Test, int(seed), seed)
			return e.Episode, err
		},
	})
}

// Command reward shows how to score episodes by something else than completion times. It plays the same episodes under the
// usual reward and under its own, and tells which jobs each of the two is about.
//
//	go run ./reward
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
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

// run plays all test windows of a built-in scenario, each by two priors and under two rewards.
func run(w io.Writer) error {
	s, err := scenario.Load("embedded-small-v1")
	if err != nil {
		return err
	}
	src, err := s.Open()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-17s %-8s %14s %14s   %-13s   %s\n", "reward", "prior", "sum of rewards", "by the log", "of short jobs", "by agent")
	for _, reward := range []env.Reward{env.Flow{}, Slowdown{Floor: floor}} {
		for _, prior := range []string{"fifo", "sjfskip"} {
			t, err := play(src, reward, prior)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "%-17s %-8s %14.0f %14.0f   %11.0f %%   %s\n",
				reward.Name(), prior, t.rewards, -t.log, 100*t.short/t.log, t.spread())
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// totals are sums over all episodes: of the rewards, and of what the event log says that they should be.
type totals struct {
	rewards, log, short float64
	agents              []float64 // what each agent was given
}

// spread says how much the agents were given that got least and most, where they do not all get the same.
func (t *totals) spread() string {
	if low, high := slices.Min(t.agents), slices.Max(t.agents); low < high {
		return fmt.Sprintf("%.0f to %.0f", low, high)
	}
	return "all alike"
}

func play(src *scenario.Source, reward env.Reward, prior string) (totals, error) {
	var t totals
	c, err := newEnv(src, reward, prior)
	if err != nil {
		return t, err
	}
	e := env.NewStatistics(c)
	defer e.Close()
	t.agents = make([]float64, e.Spec().Agents)
	p := greedy.Player{Score: greedy.Prior}
	for i := range src.Count(scenario.Test) {
		sum, err := p.Episode(e, uint64(i))
		if err != nil {
			return t, err
		}
		t.rewards += sum
		last, _ := e.Last()
		for k, x := range last.Returns {
			t.agents[k] += x
		}
		for _, row := range eval.Rows(c.Log()) {
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
func newEnv(src *scenario.Source, reward env.Reward, prior string) (*env.Cluster, error) {
	cfg, err := src.Scenario().SimConfig()
	if err != nil {
		return nil, err
	}
	g, err := greedy.Game(prior, nil)
	if err != nil {
		return nil, err
	}
	return env.New(env.Config{
		Sim:    cfg,
		Game:   g,
		Reward: reward,
		Episode: func(seed uint64) (sim.Episode, error) {
			e, err := src.Episode(scenario.Test, int(seed), seed)
			return e.Episode, err
		},
	})
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/toy"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

type demoOptions struct {
	Dir     string `flag:"dir" default:"runs/demo" help:"folder for all files; it must not contain a demonstration already"`
	Updates int    `flag:"updates" default:"20" help:"how many updates to train"`
	Seed    uint64 `flag:"seed" default:"1" help:"seed of the workload and of training"`
	Cores   int    `flag:"cores" help:"cores to use, 0 for all; does not change the result"`
}

// What the demonstration plays. demoScenario reads the trace beside its file.
const (
	demoEpisodes = 400
	demoScenario = `name: wait-or-start-v1
about: a toy with a known optimum, three jobs on two servers of one GPU each
real: [nothing]
assumed: [a restart takes two hours, so that stopping a job never pays]
cluster: {servers: 2, gpus_per_server: 1}
workload: {trace: wait-or-start.csv}
window: {arrivals: 3, train: [0, 0.5], validation: [0.5, 0.7], test: [0.7, 1]}
preempt_overhead: 2h
migrate_overhead: 2h
resize_overhead: 2h
seeds: [1]
`
)

// demoSets are settings with which a small team learns the toy within seconds.
var demoSets = []string{
	"train.prior=sjfskip", "train.label=1", "train.windows=20", "train.epochs=4", "train.rate=0.01", "train.margin=0.1",
	"train.validation=80", "train.window=4", "train.tail=backlog", "train.memory=6h",
}

func newDemoCmd(a *app) *cobra.Command {
	return newCommand(a, &demoOptions{}, &cobra.Command{
		Use:   "demo",
		Short: "Train a team on a toy whose best schedule is known",
		Long: cmdline.Long(`
Writes a toy workload and its scenario, trains a small team on it within seconds, and prints how far the team and two
heuristics are from the best schedule on test windows.

In each window a job holds one of two GPUs. A minute later a gang that needs both GPUs and a single worker arrive. The single
worker can start at once, which may delay the gang, or wait until the gang has run. Which is better depends on the run times
of all three, which schedulers are told. sjfskip, the team's prior, always starts it, fifo always makes it wait, and so each
is wrong in some windows. The team learns from labels: what each choice costs in the end. Stopping a job never pays, because a
restart takes two hours.

The folder --dir gets wait-or-start.csv, toy.yaml, the run and a report. toy.yaml is a scenario like any other,
and the last line that the command prints plays it by hand.`),
		Example: `  clustergym demo
  clustergym demo --seed 2 --dir runs/demo-2`,
	}, runDemo)
}

// demonstrated is the result of demo.
type demonstrated struct {
	Scenario string    `json:"scenario"`
	Run      string    `json:"run"`
	Report   string    `json:"report"`
	Windows  int       `json:"windows"`
	Rows     []demoRow `json:"policies"`
}

// demoRow is a policy beside the optimum.
type demoRow struct {
	Policy string  `json:"policy"`
	Mean   float64 `json:"mean_jct_s"`
	Above  float64 `json:"above_optimum"`      // relative
	Best   int     `json:"windows_at_optimum"` // to a microsecond
}

func runDemo(ctx context.Context, a *app, opts *demoOptions, _ []string) error {
	if _, err := os.Lstat(filepath.Join(opts.Dir, "toy.yaml")); err == nil {
		return cmdline.Usage("--dir %s: it contains a demonstration already, name another folder", opts.Dir)
	}
	episodes := toy.Draw(opts.Seed, demoEpisodes)
	at := func(name string) string { return filepath.Join(opts.Dir, name) }
	if err := os.MkdirAll(opts.Dir, 0o777); err != nil {
		return fmt.Errorf("write the toy: %w", err)
	}
	err := a.Write(at("wait-or-start.csv"), func(w io.Writer) error { return toy.WriteCSV(w, episodes) })
	if err == nil {
		err = a.Write(at("toy.yaml"), func(w io.Writer) error { return text(w, demoScenario) })
	}
	if err != nil {
		return err
	}
	sets := append([]string{
		"train.seed=" + strconv.FormatUint(opts.Seed, 10), "train.updates=" + strconv.Itoa(opts.Updates),
	}, demoSets...)
	result := demonstrated{Scenario: at("toy.yaml"), Run: at("team")}
	words := []string{"train", "--scenario", result.Scenario}
	for _, set := range sets {
		words = append(words, "--set", set)
	}
	a.Say("1/2 train: %s", next(append(words, "--dir", result.Run)...))
	trained, err := trainRun(ctx, a, &trainOptions{
		Scenario: result.Scenario, Sets: sets, Dir: result.Run, Cores: opts.Cores,
	})
	if err != nil {
		return err
	}
	if trained.Stopped {
		return cmdline.Fail(cmdline.CodeInterrupted, fmt.Errorf("stopped after update %d of %d", trained.Updates, opts.Updates))
	}
	policies := []string{"fifo", "sjfskip", result.Run}
	a.Say("\n2/2 compare: %s", next("eval", "--scenario", result.Scenario, "--policies", strings.Join(policies, ",")))
	compared, err := evaluate(ctx, a, &evalOptions{
		Scenarios: []string{result.Scenario}, Policies: policies, Baseline: "sjfskip", Split: string(scenario.Test),
		Cores: opts.Cores, Out: at("report"), Figures: []string{noFigures},
	})
	if err != nil {
		return err
	}
	result.Report = compared.Report
	result.measure(compared.results, episodes)
	return errors.Join(a.PrintOr(result, func() error { return result.print(a) }), compared.verdict())
}

// measure compares results, in the order of windows for each policy, with the optimum of the episodes, of which the test windows
// are the last.
func (d *demonstrated) measure(results []eval.Result, episodes []toy.Episode) {
	d.Rows = []demoRow{{Policy: "the optimum"}}
	var order []string
	by := map[string][]eval.Result{}
	for _, r := range results {
		if by[r.Policy] == nil {
			order = append(order, r.Policy)
		}
		by[r.Policy] = append(by[r.Policy], r)
	}
	for _, name := range order {
		row := demoRow{Policy: name}
		d.Windows = len(by[name])
		best := 0.0
		for i, e := range episodes[len(episodes)-d.Windows:] {
			optimum, jct := e.Best().Seconds(), by[name][i].MeanJCT
			best += optimum / float64(d.Windows)
			if row.Mean += jct / float64(d.Windows); jct <= optimum+time.Microsecond.Seconds() {
				row.Best++
			}
		}
		row.Above = row.Mean/best - 1
		d.Rows[0].Mean, d.Rows[0].Best = best, d.Windows
		d.Rows = append(d.Rows, row)
	}
}

func (d *demonstrated) print(a *app) error {
	rows := [][]string{{"policy", "mean JCT", "above the optimum", "windows at the optimum"}}
	for _, r := range d.Rows {
		rows = append(rows, []string{
			r.Policy, phrase.Seconds(r.Mean), fmt.Sprintf("%.1f %%", 100*r.Above), fmt.Sprintf("%d of %d", r.Best, d.Windows),
		})
	}
	if err := a.PrintRows(rows); err != nil {
		return err
	}
	a.Printf("\nreport: %s\nplay:   %s\n", d.Report, next("env", "play", "-s", d.Scenario, "--policy", d.Run))
	return nil
}

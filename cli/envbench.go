package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvBenchCmd(a *app) *cobra.Command {
	var opts envOptions
	var steps int
	cmd := &cobra.Command{
		Use:   "bench --scenario S",
		Short: "Measure how many steps an environment performs per CPU second",
		Long: cmdline.Long(`
Plays episodes under random legal actions, drawn beforehand, and prints how many steps the environment performs per second of
CPU time, with all candidates, observations and masks. A step is one round. To measure one core, set GOMAXPROCS=1.`),
		Example: "  clustergym env bench --scenario venus-contended-v1 --set cluster.servers=64 --window 48 --steps 50000",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runEnvBench(a, opts, steps) },
	}
	opts.addFlags(cmd)
	cmd.Flags().IntVar(&steps, "steps", 20000, "how many steps to play")
	cmdline.Require(cmd, "scenario")
	return cmd
}

// envSpeed is the result of env bench.
type envSpeed struct {
	Environment string `json:"environment"`
	Agents      int    `json:"agents"`
	Window      int    `json:"window"`
	Prior       string `json:"prior"`
	envtest.Speed
	DecisionsPerCPU float64 `json:"agent_decisions_per_cpu_s"`
}

func runEnvBench(a *app, opts envOptions, steps int) error {
	if steps < 1 {
		return cmdline.Usage("--steps %d: want at least 1", steps)
	}
	spec, err := opts.shape()
	if err != nil {
		return err
	}
	create, err := opts.maker()
	if err != nil {
		return err
	}
	speed, err := envtest.Bench(create, opts.seed, steps, cmdline.CPUTime)
	if err != nil {
		return err
	}
	r := envSpeed{opts.scenario.Name, spec.Agents, spec.Window, opts.prior, speed, speed.StepsPerCPU * float64(spec.Agents)}
	if a.JSON {
		return a.PrintJSON(r)
	}
	return a.PrintRows([][]string{
		{"environment", fmt.Sprintf("%s, %d agents, window of %d jobs, prior %s", r.Environment, r.Agents, r.Window, r.Prior)},
		{"steps", fmt.Sprintf("%d in %d episodes", r.Steps, r.Episodes)},
		{"a mean step", fmt.Sprintf("%.1f jobs wait, %.1f are shown, %.1f candidates, %.1f numbers that agents may name beside 0",
			r.PendingMean, r.JobsMean, r.ChoicesMean, r.LegalMean)},
		{"speed", fmt.Sprintf("%.0f steps a CPU second, %.0f agent decisions", r.StepsPerCPU, r.DecisionsPerCPU)},
		{"CPU time", fmt.Sprintf("%.3g s in steps, %.3g s in resets", r.StepCPU, r.ResetCPU)},
	})
}

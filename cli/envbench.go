package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/internal/cmdline"
)

type envBenchOptions struct {
	episodeOptions
	Steps int `flag:"steps" default:"20000" min:"1" help:"how many steps to play"`
}

func newEnvBenchCmd(a *app) *cobra.Command {
	return newCommand(a, &envBenchOptions{}, &cobra.Command{
		Use:   "bench --scenario S",
		Short: "Measure how many steps an environment performs per CPU second",
		Long: cmdline.Long(`
Plays episodes under random legal actions, drawn beforehand, and prints how many steps the environment performs per second of
CPU time, with all candidates, observations and masks. A step is one round. To measure one core, set GOMAXPROCS=1.`),
		Example: "  clustergym env bench --scenario venus-contended-v1 --set cluster.servers=64 --window 48 --steps 50000",
	}, runEnvBench)
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

func runEnvBench(_ context.Context, a *app, o *envBenchOptions, _ []string) error {
	create, err := o.maker()
	if err != nil {
		return err
	}
	e, err := create()
	if err != nil {
		return err
	}
	spec := e.Spec()
	if err := e.Close(); err != nil {
		return err
	}
	speed, err := envtest.Bench(create, o.Seed, o.Steps, cmdline.CPUTime)
	if err != nil {
		return err
	}
	r := envSpeed{o.Scenario.Name, spec.Agents, spec.Window, o.Prior, speed, speed.StepsPerCPU * float64(spec.Agents)}
	return a.Print(r, [][]string{
		{"environment", fmt.Sprintf("%s, %d agents, window of %d jobs, prior %s", r.Environment, r.Agents, r.Window, r.Prior)},
		{"steps", fmt.Sprintf("%d in %d episodes", r.Steps, r.Episodes)},
		{"a mean step", fmt.Sprintf("%.1f jobs wait, %.1f are shown, %.1f candidates, %.1f numbers that agents may name beside 0",
			r.PendingMean, r.JobsMean, r.ChoicesMean, r.LegalMean)},
		{"speed", fmt.Sprintf("%.0f steps a CPU second, %.0f agent decisions", r.StepsPerCPU, r.DecisionsPerCPU)},
		{"CPU time", fmt.Sprintf("%.3g s in steps, %.3g s in resets", r.StepCPU, r.ResetCPU)},
	})
}

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/internal/cmdline"
)

type envCheckOptions struct {
	episodeOptions
	Steps int `flag:"steps" min:"0" help:"measure the speed over this many steps instead"`
}

func newEnvCheckCmd(a *app) *cobra.Command {
	return newCommand(a, &envCheckOptions{}, &cobra.Command{
		Use:   "check --scenario S",
		Short: "Check that an environment fulfils its contract, or measure its speed",
		Long: cmdline.Long(`
Plays an episode under random legal actions, several times, and checks the contract of an environment: shapes, ranges, coalitions,
masks, agreement, the prior's schedule, determinism, conservation, time, rewards and ends. Fails if any check does.

With --steps it plays so many steps under random legal actions, drawn beforehand, and prints how many the environment performs per
second of CPU time, with all candidates, observations and masks. A step is one round. To measure one core, set GOMAXPROCS=1.`,
			cmdline.CodeSomeFailed),
		Example: "  clustergym env check --scenario embedded-small-v1\n" +
			"  clustergym env check --scenario venus-contended-v1 --set cluster.servers=64 --window 48 --steps 50000",
	}, runEnvCheck)
}

// envChecked is the result of env check.
type envChecked struct {
	Environment string           `json:"environment"`
	Seed        uint64           `json:"seed"`
	Checks      []envtest.Result `json:"checks"`
}

func runEnvCheck(_ context.Context, a *app, o *envCheckOptions, _ []string) error {
	create, err := o.maker()
	if err != nil {
		return err
	}
	if o.Steps > 0 {
		return o.measure(a, create)
	}
	all := []envChecked{{o.Scenario.Name, o.Seed, envtest.Report(create, o.Seed)}}
	failed := 0
	rows := [][]string{{"check", "status", "what"}}
	for _, r := range all[0].Checks {
		text := r.About
		if r.Status != envtest.Passed {
			text += ": " + r.Detail
		}
		if r.Status == envtest.Failed {
			failed++
		}
		rows = append(rows, []string{r.Name, r.Status, text})
	}
	if err := a.Print(all, rows); err != nil {
		return err
	}
	if failed > 0 {
		return cmdline.Fail(cmdline.CodeSomeFailed, fmt.Errorf("%d checks failed", failed))
	}
	return nil
}

// envSpeed is the speed of an environment.
type envSpeed struct {
	Environment string `json:"environment"`
	Agents      int    `json:"agents"`
	Window      int    `json:"window"`
	Prior       string `json:"prior"`
	envtest.Speed
	DecisionsPerCPU float64 `json:"agent_decisions_per_cpu_s"`
}

// measure prints the speed of environments.
func (o *envCheckOptions) measure(a *app, create envtest.Make) error {
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

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvCheckCmd(a *app) *cobra.Command {
	var opts envOptions
	var toys bool
	cmd := &cobra.Command{
		Use:   "check --scenario S",
		Short: "Check that an environment fulfils its contract",
		Long: cmdline.Long(`
Plays an episode under random legal actions, several times, and checks the contract of an environment: shapes, ranges, coalitions,
masks, agreement, the prior's schedule, determinism, conservation, time, rewards and ends. Fails if any check does.`,
			cmdline.CodeSomeFailed),
		Example: "  clustergym env check --scenario embedded-small-v1\n  clustergym env check --toys",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runEnvCheck(a, opts, toys) },
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&toys, "toys", false, "check the toy environments, whose optimum is known")
	cmd.MarkFlagsOneRequired("scenario", "toys")
	return cmd
}

// envChecked is the result of env check for one environment.
type envChecked struct {
	Environment string           `json:"environment"`
	Seed        uint64           `json:"seed"`
	Checks      []envtest.Result `json:"checks"`
}

func runEnvCheck(a *app, opts envOptions, toys bool) error {
	var all []envChecked
	if opts.scenario.Name != "" {
		create, err := opts.maker()
		if err != nil {
			return err
		}
		all = append(all, envChecked{opts.scenario.Name, opts.seed, envtest.Report(create, opts.seed)})
	}
	if toys {
		for _, t := range envtest.Toys() {
			all = append(all, envChecked{t.Name, opts.seed, envtest.Report(t.Make, opts.seed)})
		}
	}
	failed := 0
	rows := [][]string{{"environment", "check", "status", "what"}}
	for _, e := range all {
		for _, r := range e.Checks {
			text := r.About
			if r.Status != envtest.Passed {
				text += ": " + r.Detail
			}
			if r.Status == envtest.Failed {
				failed++
			}
			rows = append(rows, []string{e.Environment, r.Name, r.Status, text})
		}
	}
	print := func() error { return a.PrintRows(rows) }
	if a.JSON {
		print = func() error { return a.PrintJSON(all) }
	}
	if err := print(); err != nil {
		return err
	}
	if failed > 0 {
		return cmdline.Fail(cmdline.CodeSomeFailed, fmt.Errorf("%d checks failed", failed))
	}
	return nil
}

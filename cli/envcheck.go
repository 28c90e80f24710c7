package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvCheckCmd(a *app) *cobra.Command {
	return newCommand(a, &episodeOptions{}, &cobra.Command{
		Use:   "check --scenario S",
		Short: "Check that an environment fulfils its contract",
		Long: cmdline.Long(`
Plays an episode under random legal actions, several times, and checks the contract of an environment: shapes, ranges, coalitions,
masks, agreement, the prior's schedule, determinism, conservation, time, rewards and ends. Fails if any check does.`,
			cmdline.CodeSomeFailed),
		Example: "  clustergym env check --scenario embedded-small-v1",
	}, runEnvCheck)
}

// envChecked is the result of env check.
type envChecked struct {
	Environment string           `json:"environment"`
	Seed        uint64           `json:"seed"`
	Checks      []envtest.Result `json:"checks"`
}

func runEnvCheck(_ context.Context, a *app, o *episodeOptions, _ []string) error {
	create, err := o.maker()
	if err != nil {
		return err
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

package cli

import (
	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/studies/fit"
)

func newPhysicsCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("physics", "Fit the parameters of the performance model",
		`The performance model (physics) computes how fast a job runs where it is placed. studies/physics-fit.md explains what is
fitted, and how well it fits.`,
		newPhysicsFitCmd(a))
}

type physicsFitOptions struct {
	profiles     string
	coefficients string
	table        string
}

func newPhysicsFitCmd(a *cmdline.App) *cobra.Command {
	var opts physicsFitOptions
	cmd := &cobra.Command{
		Use:   "fit --profiles DIR",
		Short: "Fit the parameters of the performance model to published measurements",
		Long: cmdline.Long(`
Fits the parameters for sharing, CPU and memory, and scaling to the published measurements of Gavel, Synergy and Pollux, and
prints how well they fit, as a Markdown table. DIR contains gavel/ and pollux/ as their repositories publish them;
docs/data-sources.md names these. The command takes less than a minute.`),
		Example: `  clustergym-studies physics fit --profiles ../shared/profiles
  clustergym-studies physics fit --profiles ../shared/profiles --coefficients env/physics/profile/coefficients.txt`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPhysicsFit(a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.profiles, "profiles", "", "the folder with the measurements")
	f.StringVar(&opts.coefficients, "coefficients", "", "write the coefficients, which the program embeds, to this file")
	f.StringVar(&opts.table, "table", "-", "write the table to this file; - is standard output")
	cmdline.Require(cmd, "profiles")
	return cmd
}

func runPhysicsFit(a *cmdline.App, opts physicsFitOptions) error {
	a.Say("fitting")
	r, err := fit.Run(opts.profiles)
	if err != nil {
		return err
	}
	if opts.coefficients != "" {
		if err := a.Write(opts.coefficients, r.WriteCoefficients); err != nil {
			return err
		}
	}
	if a.JSON && opts.table == "-" {
		return a.PrintJSON(r)
	}
	return a.Write(opts.table, r.WriteTable)
}

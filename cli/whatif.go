package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
)

type whatifOptions struct {
	snapshotFlags
	against string
	add     []string
	quotas  []string
	remove  []string
	top     int
	all     bool
}

func newWhatifCmd(a *app) *cobra.Command {
	var opts whatifOptions
	cmd := &cobra.Command{
		Use:   "whatif --snapshot cluster.json --policy P",
		Short: "Forecast a cluster under another policy or on other servers",
		Long: cmdline.Long(`
Plays a snapshot of a cluster to its end under a policy. Plays it again under another policy (--against), with servers added
(--add) or removed (--remove), with other quotas (--quota), or all of these together, and prints the difference, for the
cluster as a whole and for the jobs whose times change most. Without such a change it prints when each job would start and
finish. The command changes nothing in the cluster. Equal command lines print equal results.

The result is a forecast. A job ends when its estimate says. A job without an estimate needs --beliefs, from which it gets
the median of similar jobs that have ended if there are two or more, or --assume. One that has outlived its estimate is
assumed to need as long again as it has run. No more jobs are submitted, nothing more fails, and what has failed stays
failed; the number of servers that the inference pool lends stays the same. Speeds come from --physics, not from the
snapshot. A removed server fails at once: its jobs are interrupted and wait with the work that they have left. Added
servers resemble those of the snapshot with as many GPUs of that type. plan --example prints a snapshot to try, and
docs/what-if.md explains the limits.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym whatif --snapshot cluster.json --policy fifo
  clustergym whatif --snapshot cluster.json --policy fifo --against srtf --restart 60s
  clustergym whatif --snapshot cluster.json --policy sjfskip --add 2x8 --all
  clustergym whatif --snapshot cluster.json --policy sjfskip --remove server-3 --json
  clustergym whatif --snapshot cluster.json --policy sjfskip --quota team-a=16`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runWhatif(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	flags.Bind(cmd, &opts.snapshotFlags, a.words())
	f.StringVar(&opts.against, "against", "", "the policy to compare it with")
	f.StringArrayVar(&opts.quotas, "quota", nil, "quota of a tenant that has one, as TENANT=GPUS; may be given several times")
	f.StringSliceVar(&opts.add, "add", nil, "servers to add, as SERVERSxGPUS or SERVERSxGPUS:TYPE")
	f.StringSliceVar(&opts.remove, "remove", nil, "names of servers to remove at the start")
	f.IntVar(&opts.top, "top", 10, "how many jobs to print")
	f.BoolVar(&opts.all, "all", false, "print every affected job")
	cmdline.Require(cmd, "snapshot", "policy")
	cmd.MarkFlagsMutuallyExclusive("top", "all")
	cmdline.Complete(cmd, "against", a.finder().Names)
	cmd.AddCommand(newWhatifPastCmd(a))
	return cmd
}

func runWhatif(ctx context.Context, a *app, opts whatifOptions) error {
	if opts.top < 0 {
		return cmdline.Usage("--top %d: want 0 or more", opts.top)
	}
	change := whatif.Change{Remove: opts.remove}
	for _, text := range opts.add {
		servers, err := whatif.ParseServers(text)
		if err != nil {
			return cmdline.Usage("--add: %w", err)
		}
		change.Add = append(change.Add, servers)
	}
	for _, text := range opts.quotas {
		quota, err := whatif.ParseQuota(text)
		if err != nil {
			return cmdline.Usage("--quota: %w", err)
		}
		change.Quotas = append(change.Quotas, quota)
	}
	on, err := opts.open(a, a.finder())
	if err != nil {
		return err
	}
	other := on.by
	if opts.against != "" {
		if other, _, err = opts.find(a.finder(), opts.against); err != nil {
			return err
		}
	}
	first, err := whatif.Play(ctx, &on.state.View, *on.by, whatif.Change{}, on.play)
	if errors.Is(err, whatif.ErrNoEstimate) {
		return fmt.Errorf("%w: --assume 1h, or --beliefs FILE", err)
	}
	if err != nil {
		return err
	}
	var second *whatif.Outcome
	if opts.against != "" || len(opts.add)+len(opts.remove)+len(opts.quotas) > 0 {
		if second, err = whatif.Play(ctx, &on.state.View, *other, change, on.play); err != nil {
			return err
		}
	}
	result := whatif.Compare(on.state.Now(), first, second)
	if a.JSON {
		return a.PrintJSON(result)
	}
	most := opts.top
	if opts.all {
		most = -1
	}
	return result.WriteText(a.Out, most)
}

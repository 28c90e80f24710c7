package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
)

type whatifOptions struct {
	snapshot string
	policy   string
	against  string
	add      []string
	quotas   []string
	remove   []string
	physics  string
	restart  time.Duration
	assume   time.Duration
	beliefs  string
	seed     uint64
	top      int
	all      bool
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
	f.StringVar(&opts.snapshot, "snapshot", "", "file of the snapshot, see plan; - for standard input")
	f.StringVar(&opts.policy, "policy", "",
		"the policy: a baseline (see baselines), released, or the folder of an exported policy or run")
	f.StringVar(&opts.against, "against", "", "the policy to compare it with")
	f.StringArrayVar(&opts.quotas, "quota", nil, "quota of a tenant that has one, as TENANT=GPUS; may be given several times")
	f.StringSliceVar(&opts.add, "add", nil, "servers to add, as SERVERSxGPUS or SERVERSxGPUS:TYPE")
	f.StringSliceVar(&opts.remove, "remove", nil, "names of servers to remove at the start")
	f.StringVar(&opts.physics, "physics", "ideal", "performance model, see physics")
	f.DurationVar(&opts.restart, "restart", 0, "time for which a restarted or moved job holds its GPUs without progress")
	f.DurationVar(&opts.assume, "assume", 0, "estimated run time of jobs that have no estimate")
	f.StringVar(&opts.beliefs, "beliefs", "",
		"file of what policies with +know have learned, also for jobs without an estimate; see clustergym beliefs --save")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of policies that draw random numbers")
	f.IntVar(&opts.top, "top", 10, "how many jobs to print")
	f.BoolVar(&opts.all, "all", false, "print every affected job")
	cmdline.Require(cmd, "snapshot", "policy")
	cmd.MarkFlagsMutuallyExclusive("top", "all")
	cmdline.Complete(cmd, "policy", policy.Names)
	cmdline.Complete(cmd, "against", policy.Names)
	cmd.AddCommand(newWhatifPastCmd(a))
	return cmd
}

func runWhatif(ctx context.Context, a *app, opts whatifOptions) error {
	if opts.restart < 0 || opts.assume < 0 || opts.top < 0 {
		return cmdline.Usage("--restart %v, --assume %v, --top %d: want 0 or more", opts.restart, opts.assume, opts.top)
	}
	model, err := physics.Parse(opts.physics)
	if err != nil {
		return cmdline.Usage("--physics: %w", err)
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
	base, memory, err := a.findRemembering(opts.policy, opts.beliefs)
	if err != nil {
		return err
	}
	other := base
	if opts.against != "" {
		if other, _, err = a.findRemembering(opts.against, opts.beliefs); err != nil {
			return err
		}
	}
	state, err := readSnapshot(a, opts.snapshot)
	if err != nil {
		return err
	}
	play := whatif.Options{Physics: model, Restart: opts.restart, Assume: opts.assume, Seed: opts.seed}
	if memory != nil {
		play.Times = memory.Times(belief.History, belief.Gittins)
	}
	first, err := whatif.Play(ctx, &state.View, *base, whatif.Change{}, play)
	if errors.Is(err, whatif.ErrNoEstimate) {
		return fmt.Errorf("%w: --assume 1h, or --beliefs FILE", err)
	}
	if err != nil {
		return err
	}
	var second *whatif.Outcome
	if opts.against != "" || len(opts.add)+len(opts.remove)+len(opts.quotas) > 0 {
		if second, err = whatif.Play(ctx, &state.View, *other, change, play); err != nil {
			return err
		}
	}
	result := whatif.Compare(state.Now(), first, second)
	if a.JSON {
		return a.PrintJSON(result)
	}
	most := opts.top
	if opts.all {
		most = -1
	}
	return result.WriteText(a.Out, most)
}

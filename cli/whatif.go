package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
)

type whatifOptions struct {
	snapshotFlags
	Past      string   `flag:"past" file:"jsonl,gz" help:"play this event log on, from one decision, in place of a snapshot"`
	Decision  int      `flag:"decision" min:"0" help:"of the log, from 1; without it and without a change, list the decisions"`
	Job       string   `flag:"job" help:"list only the decisions of the log about this job"`
	Against   string   `flag:"against" complete:"policy" help:"the policy to compare it with"`
	Add       []string `flag:"add" help:"servers to add, as SERVERSxGPUS or SERVERSxGPUS:TYPE"`
	Remove    []string `flag:"remove" help:"names of servers to remove at the start"`
	Quotas    []string `flag:"quota" help:"quota of a tenant that has one, as TENANT=GPUS; may be given several times"`
	Leave     string   `flag:"leave" help:"the job with which nothing is done at first"`
	Start     string   `flag:"start" help:"the waiting job that starts at first"`
	Candidate int      `flag:"candidate" min:"0" help:"the candidate that a learned team takes at first, from 1"`
	Objective []string `flag:"objective" complete:"objective" help:"say what both cost by these objectives: names or YAML files, see objective ls"`
	LogOut    string   `flag:"log-out" help:"write the changed event log to this file; compressed if it ends in .gz"`
	Top       int      `flag:"top" default:"10" min:"0" help:"how many jobs to print"`
	All       bool     `flag:"all" help:"print every affected job"`
}

func newWhatifCmd(a *app) *cobra.Command {
	cmd := newCommand(a, &whatifOptions{}, &cobra.Command{
		Use:   "whatif {--snapshot cluster.json --policy P | --past LOG}",
		Short: "Play a cluster on in two ways, and say what differs",
		Long: cmdline.Long(`
Plays a snapshot of a cluster to its end under a policy. Plays it again under another policy (--against), with servers added
(--add) or removed (--remove), with other quotas (--quota), or with another first decision:

  --leave JOB       what the policy would do with the job is left out: it does not start, or is not stopped or moved
  --start JOB       the job, which waits, starts by best fit, and then what the policy would do, as far as it still fits
  --candidate N     a learned team takes this candidate in its first choice, and decides on from there

It prints the difference for the cluster as a whole, what both cost by objectives (--objective) and who pays, and the jobs whose
times change most. Without a change it prints when each job would start and finish. The command changes nothing in the cluster.
Equal command lines print equal results.

The result is a forecast. A job ends when its estimate says. A job without an estimate needs --beliefs, from which it gets
the median of similar jobs that have ended if there are two or more, or --assume. One that has outlived its estimate is
assumed to need as long again as it has run. No more jobs are submitted, nothing more fails, and what has failed stays
failed; the number of servers that the inference pool lends stays the same. Speeds come from --physics, not from the
snapshot. A removed server fails at once: its jobs are interrupted and wait with the work that they have left. Added
servers resemble those of the snapshot with as many GPUs of that type. plan --example prints a snapshot to try, and
docs/what-if.md explains the limits.

With --past it plays an event log (simulate --log-out, eval's schedules) again up to a decision, makes that as it was and
differently, and lets the policy of the log, or --policy, decide from the next decision on. Run times, arrivals, failures and
inference demand are those of the log. The policy begins without what it may have learned before. --leave without --decision
means the decision that first starts the job. Without a change it lists the decisions, or says what a learned --policy would
weigh at --decision.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym whatif --snapshot cluster.json --policy fifo
  clustergym whatif --snapshot cluster.json --policy fifo --against srtf --restart 60s
  clustergym whatif --snapshot cluster.json --policy sjfskip --add 2x8 --objective small-first,completion
  clustergym whatif --snapshot cluster.json --policy sjfskip --remove server-3 --json
  clustergym whatif --snapshot cluster.json --policy sjfskip --quota team-a=16
  clustergym whatif --past log.jsonl.gz --job 17
  clustergym whatif --past log.jsonl.gz --leave 17
  clustergym whatif --past log.jsonl.gz --decision 40 --start 23 --policy srtf --log-out changed.jsonl
  clustergym whatif --past log.jsonl.gz --decision 40 --policy released --candidate 2`,
	}, runWhatif)
	cmd.MarkFlagsOneRequired("snapshot", "past")
	for _, flag := range []string{"snapshot", "physics", "assume", "restart", "beliefs", "add", "remove", "quota"} {
		cmd.MarkFlagsMutuallyExclusive("past", flag)
	}
	for _, flag := range []string{"decision", "job", "log-out"} {
		cmd.MarkFlagsMutuallyExclusive("snapshot", flag)
	}
	cmd.MarkFlagsMutuallyExclusive("leave", "start", "candidate", "job")
	cmd.MarkFlagsMutuallyExclusive("top", "all")
	return cmd
}

// changed returns what the flags change.
func (o *whatifOptions) changed() (c whatif.Change, err error) {
	c = whatif.Change{Remove: o.Remove, Leave: o.Leave, Start: o.Start, Candidate: o.Candidate}
	for _, text := range o.Add {
		servers, err := whatif.ParseServers(text)
		if err != nil {
			return c, cmdline.Usage("--add: %w", err)
		}
		c.Add = append(c.Add, servers)
	}
	for _, text := range o.Quotas {
		quota, err := whatif.ParseQuota(text)
		if err != nil {
			return c, cmdline.Usage("--quota: %w", err)
		}
		c.Quotas = append(c.Quotas, quota)
	}
	return c, nil
}

// playOn plays what the flags name on under a policy.
type playOn func(p *policy.Policy, c whatif.Change) (*whatif.Outcome, error)

func runWhatif(ctx context.Context, a *app, opts *whatifOptions, _ []string) error {
	change, err := opts.changed()
	if err != nil {
		return err
	}
	measures, err := openObjectives(opts.Objective)
	if err != nil {
		return err
	}
	if opts.Past != "" {
		return runPast(ctx, a, opts, change, whatif.Options{Seed: opts.Seed, Objectives: measures})
	}
	if opts.Policy == "" {
		return cmdline.Usage("--snapshot %s: want --policy, too", opts.Snapshot)
	}
	on, err := opts.open(a, a.finder())
	if err != nil {
		return err
	}
	on.play.Objectives = measures
	result, _, err := opts.compare(a, on.by, change, on.playOn(ctx))
	if err != nil {
		return err
	}
	return opts.print(a, result)
}

// playOn returns how to play the snapshot on.
func (on *asked) playOn(ctx context.Context) playOn {
	return func(p *policy.Policy, c whatif.Change) (*whatif.Outcome, error) {
		out, err := whatif.Play(ctx, &on.state.View, *p, c, on.play)
		if errors.Is(err, whatif.ErrNoEstimate) {
			err = fmt.Errorf("%w: --assume 1h, or --beliefs FILE", err)
		}
		return out, err
	}
}

// compare plays on under a policy, and with what the flags change, and returns the last of the outcomes, too.
func (o *whatifOptions) compare(
	a *app, by *policy.Policy, c whatif.Change, play playOn,
) (*whatif.Result, *whatif.Outcome, error) {
	other := by
	if o.Against != "" {
		var err error
		if other, _, err = o.find(a.finder(), o.Against); err != nil {
			return nil, nil, err
		}
	}
	first, err := play(by, whatif.Change{})
	switch {
	case err != nil:
		return nil, nil, err
	case o.Against == "" && c.None():
		return whatif.Compare(first, nil), first, nil
	}
	second, err := play(other, c)
	if err != nil {
		return nil, nil, err
	}
	return whatif.Compare(first, second), second, nil
}

func (o *whatifOptions) print(a *app, r *whatif.Result) error {
	if o.All {
		o.Top = -1
	}
	return a.PrintOr(r, func() error { return r.WriteText(a.Out, o.Top) })
}

// runPast is whatif of an event log.
func runPast(ctx context.Context, a *app, opts *whatifOptions, change whatif.Change, how whatif.Options) error {
	log, err := readLog(a, opts.Past)
	if err != nil {
		return err
	}
	all, err := whatif.Decisions(log)
	if err != nil {
		return err
	}
	switch none := change.None() && opts.Against == ""; {
	case none && opts.Decision == 0:
		return opts.list(a, all)
	case opts.Leave != "" && opts.Decision == 0:
		i := slices.IndexFunc(all, func(d whatif.Decision) bool { return slices.Contains(d.Starts, opts.Leave) })
		if i < 0 {
			return cmdline.Usage("--leave %q: no decision of the log starts such a job", opts.Leave)
		}
		opts.Decision = all[i].Number
	case opts.Decision == 0:
		return cmdline.Usage("want --decision, too; without a change the command lists the decisions")
	}
	by, err := a.findPolicy(cmp.Or(opts.Policy, log.Scheduler))
	if err != nil {
		return fmt.Errorf("who decides afterwards: %w; name another with --policy", err)
	}
	if change.None() && opts.Against == "" {
		return showChoice(a, log, by, opts)
	}
	result, last, err := opts.compare(a, by, change, func(p *policy.Policy, c whatif.Change) (*whatif.Outcome, error) {
		return whatif.PlayLog(ctx, log, opts.Decision, *p, c, how)
	})
	if err != nil {
		return err
	}
	if opts.LogOut != "" {
		if err := a.Write(opts.LogOut, last.Log.Write); err != nil {
			return err
		}
	}
	return opts.print(a, result)
}

// list prints the decisions of a log.
func (o *whatifOptions) list(a *app, all []whatif.Decision) error {
	if o.Job != "" {
		all = slices.DeleteFunc(all, func(d whatif.Decision) bool { return !slices.Contains(d.Jobs, o.Job) })
	}
	rows := [][]string{{"decision", "at", "what the log does"}}
	for _, d := range all {
		rows = append(rows, []string{fmt.Sprint(d.Number), clock(d.At).String(), d.Does})
	}
	return a.Print(all, rows)
}

// showChoice prints what a learned team would weigh at a decision of a log.
func showChoice(a *app, log *sim.Log, p *policy.Policy, opts *whatifOptions) error {
	all, err := whatif.Choices(log, *p, opts.Decision, opts.Seed)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(all)
	case len(all) == 0:
		a.Printf("%s has nothing to choose at decision %d\n", p.Name, opts.Decision)
		return nil
	}
	return (&jobPlan{of: len(all)}).printChoice(a, &all[0])
}

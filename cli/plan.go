package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/serve/decide"
)

type planOptions struct {
	snapshotFlags
	Key       string        `flag:"verify-key" help:"file of a public key: a policy from a folder must be signed with its private key"`
	Stops     int           `flag:"preemptions" default:"-1" min:"-1" help:"how many running jobs may be stopped or moved; -1: no limit"`
	Starts    time.Duration `flag:"starts" min:"0" help:"also forecast when each waiting job starts, and stop after this time"`
	Objective []string      `flag:"objective" complete:"objective" help:"say what the plan costs by these objectives, beside doing nothing now: names or YAML files, see objective ls"`
	Job       string        `flag:"job" help:"explain the decision about this job at length"`
	Example   bool          `flag:"example" help:"print an example snapshot and do nothing else"`
}

func newPlanCmd(a *app) *cobra.Command {
	cmd := newCommand(a, &planOptions{}, &cobra.Command{
		Use:   "plan --snapshot cluster.json --policy P",
		Short: "Show what a policy would do in a cluster now",
		Long: cmdline.Long(`
Asks a policy for its decisions on a snapshot of a cluster and prints what it would start, preempt or move, where and why,
and why the other jobs wait. The command changes nothing. For a start it also prints the second best server, with the GPUs
that would be left there, and a job that could have started instead. --job explains the decision about one job at length,
server by server, and shows what a learned team weighed: the bids for each candidate, what edges of the coordination graph
add to them, which servers the job attends to, and what was masked. docs/what-if.md explains how to read the output.

--objective plays the snapshot on to its end, as whatif does, with this plan and with nothing done now, and says what both cost
by each objective and who pays. whatif also compares other policies, servers and decisions.

A snapshot is a JSON file of servers and jobs: the snapshot command makes one of your cluster, and --example prints a small
one. Policies that need estimates refuse jobs without one, unless --assume gives them one. Times are in seconds. If the CPU
or memory of a server is null, it is not modelled. A waiting job has the state "pending". A job may also have min_workers,
max_workers and a tenant. A server may have the pool "inference"; it takes training jobs only while it is on_loan.
Unknown fields are errors.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym plan --example > cluster.json
  clustergym plan --snapshot cluster.json --policy sjfskip
  clustergym plan --snapshot cluster.json --policy sjfskip --job bert-large
  clustergym plan --snapshot cluster.json --policy sjfskip --starts=2m
  clustergym plan --snapshot cluster.json --policy srtf --objective keep-work
  clustergym plan --snapshot cluster.json --policy runs/first/policy --json`,
	}, runPlan)
	cmd.Flags().Lookup("starts").NoOptDefVal = usualStarts.String()
	cmd.MarkFlagsMutuallyExclusive("objective", "preemptions") // what is played on has no limit
	cmd.MarkFlagsRequiredTogether("snapshot", "policy")
	cmd.MarkFlagsOneRequired("snapshot", "example")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "example")
	return cmd
}

// usualStarts is the time for forecasts of starts if --starts names none.
const usualStarts = 30 * time.Second

// plan is the result of plan.
type plan struct {
	*explain.Plan
	// Held lists the jobs that the policy would stop or move, or start in their place, but for the limit.
	Held   []string        `json:"held,omitempty"`
	Starts []explain.Start `json:"starts,omitempty"`
	// Unfinished says what the time of --starts did not suffice for.
	Unfinished string `json:"unfinished,omitempty"`
	// Played is the snapshot played on with this plan and with nothing done now, if --objective asks for its costs.
	Played *whatif.Result `json:"played,omitempty"`
}

func runPlan(ctx context.Context, a *app, opts *planOptions, _ []string) error {
	if opts.Example {
		return text(a.Out, exampleSnapshot)
	}
	from, err := a.verifier(opts.Key)
	if err != nil {
		return err
	}
	measures, err := openObjectives(opts.Objective)
	if err != nil {
		return err
	}
	on, err := opts.open(a, from)
	if err != nil {
		return err
	}
	if n := on.state.Assume(opts.Assume); n > 0 {
		a.Say("%s without an estimate: assumed to run %v", phrase.Count(n, "job"), opts.Assume)
	}
	on.state.SetProfile(physics.Profiled(on.play.Physics))
	planned, err := decide.Plan(ctx, on.state, on.by, decide.Asking{Seed: opts.Seed, Stops: opts.Stops, Choices: opts.Job != ""})
	switch {
	case err != nil:
		return unestimated(err, on.by)
	case opts.Job != "":
		return explainJob(a, planned, &on.state.View, opts.Job)
	}
	out := &plan{Plan: planned.Plan}
	for _, h := range planned.Held {
		out.Held = append(out.Held, on.state.Spec(h.Job).Name)
	}
	if opts.Starts > 0 {
		if err := out.forecast(ctx, on, opts.Starts); err != nil {
			return err
		}
	}
	if len(measures) > 0 {
		on.play.Objectives = measures
		out.Played, _, err = new(whatifOptions).compare(a, on.by, whatif.Change{Nothing: true}, on.playOn(ctx))
		if err != nil {
			return err
		}
	}
	return a.PrintOr(out, func() error { return out.print(a) })
}

// exampleSnapshot is a snapshot of a small busy cluster, at 9:00 on the second day.
//
//go:embed example.json
var exampleSnapshot string

// forecast forecasts when the jobs start that wait after the plan, because it does not start them or because it stops them. It
// says in Unfinished if the time did not suffice.
func (p *plan) forecast(ctx context.Context, on *asked, most time.Duration) error {
	waits, stopped := decide.Waits(p.Plan), map[string]bool{}
	for i := range p.Ops {
		if p.Ops[i].Op == cluster.OpPreempt.String() {
			stopped[p.Ops[i].Job] = true
		}
	}
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	play := on.play
	play.Assume, play.Times = 0, nil // policies that see no estimates in production see none here
	all, played := whatif.UsualDraws, 0
	f := whatif.Forecaster{Options: play, Played: func(n, of int) { played, all = n, of }}
	some := func(job string) bool { return waits(job) || stopped[job] }
	starts, err := f.Forecast(within, &on.state.View, *on.by, some, on.learned)
	switch {
	case err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)):
		return err
	case err != nil:
		p.Unfinished = fmt.Sprintf("no start is forecast: %d of %d futures were played in %v, want at least %d: --starts=%v gives "+
			"more time", played, all, most, whatif.LeastDraws, 10*most)
	case played < all:
		p.Unfinished = fmt.Sprintf("the starts are forecast from %d of %d futures, as many as were played in %v: --starts=%v gives "+
			"more time", played, all, most, 10*most)
	}
	p.Starts = starts
	return nil
}

func (p *plan) print(a *app) error {
	a.Printf("%s at %s: %d of %d GPUs free, then %d; nothing is changed\n\n", p.Policy, clock(p.Now), p.FreeBefore, p.GPUs,
		p.FreeAfter)
	var rows [][]string
	for _, o := range p.Ops {
		rows = append(rows, []string{o.Op, o.Job + o.Server, where(o.Placement), o.Text})
	}
	for _, j := range p.Waiting {
		rows = append(rows, []string{"wait", j.Job, "-", j.Text})
	}
	if len(rows) == 0 {
		a.Printf("no job waits, and the policy proposes nothing\n")
		return nil
	}
	if err := a.PrintRows(append([][]string{{"does", "job", "where", "why"}}, rows...)); err != nil {
		return err
	}
	if len(p.Held) > 0 {
		a.Printf("\nheld by --preemptions: %s\n", strings.Join(p.Held, ", "))
	}
	if len(p.Starts) > 0 {
		a.Printf("\n")
		rows := [][]string{{"job", "is expected to start"}}
		for i := range p.Starts {
			rows = append(rows, []string{p.Starts[i].Job, p.Starts[i].When()})
		}
		if err := a.PrintRows(rows); err != nil {
			return err
		}
	}
	if p.Unfinished != "" {
		a.Printf("\n%s\n", p.Unfinished)
	}
	if p.Wake != nil {
		a.Printf("\nask again at %s, if nothing happens before\n", clock(*p.Wake))
	}
	if p.Played != nil {
		return p.Played.WriteCosts(a.Out)
	}
	return nil
}

// clock converts seconds to a duration, rounded to a second.
func clock(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

func where(pieces []explain.Piece) string {
	if len(pieces) == 0 {
		return "-"
	}
	var parts []string
	for _, p := range pieces {
		gpus := strings.Trim(strings.ReplaceAll(fmt.Sprint(p.GPUs), " ", ","), "[]")
		parts = append(parts, fmt.Sprintf("%s:%s", p.Server, gpus))
	}
	return strings.Join(parts, " ")
}

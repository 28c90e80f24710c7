package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/explain"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

type planOptions struct {
	snapshot string
	policy   string
	key      string
	physics  string
	job      string
	assume   time.Duration
	beliefs  string
	restart  time.Duration
	stops    int
	starts   time.Duration
	seed     uint64
	example  bool
}

func newPlanCmd(a *app) *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use:   "plan --snapshot cluster.json --policy P",
		Short: "Show what a policy would do in a cluster now",
		Long: cmdline.Long(`
Asks a policy for its decisions on a snapshot of a cluster and prints what it would start, preempt or move, where and why,
and why the other jobs wait. The command changes nothing. For a start it also prints the second best server, with the GPUs
that would be left there, and a job that could have started instead. --job explains the decision about one job at length,
server by server, and shows what a learned team weighed: the bids for each candidate, what edges of the coordination graph
add to them, which servers the job attends to, and what was masked. docs/what-if.md explains how to read the output. To
play the snapshot on to its end, use whatif.

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
  clustergym plan --snapshot cluster.json --policy runs/first/policy --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPlan(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.snapshot, "snapshot", "", "file of the snapshot; - for standard input")
	f.StringVar(&opts.policy, "policy", "",
		"the policy: a baseline (see baselines), released, or the folder of an exported policy or run")
	f.StringVar(&opts.key, "verify-key", "", "file of a public key: a policy from a folder must be signed with its private key")
	f.StringVar(&opts.physics, "physics", "ideal", "performance model from which policies take speeds, see physics")
	f.DurationVar(&opts.assume, "assume", 0, "estimated run time of jobs that have no estimate")
	f.IntVar(&opts.stops, "preemptions", -1, "how many running jobs may be stopped or moved; -1: no limit")
	f.DurationVar(&opts.starts, "starts", 0, "also forecast when each waiting job starts, and stop after this time")
	f.Lookup("starts").NoOptDefVal = usualStarts.String()
	f.StringVar(&opts.beliefs, "beliefs", "",
		"file of what policies with +know have learned, also for --starts; see clustergym beliefs --save")
	f.DurationVar(&opts.restart, "restart", 0, "what each stop or move costs a job: time without progress when it starts again")
	f.StringVar(&opts.job, "job", "", "explain the decision about this job at length")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of policies that draw random numbers")
	f.BoolVar(&opts.example, "example", false, "print an example snapshot and do nothing else")
	cmd.MarkFlagsRequiredTogether("snapshot", "policy")
	cmd.MarkFlagsOneRequired("snapshot", "example")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "example")
	cmdline.Complete(cmd, "policy", policy.Names)
	return cmd
}

// usualStarts is the time for forecasts of starts if --starts names none.
const usualStarts = 30 * time.Second

// plan is the result of plan.
type plan struct {
	*explain.Plan
	// Held lists the jobs that the policy would stop or move, or start in their place, but for the limit.
	Held   []string       `json:"held,omitempty"`
	Cost   float64        `json:"restart_gpu_hours,omitempty"`
	Starts []decide.Start `json:"starts,omitempty"`
	// Unfinished says what the time of --starts did not suffice for.
	Unfinished string `json:"unfinished,omitempty"`
}

func runPlan(ctx context.Context, a *app, opts planOptions) error {
	if opts.example {
		return writeExample(a.Out)
	}
	state, out, asked, err := planState(ctx, a, opts)
	if err != nil {
		return err
	}
	if opts.job != "" {
		id, err := findJob(&state.View, opts.job)
		if err != nil {
			return err
		}
		return explainJob(a, asked, id)
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	return out.print(a)
}

// planFile asks the policy for its plan for the snapshot.
func planFile(ctx context.Context, a *app, opts planOptions) (*plan, error) {
	_, out, _, err := planState(ctx, a, opts)
	return out, err
}

func planState(ctx context.Context, a *app, opts planOptions) (*cluster.State, *plan, *decide.Planned, error) {
	if min(opts.assume, opts.restart, opts.starts) < 0 || opts.stops < -1 {
		return nil, nil, nil, cmdline.Usage("--assume %v, --restart %v, --starts %v, --preemptions %d: want 0 or more, or -1 "+
			"preemptions", opts.assume, opts.restart, opts.starts, opts.stops)
	}
	from, err := a.verifier(opts.key)
	if err != nil {
		return nil, nil, nil, err
	}
	from.Memory = true
	p, err := from.Load(opts.policy)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := physics.Parse(opts.physics)
	if err != nil {
		return nil, nil, nil, cmdline.Usage("--physics: %v", err)
	}
	p, learned, err := decide.Remembering(p, opts.beliefs)
	if err != nil {
		return nil, nil, nil, err
	}
	state, err := readSnapshot(a, opts.snapshot)
	if err != nil {
		return nil, nil, nil, err
	}
	if n := state.Assume(opts.assume); n > 0 {
		a.Say("%s without an estimate: assumed to run %v", phrase.Count(n, "job"), opts.assume)
	}
	state.SetProfile(physics.Profiled(model))
	asked, err := decide.Plan(ctx, state, p, decide.Asking{Seed: opts.seed, Stops: opts.stops, Choices: opts.job != ""})
	if err != nil {
		return nil, nil, nil, unestimated(err, opts.policy)
	}
	out := &plan{Plan: asked.Plan}
	for _, h := range asked.Held {
		out.Held = append(out.Held, state.Spec(h.Job).Name)
	}
	out.Cost = restartCost(state, out.Plan, opts.restart)
	if opts.starts > 0 {
		play := whatif.Options{Physics: model, Restart: opts.restart, Seed: opts.seed}
		err = out.forecast(ctx, state, p, opts.starts, learned, play)
	}
	return state, out, asked, err
}

// unestimated says in the error of a policy that needs an estimate which a job of a snapshot does not have what to type.
func unestimated(err error, policy string) error {
	if !errors.Is(err, cluster.ErrNoEstimate) {
		return err
	}
	inner, _ := baselines.CutKnow(policy)
	return fmt.Errorf("%w: --assume 1h gives jobs without an estimate one, and --policy %s needs none", err,
		quote(inner+baselines.KnowSuffix))
}

// restartCost returns the GPU-hours that restarts after the stops and moves of a plan take, in which the jobs make no progress.
func restartCost(s *cluster.State, p *explain.Plan, restart time.Duration) (hours float64) {
	stopped := map[string]bool{}
	for i := range p.Ops {
		if op := p.Ops[i].Op; op == cluster.OpPreempt.String() || op == cluster.OpMigrate.String() {
			stopped[p.Ops[i].Job] = true
		}
	}
	for _, id := range s.Running() {
		if stopped[s.Spec(id).Name] {
			hours += restart.Hours() * float64(s.Placement(id).GPUMilli()) / cluster.WholeGPU
		}
	}
	return hours
}

// forecast forecasts when the jobs start that wait after the plan, because it does not start them or because it stops them. It
// says in Unfinished if the time did not suffice.
func (p *plan) forecast(
	ctx context.Context, s *cluster.State, by *policy.Policy, most time.Duration, learned *belief.Memory, play whatif.Options,
) error {
	waits, stopped := decide.Waits(p.Plan), map[string]bool{}
	for i := range p.Ops {
		if p.Ops[i].Op == cluster.OpPreempt.String() {
			stopped[p.Ops[i].Job] = true
		}
	}
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	all, played := whatif.UsualDraws, 0
	f := whatif.Production{Forecaster: whatif.Forecaster{Options: play, Played: func(n, of int) { played, all = n, of }}}
	starts, err := f.Forecast(within, &s.View, *by, func(job string) bool { return waits(job) || stopped[job] }, learned)
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

func readSnapshot(a *app, path string) (*cluster.State, error) {
	in, done, err := a.open(path, "read snapshot")
	if err != nil {
		return nil, err
	}
	defer done()
	s, err := cluster.ReadSnapshot(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
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
	if p.Cost > 0 {
		a.Printf("\nrestarts after these stops and moves cost %.1f GPU-hours\n", p.Cost)
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

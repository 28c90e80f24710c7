package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/explain"
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
server by server. docs/what-if.md explains how to read the output. To play the snapshot on to its end, use whatif.

A snapshot is a JSON file of servers and jobs: the snapshot command makes one of your cluster, and --example prints a small
one. Policies that need estimates refuse jobs without one, unless --assume gives them one. Times are in seconds. If the CPU
or memory of a server is null, it is not modelled. A waiting job has the state "pending". A job may also have min_workers,
max_workers and a tenant. A server may have the pool "inference"; it takes training jobs only while it is on_loan.
Unknown fields are errors.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym plan --example > cluster.json
  clustergym plan --snapshot cluster.json --policy sjfskip
  clustergym plan --snapshot cluster.json --policy sjfskip --job bert-large
  clustergym plan --snapshot cluster.json --policy runs/first/policy --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPlan(a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.snapshot, "snapshot", "", "file of the snapshot; - for standard input")
	f.StringVar(&opts.policy, "policy", "",
		"the policy: a baseline (see baselines ls), released, or the folder of an exported policy or run")
	f.StringVar(&opts.key, "verify-key", "", "file of a public key: a policy from a folder must be signed with its private key")
	f.StringVar(&opts.physics, "physics", "ideal", "performance model from which policies take speeds, see physics ls")
	f.DurationVar(&opts.assume, "assume", 0, "estimated run time of jobs that have no estimate")
	f.StringVar(&opts.job, "job", "", "explain the decision about this job at length")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of policies that draw random numbers")
	f.BoolVar(&opts.example, "example", false, "print an example snapshot and do nothing else")
	cmd.MarkFlagsRequiredTogether("snapshot", "policy")
	cmd.MarkFlagsOneRequired("snapshot", "example")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "example")
	cmdline.Complete(cmd, "policy", policy.Names)
	return cmd
}

// plan is the result of plan.
type plan explain.Plan

func runPlan(a *app, opts planOptions) error {
	if opts.example {
		return writeExample(a.Out)
	}
	state, out, why, err := planState(a, opts)
	if err != nil {
		return err
	}
	if opts.job != "" {
		id, err := findJob(&state.View, opts.job)
		if err != nil {
			return err
		}
		return explainJob(a, out, why, id)
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	return out.print(a)
}

// planFile asks the policy for its plan for the snapshot.
func planFile(a *app, opts planOptions) (*plan, error) {
	_, out, _, err := planState(a, opts)
	return out, err
}

func planState(a *app, opts planOptions) (*cluster.State, *plan, *explain.Decision, error) {
	if opts.assume < 0 {
		return nil, nil, nil, cmdline.Usage("--assume %v: want 0 or more", opts.assume)
	}
	from, err := a.verifier(opts.key)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := from.Load(opts.policy)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := physics.Parse(opts.physics)
	if err != nil {
		return nil, nil, nil, cmdline.Usage("--physics: %v", err)
	}
	state, err := readSnapshot(a, opts.snapshot)
	if err != nil {
		return nil, nil, nil, err
	}
	if n := state.Assume(opts.assume); n > 0 {
		a.Say("%s without an estimate: assumed to run %v", phrase.Count(n, "job"), opts.assume)
	}
	state.SetProfile(physics.Profiled(model))
	out, why, err := decide.Plan(state, p, opts.seed)
	return state, (*plan)(out), why, err
}

func readSnapshot(a *app, path string) (*cluster.State, error) {
	in := a.In
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read snapshot: %w", err)
		}
		defer f.Close()
		in = f
	}
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

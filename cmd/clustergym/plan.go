package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/explain"
)

type planOptions struct {
	snapshot string
	policy   string
	physics  string
	job      string
	seed     uint64
	example  bool
}

func newPlanCmd(a *app) *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use:   "plan --snapshot cluster.json --policy P",
		Short: "Show what a policy would do with a cluster now",
		Long: long(`
Asks a policy for its decisions on a snapshot of a cluster and prints what it would start, preempt or move, where and why, and
why the other jobs wait. It changes nothing. A start also tells the next best server, with the GPUs that would be left there,
and a job that could have started instead. --job explains one job at length, server by server. docs/what-if.md tells how to
read it; whatif plays the snapshot on to its end.

A snapshot is a JSON file of servers and jobs: --example prints a small one. Times are in seconds; a null CPU or memory of a
server is not modelled; a waiting job has the state "pending". A job may also have min_workers, max_workers and a tenant, and a
server the pool "inference", whose servers take training jobs only while they are on_loan. Unknown fields are errors.
`, codeNoRun, codeMismatch),
		Example: `  clustergym plan --example > cluster.json
  clustergym plan --snapshot cluster.json --policy sjfskip
  clustergym plan --snapshot cluster.json --policy sjfskip --job bert-large
  clustergym plan --snapshot cluster.json --policy runs/first/policy --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runPlan(a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.snapshot, "snapshot", "", "the snapshot; - for standard input")
	f.StringVar(&opts.policy, "policy", "", "a baseline, see baselines ls, released, or the folder of an exported policy or run")
	f.StringVar(&opts.physics, "physics", "ideal", "what is known of speed, see physics ls, for policies that ask")
	f.StringVar(&opts.job, "job", "", "explain this job at length")
	f.Uint64Var(&opts.seed, "seed", 1, "of policies that draw")
	f.BoolVar(&opts.example, "example", false, "print an example snapshot and do nothing else")
	cmd.MarkFlagsRequiredTogether("snapshot", "policy")
	cmd.MarkFlagsOneRequired("snapshot", "example")
	cmd.MarkFlagsMutuallyExclusive("snapshot", "example")
	complete(cmd, "policy", policyNames)
	return cmd
}

// plan is the result of plan.
type plan struct {
	Policy     string      `json:"policy"`
	Now        float64     `json:"now_s"`
	GPUs       int64       `json:"gpus"`             // of servers that take training jobs
	FreeBefore int64       `json:"free_gpus_before"` // of those
	FreeAfter  int64       `json:"free_gpus_after"`
	Ops        []plannedOp `json:"ops"`     // in the order in which the policy proposes them
	Waiting    []waiting   `json:"waiting"` // jobs that stay or become pending, by submission
	Wake       *float64    `json:"wake_s,omitempty"`
}

// plannedOp is one operation that the policy proposes.
type plannedOp struct {
	Op        string         `json:"op"` // start, preempt, migrate, resize, loan or reclaim
	Job       string         `json:"job,omitempty"`
	Server    string         `json:"server,omitempty"` // of loan and reclaim
	Workers   int32          `json:"workers,omitempty"`
	Placement []plannedPiece `json:"placement,omitempty"`
	explain.Step
}

type plannedPiece struct {
	Server  string  `json:"server"`
	Workers int32   `json:"workers"`
	GPUs    []int32 `json:"gpus"`
	Left    int32   `json:"free_gpus_left"` // on the server, when all operations are done
}

type waiting struct {
	Job     string `json:"job"`
	Workers int32  `json:"workers"`
	explain.Wait
}

func runPlan(a *app, opts planOptions) error {
	if opts.example {
		return writeExample(a.out)
	}
	state, out, why, err := planState(a, opts)
	if err != nil {
		return err
	}
	if opts.job != "" {
		id, err := findJob(state, opts.job)
		if err != nil {
			return err
		}
		return explainJob(a, out, why, id)
	}
	if a.json {
		return a.printJSON(out)
	}
	return out.print(a)
}

// planFile asks the policy about the snapshot.
func planFile(a *app, opts planOptions) (*plan, error) {
	_, out, _, err := planState(a, opts)
	return out, err
}

func planState(a *app, opts planOptions) (*cluster.State, *plan, *explain.Decision, error) {
	p, err := findPolicy(opts.policy)
	if err != nil {
		return nil, nil, nil, err
	}
	model, err := physics.Parse(opts.physics)
	if err != nil {
		return nil, nil, nil, usage("--physics: %v", err)
	}
	state, err := readSnapshot(a, opts.snapshot)
	if err != nil {
		return nil, nil, nil, err
	}
	state.SetProfile(physics.Profiled(model))
	out, why, err := makePlan(state, p, opts.seed)
	return state, out, why, err
}

func readSnapshot(a *app, path string) (*cluster.State, error) {
	in := a.in
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

// decide asks a policy for its decisions on a state, lets look see the transaction, and takes everything back.
func decide(s *cluster.State, p policy, seed uint64, look func(*cluster.Txn) error) error {
	sched, err := p.New()
	if err != nil {
		return err
	}
	if err := sched.Reset(seed); err != nil {
		return fmt.Errorf("reset %s: %w", p.Name, err)
	}
	tx := s.Begin(s.Introduce())
	if err = sched.Schedule(tx); err == nil {
		err = look(tx)
	}
	tx.Rollback(0)
	tx.End()
	if err != nil {
		return fmt.Errorf("plan with %s: %w", p.Name, err)
	}
	return nil
}

// makePlan asks the policy, and for a learned one also the prior that it started from, to say where they differ.
func makePlan(s *cluster.State, p policy, seed uint64) (*plan, *explain.Decision, error) {
	facts := explain.New(s)
	if p.learned != nil {
		from, err := priorOf(p.learned)
		if err != nil {
			return nil, nil, err
		}
		starts := map[cluster.JobID]bool{}
		err = decide(s, from, seed, func(tx *cluster.Txn) error {
			for i := range tx.Ops() {
				starts[tx.Ops()[i].Job] = true
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		facts.Beside("the prior", starts)
	}
	out := &plan{
		Policy: p.Name, Now: s.Now().Seconds(), FreeBefore: s.FreeTotal(), Ops: []plannedOp{}, Waiting: []waiting{},
	}
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) {
			out.GPUs += int64(s.Server(id).GPUs)
		}
	}
	var why *explain.Decision
	err := decide(s, p, seed, func(tx *cluster.Txn) (err error) {
		if why, err = facts.Decision(tx.Ops()); err == nil {
			out.fill(tx, why)
		}
		return err
	})
	return out, why, err
}

// fill notes what the transaction proposes and what it leaves.
func (p *plan) fill(tx *cluster.Txn, why *explain.Decision) {
	s, ops := tx.State(), tx.Ops()
	for i := range ops {
		p.Ops = append(p.Ops, describeOp(s, &ops[i], why.Steps[i]))
	}
	for _, w := range why.Waiting {
		spec := s.Spec(w.Job)
		p.Waiting = append(p.Waiting, waiting{spec.Name, spec.Workers, w})
	}
	p.FreeAfter = s.FreeTotal()
	if at, ok := tx.Wake(); ok {
		seconds := at.Seconds()
		p.Wake = &seconds
	}
}

func describeOp(s *cluster.State, o *cluster.Op, why explain.Step) plannedOp {
	op := plannedOp{Op: o.Kind.String(), Step: why}
	switch o.Kind {
	case cluster.OpLoan, cluster.OpReclaim:
		op.Server = s.Server(o.Server).Name
		return op
	case cluster.OpPlace:
		op.Op = "start"
	}
	op.Job = s.Spec(o.Job).Name
	gpus := o.GPUs()
	for _, p := range o.Placement() {
		op.Workers += p.Workers
		op.Placement = append(op.Placement, plannedPiece{
			s.Server(p.Server).Name, p.Workers, append([]int32{}, gpus[:p.Workers]...), s.FreeGPUs(p.Server),
		})
		gpus = gpus[p.Workers:]
	}
	return op
}

func (p *plan) print(a *app) error {
	a.printf("%s at %s: %d of %d GPUs free, then %d; nothing is changed\n\n", p.Policy, clock(p.Now), p.FreeBefore, p.GPUs,
		p.FreeAfter)
	var rows [][]string
	for _, o := range p.Ops {
		rows = append(rows, []string{o.Op, o.Job + o.Server, o.where(), o.Text})
	}
	for _, j := range p.Waiting {
		rows = append(rows, []string{"wait", j.Job, "-", j.Text})
	}
	if len(rows) == 0 {
		a.printf("no job waits, and the policy proposes nothing\n")
		return nil
	}
	if err := a.printRows(append([][]string{{"does", "job", "where", "why"}}, rows...)); err != nil {
		return err
	}
	if p.Wake != nil {
		a.printf("\nask again at %s, if nothing happens before\n", clock(*p.Wake))
	}
	return nil
}

// clock is an instant, given in seconds, to the second.
func clock(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

func (o *plannedOp) where() string { return where(o.Placement) }

func where(pieces []plannedPiece) string {
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

package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/policy"
)

type pastOptions struct {
	log    string
	policy string
	job    string
	logOut string
	seed   uint64
	top    int
	whatif.Alteration
}

func newWhatifPastCmd(a *app) *cobra.Command {
	var opts pastOptions
	cmd := &cobra.Command{
		Use:   "past LOG",
		Short: "Play an event log again with one decision made differently",
		Long: cmdline.Long(`
Plays an event log (simulate --log-out, eval's schedules) again up to one decision and makes that decision differently:

  --leave JOB       what the log does with the job is left out: it does not start, or is not stopped or moved
  --start JOB       the job, which waits, starts by best fit, and then what the log does, as far as it still fits
  --candidate N     a learned team takes this candidate in its first choice, and decides on from there

The policy then decides from the next decision on. It does so, too, after the decision as it was, so that the difference
between both comes from this decision. The jobs, failures and inference demand that follow are those of the log. The policy
begins without what it may have learned before. Prints both outcomes and the jobs whose end changes most.

Without one of these three flags it lists the decisions of the log, with --job those about a job, and with --decision and a
learned --policy what that team would weigh there. --leave without --decision means the decision that first starts the job.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym whatif past log.jsonl.gz --job 17
  clustergym whatif past log.jsonl.gz --leave 17
  clustergym whatif past log.jsonl.gz --decision 40 --start 23 --policy srtf --log-out changed.jsonl
  clustergym whatif past log.jsonl.gz --decision 40 --policy released
  clustergym whatif past log.jsonl.gz --decision 40 --policy released --candidate 2`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.log = args[0]
			return runWhatifPast(cmd.Context(), a, opts)
		},
	}
	f := cmd.Flags()
	f.IntVar(&opts.Decision, "decision", 0, "the decision to make differently, from 1")
	f.StringVar(&opts.Leave, "leave", "", "the job with which nothing is done then")
	f.StringVar(&opts.Start, "start", "", "the waiting job that starts then")
	f.IntVar(&opts.Candidate, "candidate", 0, "the candidate that the learned team takes then, from 1")
	f.StringVar(&opts.policy, "policy", "", "the policy that decides afterwards (default that of the log)")
	f.StringVar(&opts.job, "job", "", "list the decisions about this job")
	f.StringVar(&opts.logOut, "log-out", "", "file to write the changed episode's event log to; compressed if it ends in .gz")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of policies that draw random numbers")
	f.IntVar(&opts.top, "top", 10, "how many jobs to print")
	cmd.MarkFlagsMutuallyExclusive("leave", "start", "candidate", "job")
	cmdline.Complete(cmd, "policy", a.finder().Names)
	return cmd
}

func runWhatifPast(ctx context.Context, a *app, opts pastOptions) error {
	if opts.Decision < 0 || opts.Candidate < 0 || opts.top < 0 {
		return cmdline.Usage("--decision %d, --candidate %d, --top %d: want 0 or more", opts.Decision, opts.Candidate, opts.top)
	}
	log, err := readLog(a, opts.log)
	if err != nil {
		return err
	}
	name := cmp.Or(opts.policy, log.Scheduler)
	switch changes := opts.Leave != "" || opts.Start != "" || opts.Candidate > 0; {
	case !changes && opts.Decision == 0:
		return listDecisions(a, log, opts)
	case opts.Leave != "" && opts.Decision == 0:
		if opts.Decision, err = firstStart(log, opts.Leave); err != nil {
			return err
		}
	case opts.Decision == 0:
		return cmdline.Usage("--start and --candidate: want --decision, too; without them the command lists the decisions")
	}
	p, err := a.findPolicy(name)
	if err != nil {
		return fmt.Errorf("who decides afterwards: %w; name another with --policy", err)
	}
	if opts.Leave == "" && opts.Start == "" && opts.Candidate == 0 {
		return showChoice(a, log, p, opts)
	}
	past, err := whatif.Alter(ctx, log, p, opts.Alteration, opts.seed)
	if err != nil {
		return err
	}
	if opts.logOut != "" {
		if err := a.Write(opts.logOut, past.Is.Write); err != nil {
			return err
		}
	}
	return printPast(a, log, past, opts)
}

// firstStart returns the number of the decision that first starts a job.
func firstStart(log *sim.Log, job string) (int, error) {
	all, err := whatif.Decisions(log)
	if err != nil {
		return 0, err
	}
	for i := range all {
		if slices.Contains(all[i].Starts, job) {
			return all[i].Number, nil
		}
	}
	return 0, cmdline.Usage("--leave %q: no decision of the log starts such a job", job)
}

func listDecisions(a *app, log *sim.Log, opts pastOptions) error {
	all, err := whatif.Decisions(log)
	if err != nil {
		return err
	}
	if opts.job != "" {
		all = slices.DeleteFunc(all, func(d whatif.Decision) bool { return !slices.Contains(d.Jobs, opts.job) })
	}
	if a.JSON {
		return a.PrintJSON(append([]whatif.Decision{}, all...))
	}
	rows := [][]string{{"decision", "at", "what the log does"}}
	for _, d := range all {
		rows = append(rows, []string{fmt.Sprint(d.Number), clock(d.At).String(), d.Does})
	}
	return a.PrintRows(rows)
}

// showChoice prints what a learned team would weigh at a decision.
func showChoice(a *app, log *sim.Log, p *policy.Policy, opts pastOptions) error {
	all, err := whatif.Choices(log, p, opts.Decision, opts.seed)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	if len(all) == 0 {
		a.Printf("%s has nothing to choose at decision %d\n", p.Name, opts.Decision)
		return nil
	}
	return (&jobPlan{of: len(all)}).printChoice(a, &all[0])
}

// alteredJob is a job whose end differs.
type alteredJob struct {
	Job   string   `json:"job"`
	Was   *float64 `json:"end_s,omitempty"`         // with the decision as it was
	Is    *float64 `json:"changed_end_s,omitempty"` // with the other one
	Later float64  `json:"later_s,omitempty"`       // how much later it ends
}

// pastResult is the result of whatif past.
type pastResult struct {
	Decision int          `json:"decision"`
	At       float64      `json:"at_s"`
	Does     string       `json:"does"`
	Instead  string       `json:"instead"`
	Dropped  []string     `json:"no_longer_fits,omitempty"`
	Policy   string       `json:"policy"`
	Log      eval.Metrics `json:"log"`
	Differs  bool         `json:"decides_otherwise"` // the policy does not repeat what the log has after the decision as it was
	Same     eval.Metrics `json:"as_it_was"`
	Is       eval.Metrics `json:"changed"`
	Jobs     []alteredJob `json:"jobs"` // whose end differs, the most affected first
}

func printPast(a *app, log *sim.Log, past *whatif.Past, opts pastOptions) error {
	r := pastResult{
		Decision: opts.Decision, At: past.At.Seconds(), Does: past.Does, Instead: past.Instead, Dropped: past.Dropped,
		Policy: past.Is.Scheduler, Log: eval.Measure(log), Same: eval.Measure(past.Same), Is: eval.Measure(past.Is),
		Jobs: altered(past),
	}
	_, r.Differs = sim.FirstDifference(log, past.Same)
	if a.JSON {
		return a.PrintJSON(r)
	}
	a.Printf("decision %d at %s: %s\ninstead:     %s\n", r.Decision, clock(r.At), r.Does, r.Instead)
	for _, text := range r.Dropped {
		a.Printf("no longer fits: %s\n", text)
	}
	a.Printf("afterwards:  %s decides\n", r.Policy)
	if r.Differs {
		a.Printf("as it was:   %s decides afterwards otherwise than the log, whose mean JCT is %s\n", r.Policy,
			phrase.Seconds(r.Log.MeanJCT))
	}
	a.Printf("\n")
	head := [][]string{{"", "as it was"}}
	columns := [][][]string{append(head, metricRows(&r.Same)...), append([][]string{{"", "changed"}}, metricRows(&r.Is)...)}
	if err := a.PrintRows(sideBySide(columns)); err != nil {
		return err
	}
	if len(r.Jobs) == 0 {
		a.Printf("\nevery job ends at the same time\n")
		return nil
	}
	a.Printf("\n%s whose end differs; mean JCT %+.4g s\n", phrase.Count(len(r.Jobs), "job"), r.Is.MeanJCT-r.Same.MeanJCT)
	rows := [][]string{{"job", "ends, as it was", "changed", "later by"}}
	end := func(x *float64) string {
		if x == nil {
			return "never"
		}
		return clock(*x).String()
	}
	for _, j := range r.Jobs[:min(len(r.Jobs), opts.top)] {
		later := "-"
		if j.Was != nil && j.Is != nil {
			later = clock(j.Later).String()
		}
		rows = append(rows, []string{j.Job, end(j.Was), end(j.Is), later})
	}
	return a.PrintRows(rows)
}

// altered returns the jobs whose end differs, the most affected first.
func altered(past *whatif.Past) []alteredJob {
	all := []alteredJob{}
	was, is := eval.Rows(past.Same), eval.Rows(past.Is)
	for i := range was {
		if was[i].Finished == is[i].Finished && was[i].End == is[i].End {
			continue
		}
		j := alteredJob{Job: was[i].Name, Later: math.MaxFloat64}
		if was[i].Finished {
			j.Was = new(was[i].End.Seconds())
		}
		if is[i].Finished {
			j.Is = new(is[i].End.Seconds())
		}
		if j.Was != nil && j.Is != nil {
			j.Later = *j.Is - *j.Was
		}
		all = append(all, j)
	}
	slices.SortStableFunc(all, func(a, b alteredJob) int { return cmp.Compare(math.Abs(b.Later), math.Abs(a.Later)) })
	for i := range all {
		if all[i].Was == nil || all[i].Is == nil {
			all[i].Later = 0
		}
	}
	return all
}

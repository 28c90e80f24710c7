package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/policy"
)

type evalOptions struct {
	scenarios []string
	sets      []string
	policies  []string
	baseline  string
	seeds     int
	split     string
	windows   int
	cores     int
	pool      poolOptions
	out       string
	overlap   bool
	gate      string
	parquet   bool
	marlEval  bool
	figures   []string
	fresh     bool
	markdown  bool
	metric    string
	overSeeds bool
}

func newEvalCmd(a *app) *cobra.Command {
	var opts evalOptions
	cmd := &cobra.Command{
		Use:   "eval --scenario S,... --policies A,B,...",
		Short: "Compare policies on the same arrivals",
		Long: cmdline.Long(`
Plays every window of a split of every scenario under every policy and every seed, in parallel, and prints means and paired
differences from the baseline with 95 % confidence intervals over windows. The folder --out gets

  report.html    one page that opens offline: tables, distributions, learning curves, schedules to look into
  results.json   the comparisons; results.jsonl has one line per case, results.parquet (--parquet) one row
  marl-eval.json the results for the Python package marl-eval (--marl-eval)
  figures/       each figure as a file, as SVG or in the formats of --figures
  schedules/     event logs of the first window of each scenario: see replay
  timing.jsonl   the time that cases and decisions took
  journal.jsonl  the finished cases

Equal command lines write equal bytes, except timing.jsonl. To continue an evaluation that was killed, start it again.
Finished cases of the same scenario, policy and program are not played again, so a run with one policy more plays only that
policy. Without --out, results of another command are not replaced: the folder runs/eval-SCENARIO-2, or the next free one, is
taken. With --out, the folder's results are replaced.

--workers N starts N processes that play the cases, and --listen lets workers of other machines play them, too, with TLS and a
token: see clustergym worker, and clustergym workers for what they do. Results are the same, byte for byte. A policy from a
folder must be at the same path on each machine.

A policy is a baseline (see baselines ls), prior, released, which comes with the program, or the folder of an exported policy
or of a run, whose best weights are used; name=folder sets its name in the tables. prior is that of the first learned policy
in the list. With the option predictor=fitted, as in a-srpt:predictor=fitted, a policy first trains a random forest on the
training split of each scenario, as predictor fit does; all its cases there use that forest. The command refuses to evaluate a
policy on jobs that it was trained or selected on, unless --allow-overlap is given.

A gate is a YAML file of bounds, each with its reason:

  bounds:
    - policy: learned
      metric: mean_jct_s        # a key of results.json
      of: relative              # to the baseline, in percent; or mean, the default
      at: hi                    # end of the interval: lo, hi or mean, the default
      max: -2                   # or min, or both
      why: -5.1 [-7.2, -3.0] on 2026-11-21`,
			cmdline.CodeSomeFailed, cmdline.CodeGate, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym eval --scenario embedded-small-v1 --policies fifo,sjfskip,srtf,las
  clustergym eval --scenario venus-contended-v1,philly-contended-v1 --policies fifo,srtf,learned=runs/venus --seeds 5
  clustergym eval --scenario venus-contended-v1 --policies learned=runs/venus --gate gate.yaml --figures png,pdf`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEval(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&opts.scenarios, "scenario", "s", nil,
		"built-in scenarios, see scenario ls, YAML files or folders of runs, commas between")
	f.StringArrayVar(&opts.sets, "set", nil, "change the scenarios: key=value, such as cluster.servers=16; repeatable")
	f.StringSliceVarP(&opts.policies, "policies", "p", nil, "the policies to compare, separated by commas")
	f.StringVar(&opts.baseline, "baseline", "sjfskip",
		"the policy that the others are compared with; it is added to --policies if missing")
	f.IntVar(&opts.seeds, "seeds", 0, "run every window with the seeds 1 to n, 0 for the scenario's own seeds")
	f.StringVar(&opts.split, "split", string(scenario.Test), "split whose windows are played: train, validation or test")
	f.IntVar(&opts.windows, "windows", 0, "how many windows of each scenario to play, from the first on, 0 for all")
	f.IntVar(&opts.cores, "cores", 0, "how many episodes to play at once without workers, 0 for one per core")
	opts.pool.addFlags(f, "the episodes")
	f.StringVarP(&opts.out, "out", "o", "", "folder of the results (default runs/eval-SCENARIO)")
	f.BoolVar(&opts.overlap, "allow-overlap", false, "also evaluate policies on jobs that they were trained or selected on")
	f.StringVar(&opts.gate, "gate", "", "YAML file of bounds: exit with status 4 if one is broken")
	f.BoolVar(&opts.parquet, "parquet", false, "also write results.parquet")
	f.BoolVar(&opts.marlEval, "marl-eval", false, "also write marl-eval.json, for the Python package marl-eval")
	f.StringSliceVar(&opts.figures, "figures", []string{"svg"}, "formats of the figures: svg, png, pdf, or none")
	f.BoolVar(&opts.fresh, "fresh", false, "play every case again, even if the folder has its result")
	f.BoolVar(&opts.markdown, "markdown", false, "print the result as one Markdown table")
	f.StringVar(&opts.metric, "metric", "mean_jct_s", "the metric that --markdown shows, a key of results.json")
	f.BoolVar(&opts.overSeeds, "over-seeds", false,
		"with --markdown: one row for policies NAME-1, NAME-2, ..., with the interval over these seeds of training")
	cmdline.Require(cmd, "scenario", "policies")
	cmdline.CompleteKeys(cmd, "set", flags.ScenarioKeys)
	cmdline.CompleteList(cmd, "scenario", scenario.All)
	cmdline.CompleteList(cmd, "policies", policy.Names)
	cmdline.Complete(cmd, "baseline", policy.Names)
	cmdline.Complete(cmd, "split", flags.Splits)
	cmdline.Complete(cmd, "metric", metricNames)
	cmdline.CompleteList(cmd, "figures", figureNames)
	return cmd
}

// evaluated is the result of eval. The file results.jsonl of its folder contains all single results.
type evaluated struct {
	Out         string            `json:"out"`
	Report      string            `json:"report"`
	Comparisons []eval.Comparison `json:"comparisons"`
	Latency     []latency         `json:"decision_latency"`
	Failed      []string          `json:"failed,omitempty"` // cases, each with its error
	Gate        []eval.Verdict    `json:"gate,omitempty"`

	results []eval.Result     // those of results.jsonl: also of policies of which some cases failed
	failed  *eval.FailedError // nil if none did
}

func runEval(ctx context.Context, a *app, opts evalOptions) error {
	if err := cmdline.OneOf("metric", opts.metric, metricNames()...); err != nil {
		return err
	}
	result, err := evaluate(ctx, a, opts)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		err = a.PrintJSON(result)
	case opts.markdown:
		err = result.printMarkdown(a, opts.metric, opts.overSeeds)
	default:
		err = result.print(a)
	}
	return errors.Join(err, result.verdict())
}

// verdict returns the error that sets the exit status: for failed cases, otherwise for broken bounds.
func (e *evaluated) verdict() error {
	if n := len(e.Failed); n > 0 {
		return cmdline.Fail(cmdline.CodeSomeFailed, fmt.Errorf("%s failed; the others are in %s\n  %s", phrase.Count(n, "case"), e.Out,
			strings.Join(e.failed.Groups(), "\n  ")))
	}
	broken := 0
	for i := range e.Gate {
		if !e.Gate[i].Met {
			broken++
		}
	}
	if broken > 0 {
		return cmdline.Fail(cmdline.CodeGate, fmt.Errorf("%d of %s broken", broken, phrase.Count(len(e.Gate), "bound")))
	}
	return nil
}

func (o *evalOptions) validate() error {
	if err := cmdline.OneOf("split", o.split, flags.Splits()...); err != nil {
		return err
	}
	if len(o.policies) == 0 || len(o.scenarios) == 0 {
		return cmdline.Usage("--scenario and --policies: want at least one of each")
	}
	if o.seeds < 0 || o.windows < 0 || o.cores < 0 {
		return cmdline.Usage("--seeds %d, --windows %d, --cores %d: want 0 or more", o.seeds, o.windows, o.cores)
	}
	if o.overSeeds && !o.markdown {
		return cmdline.Usage("--over-seeds: want --markdown, too")
	}
	for _, f := range o.figures {
		if err := cmdline.OneOf("figures", f, figureNames()...); err != nil {
			return err
		}
	}
	return nil
}

// command returns a command line that repeats this evaluation.
func (o *evalOptions) command() string {
	words := []string{"clustergym", "eval", "--scenario", list(o.scenarios)}
	for _, s := range o.sets {
		words = append(words, "--set", s)
	}
	words = append(words, "--policies", list(o.policies), "--baseline", o.baseline)
	if o.split != string(scenario.Test) {
		words = append(words, "--split", o.split)
	}
	if o.windows > 0 {
		words = append(words, "--windows", fmt.Sprint(o.windows))
	}
	if o.seeds > 0 {
		words = append(words, "--seeds", fmt.Sprint(o.seeds))
	}
	return line(words)
}

// readGate reads the bounds. It returns nil if the flags name none.
func (o *evalOptions) readGate() (*eval.Gate, error) {
	if o.gate == "" {
		return nil, nil
	}
	f, err := os.Open(o.gate)
	if err != nil {
		return nil, fmt.Errorf("read gate: %w", err)
	}
	defer f.Close()
	g, err := eval.ReadGate(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.gate, err)
	}
	return g, nil
}

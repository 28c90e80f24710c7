package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

type evalOptions struct {
	Scenarios []string `flag:"scenario,s" required:"true" complete:"scenario" help:"built-in scenarios, see scenario ls, YAML files or folders of runs, commas between"`
	Sets      []string `flag:"set" keys:"scenariokeys" help:"change the scenarios: key=value, such as cluster.servers=16; repeatable"`
	Policies  []string `flag:"policies,p" required:"true" complete:"policy" help:"the policies to compare, separated by commas"`
	Objective []string `flag:"objective" complete:"objective" help:"measure by these objectives, too, and rank by the first: names or YAML files, see objective ls"`
	Baseline  string   `flag:"baseline" default:"sjfskip" complete:"policy" help:"the policy that the others are compared with; it is added to --policies if missing"`
	Seeds     int      `flag:"seeds" min:"0" help:"run every window with the seeds 1 to n, 0 for the scenario's own seeds"`
	Split     string   `flag:"split" default:"test" of:"split" help:"split whose windows are played: train, validation or test"`
	Windows   int      `flag:"windows" min:"0" help:"how many windows of each scenario to play, from the first on, 0 for all"`
	Cores     int      `flag:"cores" min:"0" help:"how many episodes to play at once without workers, 0 for one per core"`
	Pool      poolOptions
	Out       string   `flag:"out,o" help:"folder of the results (default runs/eval-SCENARIO)"`
	Overlap   bool     `flag:"allow-overlap" help:"also evaluate policies on jobs that they were trained or selected on"`
	Gate      string   `flag:"gate" help:"YAML file of bounds: exit with status 4 if one is broken"`
	Parquet   bool     `flag:"parquet" help:"also write results.parquet"`
	MarlEval  bool     `flag:"marl-eval" help:"also write marl-eval.json, for the Python package marl-eval"`
	Figures   []string `flag:"figures" default:"svg" of:"figure" help:"formats of the figures: svg, png, pdf, or none"`
	Markdown  bool     `flag:"markdown" help:"print the result as one Markdown table"`
	Metric    string   `flag:"metric" default:"mean_jct_s" of:"metric" help:"the metric that --markdown shows, a key of results.json; with --objective the costs by them"`
	OverSeeds bool     `flag:"over-seeds" help:"with --markdown: one row for policies NAME-1, NAME-2, ..., with the interval over these seeds of training"`

	program string // that evaluates; "" for clustergym
}

func newEvalCmd(a *app) *cobra.Command {
	return newCommand(a, &evalOptions{}, &cobra.Command{
		Use:   "eval --scenario S,... --policies A,B,...",
		Short: "Compare policies on the same arrivals",
		Long: cmdline.Long(`
Plays every window of a split of every scenario under every policy and every seed, in parallel, and prints means and paired
differences from the baseline with 95 % confidence intervals over windows. With --objective, costs come first, ranked by the first
objective, with their parts by term, size of jobs and tenant. The folder --out gets

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

A policy is a baseline (see baselines), prior, released, which comes with the program, or the folder of an exported policy
or of a run, whose best weights are used; name=folder sets its name in the tables. prior is that of the first learned policy
in the list. With the option predictor=fitted, as in a-srpt:predictor=fitted, a policy first trains a random forest on the
training split of each scenario; all its cases there use that forest. The command refuses to evaluate a
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
	}, runEval)
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

	objectives []*objectives.Objective
}

func runEval(ctx context.Context, a *app, opts *evalOptions, _ []string) error {
	opts.program = a.program
	result, err := evaluate(ctx, a, opts)
	if err != nil {
		return err
	}
	switch {
	case a.JSON:
		err = a.PrintJSON(result)
	case opts.Markdown:
		metrics := []string{opts.Metric}
		if len(opts.Objective) > 0 {
			metrics = result.Comparisons[0].CostKeys()
		}
		err = result.printMarkdown(a, metrics, opts.OverSeeds)
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
	if len(o.Policies) == 0 || len(o.Scenarios) == 0 {
		return cmdline.Usage("--scenario and --policies: want at least one of each")
	}
	if o.OverSeeds && !o.Markdown {
		return cmdline.Usage("--over-seeds: want --markdown, too")
	}
	return nil
}

// command returns a command line that repeats this evaluation.
func (o *evalOptions) command() string {
	words := []string{cmp.Or(o.program, "clustergym"), "eval", "--scenario", list(o.Scenarios)}
	for _, s := range o.Sets {
		words = append(words, "--set", s)
	}
	words = append(words, "--policies", list(o.Policies), "--baseline", o.Baseline)
	if len(o.Objective) > 0 {
		words = append(words, "--objective", list(o.Objective))
	}
	if o.Split != string(scenario.Test) {
		words = append(words, "--split", o.Split)
	}
	if o.Windows > 0 {
		words = append(words, "--windows", fmt.Sprint(o.Windows))
	}
	if o.Seeds > 0 {
		words = append(words, "--seeds", fmt.Sprint(o.Seeds))
	}
	return line(words)
}

// readGate reads the bounds. It returns nil if the flags name none.
func (o *evalOptions) readGate() (*eval.Gate, error) {
	if o.Gate == "" {
		return nil, nil
	}
	f, err := os.Open(o.Gate)
	if err != nil {
		return nil, fmt.Errorf("read gate: %w", err)
	}
	defer f.Close()
	g, err := eval.ReadGate(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Gate, err)
	}
	return g, nil
}

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/studies/demand"
	"github.com/clustergym/clustergym/studies/reproduce"
)

func newReproduceCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("reproduce", "Repeat the experiments of papers and compare with their figures",
		`The papers' workloads are not public, so the experiments run on generated workloads of the same size. The report checks
whether the published order of the schemes and similar ratios hold.`,
		newReproduceArylCmd(a), newReproduceASRPTCmd(a))
}

// reproduceOptions are the flags that both commands share.
type reproduceOptions struct {
	scale   float64
	seed    uint64
	seeds   int
	rows    []string
	workers int
	list    bool
	out     string
}

func (o *reproduceOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Float64Var(&o.scale, "scale", 1, "size of the cluster and number of jobs, relative to the full experiment")
	f.Uint64Var(&o.seed, "seed", 1, "the first seed")
	f.IntVar(&o.seeds, "seeds", 3, "how many seeds to run, from the first on; results are means over them")
	f.StringSliceVar(&o.rows, "rows", nil, "keys of the rows to run; a * at the end matches all keys that begin so (default all)")
	f.IntVar(&o.workers, "workers", 2, "how many episodes to play at once, 0 for one per core")
	f.BoolVar(&o.list, "list", false, "only list the rows: key, table, scheme, policy")
	f.StringVarP(&o.out, "out", "o", "", "Markdown report to write, with the differences from the paper")
}

func (o *reproduceOptions) validate() error {
	if err := reproduce.Scale(o.scale).Validate(); err != nil {
		return cmdline.Usage("--scale: %v", err)
	}
	if o.seeds < 1 || o.seeds > 1000 || o.workers < 0 {
		return cmdline.Usage("--seeds %d, --workers %d: want 1 to 1000, and 0 or more", o.seeds, o.workers)
	}
	return nil
}

const reproduceLong = `

If the policy of a row fails, the row shows the error, and the other rows are still run. An interrupt ends the run; the table
then contains the rows that were finished. Equal command lines write equal bytes, whatever the number of workers.`

func newReproduceArylCmd(a *cmdline.App) *cobra.Command {
	var opts reproduceOptions
	var predictor string
	var jobs int
	cmd := &cobra.Command{
		Use:   "aryl",
		Short: "Repeat the experiments of Lyra, whose preprint is called Aryl",
		Long: cmdline.Long(`
Runs Table 5, Table 6 and the sensitivity experiments of Lyra (Li et al., EuroSys 2023; Aryl, arXiv:2202.07896) at their
scale: 15 days, 50,390 jobs, 443 x 8 GPUs for training and 520 x 8 that serve inference and lend. Prints our figures next to
the paper's, and for each published order and ratio whether it holds.`+reproduceLong, cmdline.CodeSomeFailed),
		Example: `  clustergym-studies reproduce aryl --out aryl.md
  clustergym-studies reproduce aryl --rows fifo,basic,loaning,scf,random --seeds 5
  clustergym-studies reproduce aryl --scale 0.1 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("jobs") {
				if cmd.Flags().Changed("scale") {
					return cmdline.Usage("--jobs and --scale: want one of them")
				}
				opts.scale = float64(jobs) / reproduce.LyraJobs
			}
			if err := opts.validate(); err != nil {
				return err
			}
			p, err := findUsagePredictor(predictor)
			if err != nil {
				return err
			}
			e, err := reproduce.Lyra(reproduce.LyraOptions{Scale: reproduce.Scale(opts.scale), Predictor: p})
			if err != nil {
				return err
			}
			return runReproduce(cmd.Context(), a, e, opts)
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	f.IntVar(&jobs, "jobs", reproduce.LyraJobs, "number of jobs; the cluster shrinks in proportion")
	f.StringVar(&predictor, "predictor", usagePredictorNames()[0],
		"predictor of inference demand: "+strings.Join(usagePredictorNames(), ", "))
	cmdline.Complete(cmd, "predictor", usagePredictorNames)
	return cmd
}

func newReproduceASRPTCmd(a *cmdline.App) *cobra.Command {
	var opts reproduceOptions
	cmd := &cobra.Command{
		Use:   "a-srpt",
		Short: "Compare A-SRPT with its rivals over load, communication, prediction error and delay",
		Long: cmdline.Long(`
Runs A-SRPT (Luo et al., INFOCOM 2025) and its comparison set with different loads, shares of jobs that communicate much,
prediction errors, delay thresholds, mapping rules and start rules. The paper's figures are not available, so the table shows
none: it shows in which settings A-SRPT is best.`+reproduceLong, cmdline.CodeSomeFailed),
		Example: `  clustergym-studies reproduce a-srpt --seeds 5 --out a-srpt.md
  clustergym-studies reproduce a-srpt --rows 'load-0.9/*,tau/*'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.validate(); err != nil {
				return err
			}
			e, err := reproduce.ASRPT(reproduce.ASRPTOptions{Scale: reproduce.Scale(opts.scale)})
			if err != nil {
				return err
			}
			return runReproduce(cmd.Context(), a, e, opts)
		},
	}
	opts.addFlags(cmd)
	return cmd
}

// usagePredictors returns the predictors of inference usage: those of package reproduce, and the released LSTM, the kind that
// the paper uses.
func usagePredictors() []reproduce.Predictor {
	return append(reproduce.Predictors(), reproduce.Predictor{
		Name: "lstm", New: func(_, _ inference.Series) (inference.Predictor, error) {
			return demand.NewRecurrent(demand.Released()), nil
		},
	})
}

func usagePredictorNames() []string {
	var names []string
	for _, p := range usagePredictors() {
		names = append(names, p.Name)
	}
	return names
}

func findUsagePredictor(name string) (reproduce.Predictor, error) {
	for _, p := range usagePredictors() {
		if p.Name == name {
			return p, nil
		}
	}
	return reproduce.Predictor{}, cmdline.OneOf("predictor", name, usagePredictorNames()...)
}

// runReproduce runs an experiment and prints its report.
func runReproduce(ctx context.Context, a *cmdline.App, e *reproduce.Experiment, opts reproduceOptions) error {
	if len(opts.rows) > 0 {
		if err := e.Select(opts.rows); err != nil {
			return cmdline.Usage("--rows: %v", err)
		}
	}
	if opts.list {
		return listExperiment(a, e)
	}
	var seeds []uint64
	for i := range opts.seeds {
		seeds = append(seeds, opts.seed+uint64(i))
	}
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(len(e.Rows) * len(seeds)), Label: e.Name, Unit: "episodes",
	})
	report, err := e.Run(ctx, seeds, opts.workers, func(n int, row *reproduce.Row) {
		bar.Set(int64(n))
		bar.Note(row.Key)
	})
	bar.Finish()
	if report == nil {
		return err
	}
	if failed := report.Failed(); err == nil && failed > 0 {
		err = cmdline.Fail(cmdline.CodeSomeFailed, fmt.Errorf("%d of %d rows failed", failed, len(report.Rows)))
	}
	if failed := report.Failed(); failed < len(report.Rows) { // there is something to show
		if err := printReport(a, report, opts.out); err != nil {
			return err
		}
	}
	return err
}

func printReport(a *cmdline.App, r *reproduce.Report, out string) error {
	if out != "" {
		if err := a.Write(out, r.WriteMarkdown); err != nil {
			return err
		}
		if out == "-" {
			return nil
		}
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	return r.WriteText(a.Out)
}

// experimentRow is a row of the output of --list.
type experimentRow struct {
	Key    string `json:"key"`
	Table  string `json:"table"`
	Name   string `json:"name"`
	Policy string `json:"policy"`
}

func listExperiment(a *cmdline.App, e *reproduce.Experiment) error {
	var listed []experimentRow
	cells := [][]string{{"key", "table", "scheme", "policy"}}
	for _, r := range e.Rows {
		listed = append(listed, experimentRow{r.Key, r.Table, r.Name, r.Policy})
		cells = append(cells, []string{r.Key, r.Table, r.Name, r.Policy})
	}
	if a.JSON {
		return a.PrintJSON(listed)
	}
	return a.PrintRows(cells)
}

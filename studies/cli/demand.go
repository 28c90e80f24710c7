package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/studies/demand"
)

func newDemandCmd(a *cmdline.App) *cobra.Command {
	return cmdline.NewGroup("demand", "Train and compare predictors of inference demand",
		`How many servers inference can lend to training depends on its demand five minutes later. docs/inference.md explains the
rule, the predictors and their errors.`,
		newDemandFitCmd(a), newDemandCompareCmd(a))
}

// demandSeries are the flags that demand fit and demand compare share.
type demandSeries struct {
	names []string
	days  int
	draws int
}

const seriesHelp = "generated, or an archive of ServeGen's request rates; repeatable, or separated by commas"

func (s *demandSeries) addFlags(cmd *cobra.Command, draws int, drawsHelp string) {
	f := cmd.Flags()
	f.StringSliceVarP(&s.names, "series", "s", []string{demand.Generated}, seriesHelp)
	f.IntVar(&s.days, "train-days", 10, "number of days to fit to, from the first on")
	f.IntVar(&s.draws, "draws", draws, drawsHelp)
	cmdline.Complete(cmd, "series", func() []string { return []string{demand.Generated} })
}

func (s *demandSeries) validate() error {
	if s.draws < 1 || s.draws > 1000 {
		return cmdline.Usage("--draws %d, want 1 to 1000", s.draws)
	}
	if len(s.names) == 0 {
		return cmdline.Usage("--series is empty, want %s", seriesHelp)
	}
	return nil
}

type demandFitOptions struct {
	series demandSeries
	train  demand.Config
	out    string
}

func newDemandFitCmd(a *cmdline.App) *cobra.Command {
	opts := demandFitOptions{train: demand.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "fit --out FILE",
		Short: "Train the LSTM that predicts inference demand",
		Long: cmdline.Long(`
Trains the network on the first days of one or more series together. Writes the weights of the epoch that did best on the
last part of those days, which is not used for training. Errors are mean squared errors of usage, in shares of the pool, five
minutes ahead. Equal command lines write equal bytes.

ServeGen's bins of ten minutes are divided in two at random, and the generated series is entirely random: --draws sets how
many draws of each series to train on.

An interrupt lets the current epoch finish and writes the best weights so far; a second one ends at once and writes nothing.`),
		Example: `  clustergym-studies demand fit --series generated --out lstm.safetensors
  clustergym-studies demand fit --series m-small.tar.gz,m-large.tar.gz --draws 4 --hidden 16 --epochs 40 --out lstm.safetensors`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemandFit(cmd.Context(), a, opts) },
	}
	opts.series.addFlags(cmd, 1, "how many draws of each series to train on")
	f := cmd.Flags()
	c := &opts.train
	f.StringVarP(&opts.out, "out", "o", "", "safetensors file to write")
	f.IntVar(&c.Hidden, "hidden", c.Hidden, "number of units in each of the two layers")
	f.IntVar(&c.Epochs, "epochs", c.Epochs, "how many times to go through the samples at most")
	f.IntVar(&c.Patience, "patience", c.Patience, "training ends after this many epochs in a row without improvement")
	f.IntVar(&c.Batch, "batch", c.Batch, "samples per gradient step")
	f.Float64Var(&c.Rate, "rate", c.Rate, "Adam's learning rate in the first epoch; it falls to a tenth in the last")
	f.Float64Var(&c.Validation, "validation", c.Validation,
		"share of the training days, at their end, by which the best epoch is chosen")
	f.Uint64Var(&c.Seed, "seed", c.Seed, "seed of initial weights and sample order; draws have the seeds 1, 2, ...")
	cmdline.Require(cmd, "out")
	return cmd
}

// demandFitted is the result of demand fit.
type demandFitted struct {
	Out    string   `json:"out"`
	Series []string `json:"series"`
	Draws  int      `json:"draws"`
	Days   int      `json:"train_days"`
	Hidden int      `json:"hidden"`
	demand.Report
}

func runDemandFit(ctx context.Context, a *cmdline.App, opts demandFitOptions) error {
	if err := opts.series.validate(); err != nil {
		return err
	}
	if err := opts.train.Validate(); err != nil {
		return cmdline.Fail(cmdline.CodeUsage, err)
	}
	var series []inference.Series
	for _, name := range opts.series.names {
		for draw := range opts.series.draws {
			u, err := demand.Open(name, uint64(draw)+1)
			if err != nil {
				return err
			}
			if u, err = demand.TrainingPart(u, opts.series.days); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			series = append(series, u)
		}
	}
	n, report, err := demandTrain(ctx, a, series, opts.train)
	if err != nil {
		return err
	}
	if report.Epochs == 0 {
		return fmt.Errorf("nothing trained, nothing written: %w", ctx.Err())
	}
	if err := a.Write(opts.out, func(w io.Writer) error { return demand.WriteLSTM(w, n) }); err != nil {
		return err
	}
	result := demandFitted{opts.out, opts.series.names, opts.series.draws, opts.series.days, opts.train.Hidden, report}
	if err := result.print(a); err != nil {
		return err
	}
	if report.Stopped {
		return cmdline.Fail(cmdline.CodeInterrupted, fmt.Errorf("stopped after epoch %d of %d; the best so far is in %s",
			report.Epochs, opts.train.Epochs, opts.out))
	}
	return nil
}

// demandTrain trains and shows its progress.
func demandTrain(
	ctx context.Context, a *cmdline.App, series []inference.Series, c demand.Config,
) (*demand.LSTM, demand.Report, error) {
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(c.Epochs), Label: "demand", Unit: "epochs"})
	defer bar.Finish()
	defer context.AfterFunc(ctx, func() { bar.Note("interrupted: finishing this epoch, a second signal ends at once") })()
	return demand.Train(ctx, series, c, func(e demand.Epoch) {
		bar.Set(int64(e.Epoch))
		bar.Note(fmt.Sprintf("mse %.6f  validation %.6f", e.Train, e.Validation))
	})
}

func (r *demandFitted) print(a *cmdline.App) error {
	if r.Out == "-" {
		return nil // standard output contains the weights
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	a.Printf("%s: best of %d epochs is %d, with a mean squared error of %.6f on validation (the last value: %.6f)\n",
		r.Out, r.Epochs, r.Best.Epoch, r.Best.Validation, r.Start.Validation)
	if r.Best.Epoch == 0 {
		a.Say("no epoch was better than the last value: the weights written predict just that")
	}
	a.Printf("compare:  clustergym-studies demand compare --series %s --lstm %s\n", strings.Join(r.Series, ","), r.Out)
	return nil
}

type demandCompareOptions struct {
	series  demandSeries
	lstm    string
	servers int
}

func newDemandCompareCmd(a *cmdline.App) *cobra.Command {
	var opts demandCompareOptions
	cmd := &cobra.Command{
		Use:   "compare --series S",
		Short: "Compare predictors of inference demand on days they were not fitted to",
		Long: cmdline.Long(fmt.Sprintf(`
Lets every predictor predict a series five minutes ahead and evaluates it on the days after the training days. Prints the
mean absolute and squared error, in shares of the pool; the mean number of servers lent under the headroom of %g %%; and the
share of demand that finds no server if training takes every server that is lent. Prints the last two again with the margin
that the predictor needs on the training days.

The autoregressive model is fitted to the training days of each series. The LSTM is --lstm, or the released one, which was
trained on the first ten days of ServeGen's m-large and m-small: with fewer --train-days it would be evaluated on days that
it was trained on. With several draws the results are means.`, 100*inference.DefaultHeadroom)),
		Example: `  clustergym-studies demand compare --series generated
  clustergym-studies demand compare --series m-small.tar.gz,m-large.tar.gz --draws 20 --lstm lstm.safetensors`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemandCompare(cmd.Context(), a, opts) },
	}
	opts.series.addFlags(cmd, 1, "how many draws of each series to average over")
	f := cmd.Flags()
	f.StringVar(&opts.lstm, "lstm", "", "weights file that demand fit wrote (default the released weights)")
	f.IntVar(&opts.servers, "servers", 520, "number of servers in the pool; Lyra's has 520")
	return cmd
}

// demandCompared is the result of demand compare for one series.
type demandCompared struct {
	Series     string       `json:"series"`
	Draws      int          `json:"draws"`
	Days       int          `json:"train_days"`
	Servers    int          `json:"servers"`
	Predictors []demand.Row `json:"predictors"`
}

func runDemandCompare(ctx context.Context, a *cmdline.App, opts demandCompareOptions) error {
	if err := opts.series.validate(); err != nil {
		return err
	}
	n, err := readLSTM(opts.lstm)
	if err != nil {
		return err
	}
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(len(opts.series.names) * opts.series.draws), Label: "compare", Unit: "draws",
	})
	defer bar.Finish()
	var results []demandCompared
	for _, name := range opts.series.names {
		var draws [][]demand.Row
		for draw := range opts.series.draws {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows, err := opts.compare(name, uint64(draw)+1, n)
			if err != nil {
				return fmt.Errorf("compare predictors on %s: %w", name, err)
			}
			draws = append(draws, rows)
			bar.Add(1)
		}
		results = append(results, demandCompared{name, len(draws), opts.series.days, opts.servers, demand.Mean(draws)})
	}
	bar.Finish()
	if a.JSON {
		return a.PrintJSON(results)
	}
	return printDemand(a, results)
}

// compare compares all predictors on one draw of a series.
func (o *demandCompareOptions) compare(name string, seed uint64, n *demand.LSTM) ([]demand.Row, error) {
	u, err := demand.Open(name, seed)
	if err != nil {
		return nil, err
	}
	part, err := demand.TrainingPart(u, o.series.days)
	if err != nil {
		return nil, err
	}
	predictors, err := demand.Predictors(u, len(part.Values), n)
	if err != nil {
		return nil, err
	}
	return demand.Compare(u, len(part.Values), predictors, o.servers)
}

// readLSTM reads weights from a file; without a path it returns the released ones.
func readLSTM(path string) (*demand.LSTM, error) {
	if path == "" {
		return demand.Released(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, cmdline.NoRun(fmt.Errorf("open weights: %w", err))
		}
		return nil, fmt.Errorf("open weights: %w", err)
	}
	defer f.Close()
	n, err := demand.ReadLSTM(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return n, nil
}

func printDemand(a *cmdline.App, results []demandCompared) error {
	rows := [][]string{{"series", "predictor", "MAE", "MSE", "lent", "unserved", "margin", "lent", "unserved"}}
	for _, r := range results {
		for _, p := range r.Predictors {
			rows = append(rows, []string{
				r.Series, p.Predictor, fmt.Sprintf("%.4f", p.MAE), fmt.Sprintf("%.5f", p.MSE), fmt.Sprintf("%.0f", p.Lent),
				fmt.Sprintf("%.2f %%", 100*p.Unserved), fmt.Sprintf("%.2f", p.Margin), fmt.Sprintf("%.0f", p.LentMargin),
				fmt.Sprintf("%.3f %%", 100*p.UnservedMargin),
			})
		}
	}
	return a.PrintRows(rows)
}

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/eval/beliefs"
	"github.com/clustergym/clustergym/eval/figure"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

type askOptions struct {
	logs []string
	from flags.Scenario // whose training split teaches; its name is "" for none
	at   time.Duration
	end  bool // at is not given
	job  string
	user string
	time string
	top  int
	plot string
	save string
}

func newBeliefsCmd(a *app) *cobra.Command {
	var opts askOptions
	cmd := &cobra.Command{
		Use:   "beliefs [LOG...]",
		Short: "Show what a scheduler that is told nothing believes of jobs",
		Long: cmdline.Long(`
Replays an event log up to an instant and learns from what a scheduler without knowledge sees: how long the jobs ran that have
ended, and the measured throughputs of jobs. The policies with +know:speed=fit learn in the same way, except that they count
the progress of jobs by what they believe of speeds. Here it is counted as the log's scenario tells it.

Without --job, a table has the predicted run time of a new job, by user: 10 % of such jobs end before the first time, half
before the second, 90 % before the third. "counts" is the number of the most similar jobs that have ended; earlier ones count
as less than one. A second table has the believed speed of a job in other configurations, relative to the job as requested,
alone on V100. 80 % of speeds should be in the interval.

--job shows what was measured of a job, its believed speeds, and how much longer it is believed to run. --plot draws run times
and the believed speed over the CPU of a worker, with readings as points. The unit of throughput is unknown: the readings of a
job are multiplied by one factor so that they lie about the curve, and corrected by what is believed of everything but CPU.

Only logs of scenarios with readings have throughputs, such as those whose names end in -untold-v1.

--save writes what one or more logs taught into a file, with which serve --beliefs and clustergym-kube --beliefs begin. These
programs go on learning and write such files, too. With --scenario, the training split of the scenario comes before the logs:
it teaches what policies with seen=training know in eval. If the first argument is a file of beliefs, the logs add to it.

Without --save, the command shows what is in such a file: it contains no jobs, so that speeds are those of a job with four
cores a worker.`),
		Example: `  clustergym beliefs log.jsonl.gz --plot all.svg
  clustergym beliefs log.jsonl.gz --user user-1 --time age
  clustergym beliefs log.jsonl.gz --job 4223 --at 12h --plot job.svg
  clustergym beliefs --scenario venus-load110-weak-moldable-warm-untold-v1 --save beliefs.json
  clustergym beliefs beliefs.json log.jsonl.gz --save more.json
  clustergym beliefs more.json --user user-1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.logs, opts.end = args, !cmd.Flags().Changed("at")
			return runBeliefs(cmd.Context(), a, opts)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&opts.at, "at", 0, "the instant, from the beginning of the log; by default its last decision")
	f.StringVar(&opts.job, "job", "", "show one job")
	f.StringVar(&opts.user, "user", "", "show the jobs of one user, by their number of workers")
	f.StringVar(&opts.time, "time", string(belief.History),
		"predict run times from those of all jobs (age), or also by user and workers (history)")
	f.IntVar(&opts.top, "top", 10, "how many users to print: those with most ended jobs")
	f.StringVar(&opts.plot, "plot", "", "draw to this file: SVG, PNG or PDF by the end of its name")
	f.StringVar(&opts.save, "save", "", "write what the logs taught to this file, and show nothing")
	flags.Bind(cmd, &opts.from, words)
	cmd.MarkFlagsMutuallyExclusive("job", "user", "save")
	for _, flag := range []string{"at", "time", "top", "plot"} {
		cmd.MarkFlagsMutuallyExclusive("save", flag)
	}
	cmdline.Complete(cmd, "time", func() []string { return []string{string(belief.Age), string(belief.History)} })
	return cmd
}

func (o *askOptions) validate() error {
	if format := figureFormat(o.plot); o.plot != "" && !slices.Contains(figure.Formats(), format) {
		return cmdline.Usage("--plot %s: want a name that ends in .%s", o.plot, strings.Join(figure.Formats(), ", ."))
	}
	switch {
	case o.save == "" && (len(o.logs) != 1 || o.from.Name != ""):
		return cmdline.Usage("%d logs, --scenario %q: want one log, or --save FILE", len(o.logs), o.from.Name)
	case len(o.logs) == 0 && o.from.Name == "":
		return cmdline.Usage("--save %s: want logs or --scenario", o.save)
	}
	if o.at < 0 || o.top < 0 {
		return cmdline.Usage("--at %v, --top %d: want 0 or more", o.at, o.top)
	}
	return cmdline.OneOf("time", o.time, string(belief.Age), string(belief.History))
}

func runBeliefs(ctx context.Context, a *app, opts askOptions) error {
	if err := opts.validate(); err != nil {
		return err
	}
	if opts.save != "" {
		return saveBeliefs(ctx, a, &opts)
	}
	if holdsBeliefs(opts.logs[0]) {
		return runSavedBeliefs(a, &opts)
	}
	log, err := readLog(a, opts.logs[0])
	if err != nil {
		return err
	}
	at := opts.at
	if opts.end {
		at = beliefs.End
	} else if end := log.Records[len(log.Records)-1].At; at > end {
		return cmdline.Usage("--at %v: the log ends at %v", at, end)
	}
	b, err := beliefs.Learn(log, at, belief.Kind(opts.time))
	if err != nil {
		return err
	}
	var job *beliefs.Job
	if opts.job != "" {
		j, ok := b.Job(opts.job)
		if !ok {
			return unknownName("job", opts.job, b.Names(), b)
		}
		job = &j
	}
	if err := opts.knowsUser(b); err != nil {
		return err
	}
	if opts.plot != "" {
		if err := drawBeliefs(a, &opts, b, job); err != nil {
			return err
		}
	}
	if job != nil {
		return printJobBeliefs(a, log, b, job)
	}
	headline := fmt.Sprintf("%s at %s: what a scheduler that is told nothing believes", log.Scheduler, phrase.Time(b.Now()))
	return printBeliefs(a, headline, log.Scheduler, b, &opts)
}

func (o *askOptions) knowsUser(b *beliefs.Beliefs) error {
	if users := b.UserNames(); o.user != "" && !slices.Contains(users, o.user) {
		return unknownName("user", o.user, users, b)
	}
	return nil
}

// unknownName returns an error about a job or user that is not in the log by then.
func unknownName(flag, name string, known []string, b *beliefs.Beliefs) error {
	if len(known) == 0 {
		return cmdline.Usage("--%s %q: the log names no %s by %v", flag, name, flag, phrase.Time(b.Now()))
	}
	hint := cmdline.DidYouMean(name, known)
	if strings.HasPrefix(hint, ": want") {
		hint = cmdline.DidYouMean(name, known[:min(len(known), 20)])
	}
	return cmdline.Usage("--%s %q: no such %s by %v%s", flag, name, flag, phrase.Time(b.Now()), hint)
}

// curvePoints is the number of points of a curve in a figure.
const curvePoints = 200

func drawBeliefs(a *app, opts *askOptions, b *beliefs.Beliefs, job *beliefs.Job) error {
	everyone := b.Everyone()
	shown := []beliefs.RunTime{everyone}
	names := []string{"all jobs"}
	band := beliefs.Band{}
	of := "a job of " + opts.user
	switch {
	case job != nil:
		own := b.RunTimeOf(job)
		shown, names = append(shown, own), append(names, "jobs like "+job.Job)
		band, of = b.JobBand(job, curvePoints), "job "+job.Job
	case opts.user != "":
		for _, r := range b.Each(opts.user)[:1] {
			shown, names = append(shown, r), append(names, userAndSize(&r))
		}
		band = b.TypicalBand(opts.user, curvePoints)
	default:
		for _, r := range b.Users(2) {
			shown, names = append(shown, r), append(names, userAndSize(&r))
		}
		band, of = b.TypicalBand("", curvePoints), "any job"
	}
	var lines []figure.Line
	for i := range shown {
		x, y := shown[i].Curve(curvePoints)
		lines = append(lines, figure.Line{Name: names[i], X: x, Y: y})
	}
	f, err := figure.Beliefs(lines, &figure.Band{
		Line: figure.Line{Name: "speed of " + of + ", with 80 % interval", X: band.X, Y: band.Mean},
		Low:  band.Low, High: band.High, PointX: band.PointX, PointY: band.PointY, PointName: "readings",
		Mark: band.Request, MarkName: "requested CPU",
	})
	if err != nil {
		return err
	}
	return a.Write(opts.plot, func(w io.Writer) error { return f.Write(w, figureFormat(opts.plot)) })
}

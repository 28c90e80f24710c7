package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

type simulateOptions struct {
	trace     string
	read      flags.Trace
	cluster   scenario.Cluster
	policy    string
	physics   string
	overhead  time.Duration
	restart   string
	estimates trace.Estimates
	oversize  string
	horizon   time.Duration
	seed      uint64
	jobsOut   string
	logOut    string
	drawing   drawOptions
}

func newSimulateCmd(a *app) *cobra.Command {
	var opts simulateOptions
	cmd := &cobra.Command{
		Use:   "simulate --trace FILE --servers N --gpus-per-server K --policy P",
		Short: "Play a trace on a cluster under one policy",
		Long: cmdline.Long(`
Plays every job of a trace on a cluster of equal servers under one policy and prints the metrics. Equal command lines give
the same schedule, byte for byte.

The command writes only the files of --jobs-out, --log-out and --gantt. --jobs-out writes a row for every job, on
the trace's own clock: job_id,submit_s,start_s,end_s,jct_s. If an id begins like a formula, with =, +, - or @, and is not a
number, an apostrophe is put before it, so that no spreadsheet evaluates it. --log-out writes all events of the episode: see
replay. --show prints the schedule as text, as wide as the terminal, in colour unless NO_COLOR is set; it cannot be combined
with --json.`,
			cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym simulate --trace jobs.csv --servers 8 --gpus-per-server 8 --policy sjfskip
  clustergym simulate --trace venus.csv.gz --format helios --servers 32 --gpus-per-server 8 --policy las \
      --preempt-overhead 60s --jobs-out jobs.csv --gantt las.svg --json
  clustergym simulate --trace jobs.csv --servers 2 --gpus-per-server 8 --policy srtf --show`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSimulate(cmd.Context(), a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.trace, "trace", "", "CSV file of jobs, plain or gzip; - for standard input")
	opts.read.Add(cmd)
	f.IntVar(&opts.cluster.Servers, "servers", 0, "number of servers")
	f.IntVar(&opts.cluster.GPUsPerServer, "gpus-per-server", 0, "GPUs of each server")
	f.IntVar(&opts.cluster.CPUsPerServer, "cpus-per-server", 0, "CPU cores of each server, 0: not modelled")
	f.IntVar(&opts.cluster.MemGiBPerServer, "mem-gib-per-server", 0, "GiB of memory of each server, 0: not modelled")
	f.StringVar(&opts.policy, "policy", "", "the policy: a baseline (see baselines ls), released, or the folder of a policy or run")
	f.StringVar(&opts.physics, "physics", "ideal",
		"performance model: ideal, or inter-server(P), up to 1+P times slower on several servers")
	f.DurationVar(&opts.overhead, "preempt-overhead", 0, "time for which a restarted job holds its GPUs without progress")
	f.StringVar(&opts.restart, "restart", "checkpoint", "what a preempted job keeps: its work (checkpoint) or nothing (scratch)")
	f.StringVar((*string)(&opts.estimates.Kind), "estimates", "oracle",
		"the policy's estimates of run times: oracle (true), noisy or none")
	f.Float64Var(&opts.estimates.Sigma, "sigma", 0, "noisy estimates: standard deviation of the error's logarithm")
	f.StringVar(&opts.oversize, "oversize", "error", "what to do with jobs that can never fit the cluster: error, drop or clamp")
	f.DurationVar(&opts.horizon, "horizon", 0, "end the episode at this time of the trace, 0 for never")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of noisy estimates and of policies that draw random numbers")
	f.StringVar(&opts.jobsOut, "jobs-out", "", "write a CSV row for every job to this file")
	f.StringVar(&opts.logOut, "log-out", "", "write the event log to this file, compressed if the name ends in .gz")
	opts.drawing.addFlags(cmd)
	cmdline.Require(cmd, "trace", "servers", "gpus-per-server", "policy")
	cmdline.Complete(cmd, "policy", policy.Names)
	cmdline.Complete(cmd, "physics", func() []string { return []string{"ideal", "inter-server(0.5)"} })
	cmdline.Complete(cmd, "restart", func() []string { return restarts })
	cmdline.Complete(cmd, "estimates", flags.EstimateKinds)
	cmdline.Complete(cmd, "oversize", func() []string { return oversizeModes })
	return cmd
}

var (
	restarts      = []string{string(scenario.FromCheckpoint), string(scenario.FromScratch)}
	oversizeModes = []string{string(trace.OversizeError), string(trace.OversizeDrop), string(trace.OversizeClamp)}
)

// simulation is the result of simulate. Times are in seconds.
type simulation struct {
	Policy string `json:"policy"`
	Trace  string `json:"trace"`
	eval.Metrics
	Oversize int     `json:"oversize_jobs"` // dropped or clamped
	CPUOnly  int     `json:"cpu_only_rows"`
	BadRows  int     `json:"bad_rows"`
	CPU      float64 `json:"cpu_s"` // time of the simulation alone
}

func (o *simulateOptions) validate() error {
	if err := cmdline.OneOf("restart", o.restart, restarts...); err != nil {
		return err
	}
	if err := cmdline.OneOf("estimates", string(o.estimates.Kind), flags.EstimateKinds()...); err != nil {
		return err
	}
	if err := cmdline.OneOf("oversize", o.oversize, oversizeModes...); err != nil {
		return err
	}
	if o.cluster.Servers < 1 || o.cluster.GPUsPerServer < 1 || o.cluster.CPUsPerServer < 0 || o.cluster.MemGiBPerServer < 0 {
		return cmdline.Usage("a cluster of %d servers with %d GPUs, %d cores and %d GiB each: want at least 1 server and 1 GPU",
			o.cluster.Servers, o.cluster.GPUsPerServer, o.cluster.CPUsPerServer, o.cluster.MemGiBPerServer)
	}
	if o.overhead < 0 || o.horizon < 0 {
		return cmdline.Usage("--preempt-overhead %v and --horizon %v: want 0 or more", o.overhead, o.horizon)
	}
	if err := o.estimates.Validate(); err != nil {
		return cmdline.Usage("--sigma: %w", err)
	}
	return nil
}

// config returns the configuration of the simulator.
func (o *simulateOptions) config() (sim.Config, error) {
	model, err := physics.Parse(o.physics)
	if err != nil {
		return sim.Config{}, cmdline.Usage("--physics: %w", err)
	}
	restart := sim.Pause(o.overhead)
	restart.FromScratch = o.restart == string(scenario.FromScratch)
	return sim.Config{
		Cluster: o.cluster.Spec(), Physics: model, Restart: restart, Horizon: o.horizon,
	}, nil
}

func runSimulate(ctx context.Context, a *app, opts simulateOptions) error {
	if err := opts.validate(); err != nil {
		return err
	}
	if err := opts.drawing.validate(a); err != nil {
		return err
	}
	cfg, err := opts.config()
	if err != nil {
		return err
	}
	if err := cfg.Cluster.Validate(); err != nil {
		return cmdline.Usage("%w", err)
	}
	policy, err := a.findPolicy(opts.policy)
	if err != nil {
		return err
	}
	defer limitMemory()()
	w, err := opts.read.Read(ctx, opts.trace, a.In, a.Say)
	if err != nil {
		return err
	}
	jobs, oversize, err := fitCluster(a, w, cfg.Cluster, trace.OversizeMode(opts.oversize))
	if err != nil {
		return err
	}
	if err := opts.estimates.Apply(jobs, rng.Stream(opts.seed, "simulate", "estimates")); err != nil {
		return err
	}
	result := simulation{
		Policy: policy.Name, Trace: opts.trace, Oversize: oversize, CPUOnly: w.Report.CPUOnly(), BadRows: w.Report.Bad,
	}
	w.Jobs = nil
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(len(jobs)), Label: "simulate", Unit: "jobs"})
	done, err := simulate(ctx, cfg, jobs, *policy, opts.seed, opts.needsLog(), func(finished int) { bar.Set(int64(finished)) })
	bar.Finish()
	if err != nil {
		return err
	}
	result.Metrics, result.CPU = done.meter.Metrics(), done.cpu.Seconds()
	result.Refused = done.refused
	if err := opts.save(a, done.meter.Rows(), &done.log); err != nil {
		return err
	}
	return result.print(a)
}

// softMemory is the heap size in bytes above which simulate collects garbage more often, so that a million jobs fit in 700 MiB
// if nothing needs their event log.
const softMemory = 600 << 20

// limitMemory sets the memory limit softMemory, unless the user has set GOMEMLIMIT. It returns a function that restores the
// limit.
func limitMemory() (undo func()) {
	before := debug.SetMemoryLimit(-1)
	if before == math.MaxInt64 {
		debug.SetMemoryLimit(softMemory)
	}
	return func() { debug.SetMemoryLimit(before) }
}

// finished is an episode that simulate has played to its end.
type finished struct {
	meter   *eval.Meter
	log     sim.Log // without records unless simulate kept them
	refused int
	cpu     time.Duration // without measuring
}

// simulate plays the jobs under the policy. Unless it must keep the event log, it measures now and then and forgets the log's
// records. As often it calls progress with the number of finished jobs.
func simulate(
	ctx context.Context, cfg sim.Config, jobs []trace.Job, p policy.Policy, seed uint64, keep bool, progress func(finished int),
) (*finished, error) {
	sched, err := p.New()
	if err != nil {
		return nil, err
	}
	runtime.GC() // removes the trace reader's garbage, which would count as simulation time
	began := cmdline.CPUTime()
	episode, err := sim.New(cfg, jobs)
	if err != nil {
		return nil, err
	}
	log := episode.Log()
	meter, measuring := eval.NewMeter(log), time.Duration(0)
	stretches := 0
	episode.Watch(func(_, _ time.Duration) {
		if stretches++; stretches%256 > 0 {
			return
		}
		progress(len(jobs) - episode.Left())
		if !keep {
			from := cmdline.CPUTime()
			meter.Follow()
			log.Forget()
			measuring += cmdline.CPUTime() - from
		}
	})
	if err := episode.Run(ctx, sched, seed); err != nil {
		return nil, err
	}
	progress(len(jobs) - episode.Left())
	done := &finished{meter: meter, refused: episode.Refused(), cpu: cmdline.CPUTime() - began - measuring}
	meter.Follow()
	done.log = *log // a copy, which does not keep the episode's state in memory
	return done, nil
}

// needsLog reports whether a file or chart that the user asked for shows the event log.
func (o *simulateOptions) needsLog() bool { return o.logOut != "" || o.drawing != drawOptions{} }

func (o *simulateOptions) save(a *app, rows []eval.Row, log *sim.Log) error {
	for _, f := range []struct {
		path string
		fill func(w io.Writer) error
	}{
		{o.jobsOut, func(w io.Writer) error { return eval.WriteJobs(w, rows) }},
		{o.logOut, log.Write},
	} {
		if f.path == "" {
			continue
		}
		if err := a.Write(f.path, f.fill); err != nil {
			return err
		}
	}
	return o.drawing.draw(a, log)
}

func (s *simulation) print(a *app) error {
	if s.Truncated != "" {
		a.Say("cut off with %d of %d jobs unfinished: %s", s.Jobs-s.Finished, s.Jobs, s.Truncated)
	}
	if a.JSON {
		return a.PrintJSON(s)
	}
	rows := append([][]string{{"policy", s.Policy}}, metricRows(&s.Metrics)...)
	return a.PrintRows(append(rows, []string{"CPU time", fmt.Sprintf("%.3g s", s.CPU)}))
}

// metricRows formats the metrics of one episode for people.
func metricRows(m *eval.Metrics) [][]string {
	rows := [][]string{
		{"jobs", fmt.Sprintf("%d, %d finished", m.Jobs, m.Finished)},
		{"JCT", fmt.Sprintf("mean %s, p50 %s, p95 %s, p99 %s, sum %.0f s",
			phrase.Seconds(m.MeanJCT), phrase.Seconds(m.P50JCT), phrase.Seconds(m.P95JCT), phrase.Seconds(m.P99JCT), m.SumJCT)},
		{"queueing", fmt.Sprintf("mean %s, p50 %s, p95 %s, p99 %s",
			phrase.Seconds(m.MeanQueueing), phrase.Seconds(m.P50Queueing), phrase.Seconds(m.P95Queueing), phrase.Seconds(m.P99Queueing))},
		{"slowdown", fmt.Sprintf("mean %.2f", m.MeanSlowdown)},
		{"makespan", phrase.Seconds(m.Makespan)},
		{"GPU utilisation", fmt.Sprintf("%.1f %%", 100*m.Utilisation)},
		{"preemptions", fmt.Sprint(m.Preemptions)},
		{"events", fmt.Sprint(m.Events)},
	}
	if m.Failures+m.Interruptions > 0 {
		rows = append(rows, []string{"failures", fmt.Sprintf("%d, %d jobs interrupted", m.Failures, m.Interruptions)})
	}
	if m.MeanLent+m.Unserved > 0 || m.Seizures > 0 {
		rows = append(rows, []string{"inference pool", fmt.Sprintf(
			"%.1f servers lent on average, %d seized, %.3f %% of demand unserved", m.MeanLent, m.Seizures, 100*m.Unserved)})
	}
	return rows
}

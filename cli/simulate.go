package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/policy"
)

type simulateOptions struct {
	File string `flag:"trace" required:"true" file:"csv,gz,swf" help:"CSV file of jobs, plain or gzip; - for standard input"`
	flags.Trace
	Servers  int           `flag:"servers" required:"true" help:"number of servers"`
	GPUs     int           `flag:"gpus-per-server" required:"true" help:"GPUs of each server"`
	Policy   string        `flag:"policy" required:"true" complete:"policy" help:"the policy: a baseline (see baselines), released, or the folder of a policy or run"`
	Physics  string        `flag:"physics" default:"ideal" complete:"physics" help:"performance model: ideal, or inter-server(P), up to 1+P times slower on several servers"`
	Overhead time.Duration `flag:"preempt-overhead" min:"0" help:"time for which a restarted job holds its GPUs without progress"`
	Restart  string        `flag:"restart" default:"checkpoint" of:"restart" help:"what a preempted job keeps: its work (checkpoint) or nothing (scratch)"`
	Oversize string        `flag:"oversize" default:"error" of:"oversize" help:"what to do with jobs that can never fit the cluster: error, drop or clamp"`
	Seed     uint64        `flag:"seed" default:"1" help:"seed of policies that draw random numbers"`
	JobsOut  string        `flag:"jobs-out" help:"write a CSV row for every job to this file"`
	LogOut   string        `flag:"log-out" help:"write the event log to this file, compressed if the name ends in .gz"`
	Drawing  drawOptions
}

func newSimulateCmd(a *app) *cobra.Command {
	return newCommand(a, &simulateOptions{}, &cobra.Command{
		Use:   "simulate --trace FILE --servers N --gpus-per-server K --policy P",
		Short: "Play a trace on a cluster under one policy",
		Long: cmdline.Long(`
Plays every job of a trace on a cluster of equal servers under one policy and prints the metrics. Equal command lines give
the same schedule, byte for byte. A scenario says more of a cluster, such as CPU cores and memory, and what schedulers are told:
see eval.

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
	}, runSimulate)
}

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

// config returns the configuration of the simulator.
func (o *simulateOptions) config() (sim.Config, error) {
	if o.Servers < 1 || o.GPUs < 1 {
		return sim.Config{}, cmdline.Usage("a cluster of %d servers with %d GPUs each: want at least 1 server and 1 GPU",
			o.Servers, o.GPUs)
	}
	model, err := physics.Parse(o.Physics)
	if err != nil {
		return sim.Config{}, cmdline.Usage("--physics: %w", err)
	}
	restart := sim.Pause(o.Overhead)
	restart.FromScratch = o.Restart == string(scenario.FromScratch)
	cluster := scenario.Cluster{Servers: o.Servers, GPUsPerServer: o.GPUs}
	return sim.Config{Cluster: cluster.Spec(), Physics: model, Restart: restart}, nil
}

func runSimulate(ctx context.Context, a *app, opts *simulateOptions, _ []string) error {
	if err := opts.Drawing.validate(a); err != nil {
		return err
	}
	cfg, err := opts.config()
	if err != nil {
		return err
	}
	if err := cfg.Cluster.Validate(); err != nil {
		return cmdline.Usage("%w", err)
	}
	policy, err := a.findPolicy(opts.Policy)
	if err != nil {
		return err
	}
	defer limitMemory()()
	w, err := opts.Read(ctx, opts.File, a.In, a.Say)
	if err != nil {
		return err
	}
	jobs, oversize, err := fitCluster(a, w, cfg.Cluster, trace.OversizeMode(opts.Oversize))
	if err != nil {
		return err
	}
	told := trace.Estimates{Kind: trace.Oracle}
	if err := told.Apply(jobs, rng.Stream(opts.Seed, "simulate", "estimates")); err != nil {
		return err
	}
	result := simulation{
		Policy: policy.Name, Trace: opts.File, Oversize: oversize, CPUOnly: w.Report.CPUOnly(), BadRows: w.Report.Bad,
	}
	w.Jobs = nil
	bar := a.bar("simulate", "jobs", int64(len(jobs)))
	keep := opts.LogOut != "" || opts.Drawing != drawOptions{}
	done, err := simulate(ctx, cfg, jobs, *policy, opts.Seed, keep, func(finished int) { bar.Set(int64(finished)) })
	bar.Finish()
	if err != nil {
		return err
	}
	result.Metrics, result.CPU = done.meter.Metrics(), done.cpu.Seconds()
	result.Refused = done.refused
	if opts.JobsOut != "" {
		if err := a.Write(opts.JobsOut, func(w io.Writer) error { return eval.WriteJobs(w, done.meter.Rows()) }); err != nil {
			return err
		}
	}
	if opts.LogOut != "" {
		if err := a.Write(opts.LogOut, done.log.Write); err != nil {
			return err
		}
	}
	if err := opts.Drawing.draw(a, &done.log); err != nil {
		return err
	}
	if result.Truncated != "" {
		a.Say("cut off with %d of %d jobs unfinished: %s", result.Jobs-result.Finished, result.Jobs, result.Truncated)
	}
	rows := append([][]string{{"policy", result.Policy}}, metricRows(&result.Metrics)...)
	return a.Print(&result, append(rows, []string{"CPU time", fmt.Sprintf("%.3g s", result.CPU)}))
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

// fitCluster removes or clamps the jobs that are too large for the empty cluster, as the mode says, and returns the remaining
// jobs, in the memory of those of the workload, and the number of too large ones.
func fitCluster(a *app, w trace.Workload, spec cluster.Spec, mode trace.OversizeMode) ([]trace.Job, int, error) {
	room := spec.Rooms()
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	jobs, n := w.Jobs[:0], 0
	for part := range slices.Chunk(w.Jobs, 1<<12) { // in parts, as a copy of a million jobs takes 200 MB
		left, changed, err := trace.Oversize(part, fits, mode, int32(spec.GPUs()))
		if err != nil {
			return nil, 0, fmt.Errorf("%w: enlarge the cluster, or set --oversize to drop or clamp", err)
		}
		jobs, n = append(jobs, left...), n+changed
	}
	if len(jobs) == 0 {
		return nil, 0, fmt.Errorf("%s: no job fits the cluster: enlarge it", w.Name)
	}
	if n > 0 {
		done := map[trace.OversizeMode]string{trace.OversizeDrop: "left out", trace.OversizeClamp: "cut to its size"}[mode]
		a.Say("%s: %d jobs too large for the cluster are %s", w.Name, n, done)
	}
	return jobs, n, nil
}

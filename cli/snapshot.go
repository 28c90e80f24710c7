package cli

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/intake"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

func newSnapshotCmd(a *app) *cobra.Command {
	return cmdline.NewGroup("snapshot", "Make a snapshot of a Kubernetes or Slurm cluster",
		`A snapshot is a JSON file of a cluster's servers and jobs at one instant, which plan, whatif and serve read. These
commands make one of what the tools of a cluster print. docs/snapshots.md describes the format, and what becomes of
nodes, pods and jobs.`,
		newSnapshotKubectlCmd(a), newSnapshotSlurmCmd(a))
}

// largestInput is the size in bytes of the largest file that is read.
const largestInput = 256 << 20

// intakeFlags are the flags of all commands that make snapshots.
type intakeFlags struct {
	Now    string `flag:"now" help:"when the input was printed, such as 2026-11-24T08:00:00Z (default the present)"`
	Zero   string `flag:"zero" help:"instant from which times count, such as 2026-01-01T00:00:00Z; the same in all snapshots for a server that learns (default the submission of the oldest job)"`
	Unread bool   `flag:"allow-unread" help:"go on although a running job cannot be read: it then holds its nodes"`
}

func (o *intakeFlags) clock() (c intake.Clock, err error) {
	if o.Now == "" {
		c.Now = time.Now()
	} else if c.Now, err = clockFlag("--now", o.Now); err != nil {
		return c, err
	}
	if o.Zero != "" {
		c.Zero, err = clockFlag("--zero", o.Zero)
	}
	return c, err
}

// clockFlag reads the value of a flag.
func clockFlag(name, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, cmdline.Usage("%s %q: want a time such as 2026-11-24T08:00:00Z", name, text)
	}
	return at, nil
}

type kubectlOptions struct {
	intakeFlags
	GPU  string `flag:"gpu" default:"nvidia.com/gpu" help:"resource that counts GPUs"`
	Kind string `flag:"gpu-label" default:"nvidia.com/gpu.product" help:"label of nodes with the type of their GPUs"`
	Rack string `flag:"rack-label" help:"label of nodes with their rack, such as topology.kubernetes.io/rack"`
}

func newSnapshotKubectlCmd(a *app) *cobra.Command {
	return newCommand(a, &kubectlOptions{}, &cobra.Command{
		Use:   "kubectl [FILE]...",
		Args:  cobra.ArbitraryArgs,
		Short: "Make a snapshot of what kubectl get prints",
		Long: cmdline.Long(`
Reads the lists of nodes and pods that kubectl get prints with -o json, and writes a snapshot to standard output. If the lists
also contain the PodGroups of Kubernetes, the scheduler-plugins project, Volcano or KAI Scheduler, these define gangs. Without
FILE it reads standard input.

Servers are the nodes with GPUs. Jobs are the pods that request GPUs and have not ended: together those of one gang, as
clustergym-kube sees it, otherwise each by itself. Each GPU of a pod becomes a worker. The annotation clustergym.dev/estimate of a
pod or PodGroup, such as 36h, is the job's estimate. A running pod without spec.nodeName is an error, because a plan could use its
GPUs; with --allow-unread it is left out. Cohorts of Kueue's queues, if they are in the lists, become tenants with a quota.
docs/snapshots.md says more.

Warnings on standard error say what the snapshot cannot represent: one line for each kind, with a count and an example.
`),
		Example: `  kubectl get nodes,pods -A -o json | clustergym snapshot kubectl > cluster.json
  clustergym snapshot kubectl nodes.json pods.json podgroups.json > cluster.json
  kubectl get nodes,pods,clusterqueues,localqueues,resourceflavors,workloads -A -o json > objects.json
  clustergym snapshot kubectl objects.json > cluster.json
  clustergym snapshot kubectl --gpu amd.com/gpu --gpu-label amd.com/gpu.product-name cluster-dump.json > cluster.json`,
	}, runSnapshotKubectl)
}

func runSnapshotKubectl(_ context.Context, a *app, opts *kubectlOptions, paths []string) error {
	clock, err := opts.clock()
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		paths = []string{"-"}
	}
	files, done, err := openAll(a, paths...)
	if err != nil {
		return err
	}
	defer done()
	from := intake.Kubectl{
		GPU: opts.GPU, TypeLabel: opts.Kind, RackLabel: opts.Rack, AllowUnread: opts.Unread, MaxBytes: largestInput, Clock: clock,
	}
	result, err := from.Read(files...)
	if err != nil {
		return err
	}
	return writeTaken(a, result)
}

type slurmOptions struct {
	intakeFlags
	Nodes string `flag:"nodes" required:"true" help:"file of the nodes; - for standard input"`
	Jobs  string `flag:"jobs" required:"true" help:"file of the jobs; - for standard input"`
	Limit bool   `flag:"limit-as-estimate" help:"take the time limit of a job as its estimate"`
}

func newSnapshotSlurmCmd(a *app) *cobra.Command {
	return newCommand(a, &slurmOptions{}, &cobra.Command{
		Use:   "slurm --nodes nodes.json --jobs squeue.json",
		Short: "Make a snapshot of what scontrol and squeue print",
		Long: cmdline.Long(`
Reads what scontrol show nodes --json and squeue --json print, in the formats of Slurm's data_parser v0.0.39 to v0.0.43, and
writes a snapshot to standard output.

Servers are the nodes with the generic resource gpu. A job may use the nodes of its partitions, without those that it excludes.
Its account becomes the tenant. Each waiting task of an array becomes a job. Jobs that Slurm would not start however many GPUs are
free are left out. Users tend to set time limits far too high, so that a limit counts as an estimate only with
--limit-as-estimate. docs/snapshots.md says more.

If what a running job holds cannot be read, the command fails, because a plan could use its GPUs. With --allow-unread such a
job holds all GPUs of its nodes that no other job holds.

Warnings on standard error say what the snapshot cannot represent: one line for each kind, with a count and an example.
`),
		Example: `  scontrol show nodes --json > nodes.json
  squeue --json > squeue.json
  clustergym snapshot slurm --nodes nodes.json --jobs squeue.json > cluster.json`,
	}, runSnapshotSlurm)
}

func runSnapshotSlurm(_ context.Context, a *app, opts *slurmOptions, _ []string) error {
	clock, err := opts.clock()
	if err != nil {
		return err
	}
	files, done, err := openAll(a, opts.Nodes, opts.Jobs)
	if err != nil {
		return err
	}
	defer done()
	from := intake.Slurm{LimitAsEstimate: opts.Limit, AllowUnread: opts.Unread, MaxBytes: largestInput, Clock: clock}
	result, err := from.Read(files[0], files[1])
	if err != nil {
		return err
	}
	return writeTaken(a, result)
}

// openAll opens files. The path - stands for standard input, once. The caller must call done.
func openAll(a *app, paths ...string) (files []intake.File, done func(), err error) {
	var all []func()
	done = func() {
		for _, each := range all {
			each()
		}
	}
	for i, path := range paths {
		in, closed, err := a.open(path, "read cluster")
		if path == "-" && slices.Contains(paths[:i], path) {
			err = cmdline.Usage("standard input: want it for one file only")
		}
		if err != nil {
			done()
			return nil, nil, err
		}
		if all = append(all, closed); path == "-" {
			path = "standard input"
		}
		files = append(files, intake.File{Name: path, Reader: in})
	}
	return files, done, nil
}

// writeTaken writes the snapshot to standard output, and to standard error what it contains and what it does not represent.
func writeTaken(a *app, result *intake.Result) error {
	for i := range result.Notes {
		a.Warn(&result.Notes[i])
	}
	var text bytes.Buffer
	if err := result.State.WriteSnapshot(&text); err != nil {
		return err
	}
	back, err := cluster.ReadSnapshot(bytes.NewReader(text.Bytes())) // it obeys more limits than the writer
	if err != nil {
		return fmt.Errorf("the snapshot cannot be read back: %w", err)
	}
	gpus := 0
	for i := range back.Servers() {
		gpus += int(back.Server(cluster.ServerID(i)).GPUs)
	}
	a.Say("%s with %s; %s, %d waiting", phrase.Count(back.Servers(), "server"), phrase.Count(gpus, "GPU"),
		phrase.Count(len(back.Running()), "running job"), len(back.Pending()))
	_, err = text.WriteTo(a.Out)
	return err
}

package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
)

type quickstartOptions struct {
	Dir     string `flag:"dir" file:"dir" help:"folder for all files (default runs/quickstart, or the next one that is not in use)"`
	Updates int    `flag:"updates" default:"8" help:"how many updates to train"`
	Cores   int    `flag:"cores" min:"0" help:"cores to use, 0 for all; does not change the result"`
}

const (
	quickstartScenario = "embedded-small-untold-v1"
	quickstartRivals   = "fifo,las,srsf+know"
)

// quickstartSets are settings with which a team that is told nothing learns within a minute. Its prior never stops a job; the
// team may.
var quickstartSets = []string{
	"train.prior=sjfskip+know", "train.candidates=24", "train.size.joint=true", "train.pairs=0.3", "train.tail=backlog",
	"train.label=0.03", "train.windows=1", "train.epochs=4", "train.margin=0.1", "train.every=1",
}

func newQuickstartCmd(a *app) *cobra.Command {
	return newCommand(a, &quickstartOptions{}, &cobra.Command{
		Use:   "quickstart",
		Short: "Train, compare, export and query a small policy, within minutes",
		Long: cmdline.Long(`
Goes through all steps once on a generated workload: trains a small team briefly, exports it, compares it with heuristics and
with its prior on arrivals that it was not trained on, and asks it for a plan on an example snapshot. This takes about a
minute on two cores. Schedulers are told neither run times nor speeds. The prior, sjfskip+know, starts the job first that it
predicts to be shortest, and never stops one; the team may stop jobs, and learns when that saves time. Each step is a command,
which is printed before it runs.`),
		Example: "  clustergym quickstart\n  clustergym quickstart --dir runs/mine --updates 20",
	}, runQuickstart)
}

func runQuickstart(ctx context.Context, a *app, opts *quickstartOptions, _ []string) error {
	dir, err := opts.room()
	if err != nil {
		return err
	}
	snapshot, bundle := filepath.Join(dir, "cluster.json"), filepath.Join(dir, "policy")
	cores := strconv.Itoa(opts.Cores)
	learn := []string{"train", "--scenario", quickstartScenario, "--updates", strconv.Itoa(opts.Updates), "--cores", cores}
	for _, set := range quickstartSets {
		learn = append(learn, "--set", set)
	}
	steps := []struct {
		what  string
		words []string
	}{
		{"train", append(learn, "--dir", dir)},
		{"export", []string{"export", "--run", dir, "--name", "learned"}},
		{"compare", []string{"eval", "--scenario", quickstartScenario,
			"--policies", quickstartRivals + "," + policy.Prior + "," + bundle, "--baseline", policy.Prior, "--cores", cores,
			"--out", filepath.Join(dir, "report")}},
		{"ask", []string{"plan", "--snapshot", snapshot, "--policy", bundle}},
	}
	for i, step := range steps {
		if step.what == "ask" {
			if err := a.Write(snapshot, func(w io.Writer) error { return text(w, exampleSnapshot) }); err != nil {
				return err
			}
		}
		a.Say("\n%d/%d %s: %s", i+1, len(steps), step.what, next(step.words...))
		if err := a.follow(ctx, step.words); err != nil {
			return err
		}
	}
	return nil
}

// follow runs another command line of the program.
func (a *app) follow(ctx context.Context, words []string) error {
	own := *a
	root := newRootCmd(&own)
	root.SetArgs(append(words, "--quiet="+strconv.FormatBool(a.Quiet), "--json="+strconv.FormatBool(a.JSON)))
	return root.ExecuteContext(ctx)
}

// room returns a folder that contains no run.
func (o *quickstartOptions) room() (string, error) {
	if o.Dir != "" && flags.IsRun(o.Dir) {
		return "", fmt.Errorf("%s holds a run already: name another --dir", o.Dir)
	}
	if o.Dir != "" {
		return o.Dir, nil
	}
	dir := filepath.Join("runs", "quickstart")
	for n := 2; flags.IsRun(dir); n++ {
		dir = filepath.Join("runs", fmt.Sprintf("quickstart-%d", n))
	}
	return dir, nil
}

package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
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
predicts to be shortest, and never stops one; the team may stop jobs, and learns when that saves time. The command prints the
commands that do the same, what the team saved on validation windows as training went on, and what eval prints.`),
		Example: "  clustergym quickstart\n  clustergym quickstart --dir runs/mine --updates 20",
	}, runQuickstart)
}

// quickstarted is the result of quickstart.
type quickstarted struct {
	Trained   *trained   `json:"trained"`
	Evaluated *evaluated `json:"evaluated"`
	Exported  *exported  `json:"exported"`
	Snapshot  string     `json:"snapshot"`
	Plan      *plan      `json:"plan"`
}

func runQuickstart(ctx context.Context, a *app, opts *quickstartOptions, _ []string) error {
	dir, err := opts.room()
	if err != nil {
		return err
	}
	var result quickstarted
	at := func(name string) string { return filepath.Join(dir, name) }

	words := []string{"train", "--scenario", quickstartScenario, "--updates", strconv.Itoa(opts.Updates)}
	for _, set := range quickstartSets {
		words = append(words, "--set", set)
	}
	a.Say("1/4 train: %s", next(append(words, "--dir", dir)...))
	result.Trained, err = trainRun(ctx, a, &trainOptions{
		Scenario: quickstartScenario, Sets: append(slices.Clone(quickstartSets), "train.updates="+strconv.Itoa(opts.Updates)),
		Dir: dir, Cores: opts.Cores,
	})
	if err != nil {
		return err
	}
	if result.Trained.Stopped {
		return cmdline.Fail(cmdline.CodeInterrupted, fmt.Errorf("stopped after update %d of %d", result.Trained.Updates, opts.Updates))
	}

	a.Say("\n2/4 export: %s", next("export", "--run", dir, "--name", "learned"))
	if result.Exported, err = exportRun(a, &exportOptions{Run: dir, Name: "learned"}); err != nil {
		return err
	}
	policies := append(strings.Split(quickstartRivals, ","), policy.Prior, result.Exported.Out)

	a.Say("\n3/4 compare: %s", next("eval", "--scenario", quickstartScenario, "--policies", strings.Join(policies, ","),
		"--baseline", policy.Prior))
	result.Evaluated, err = evaluate(ctx, a, &evalOptions{
		Scenarios: []string{quickstartScenario}, Policies: policies, Baseline: policy.Prior,
		Split: string(scenario.Test), Cores: opts.Cores, Out: at("report"), Figures: []string{"svg"},
	})
	if err != nil {
		return err
	}

	result.Snapshot = at("cluster.json")
	a.Say("\n4/4 ask: %s\n", next("plan", "--snapshot", result.Snapshot, "--policy", result.Exported.Out))
	example := func(w io.Writer) error { _, err := io.WriteString(w, exampleSnapshot); return err }
	if err := a.Write(result.Snapshot, example); err != nil {
		return err
	}
	_, result.Plan, _, err = planState(ctx, a, &planOptions{
		snapshotFlags: snapshotFlags{Snapshot: result.Snapshot, Policy: result.Exported.Out, Physics: "ideal", Seed: 1}, Stops: -1,
	})
	if err != nil {
		return err
	}
	return result.print(a)
}

func (q *quickstarted) print(a *app) error {
	if a.JSON {
		return a.PrintJSON(q)
	}
	metrics, err := train.ReadMetrics(q.Trained.Dir)
	if err != nil {
		return err
	}
	if text := savedText(metrics); text != "" {
		a.Printf("%s\n", text)
	}
	if err := q.Evaluated.print(a); err != nil {
		return err
	}
	a.Printf("\n")
	if err := q.Plan.print(a); err != nil {
		return err
	}
	a.Printf("\npolicy: %s\n", q.Exported.Out)
	return nil
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

// savedText shows what the team saved on validation windows as training went on, one line for each validation. The policy of a
// run has the weights of its best validation, so the lines may fall again. It returns "" if there are no validations.
func savedText(metrics []train.Metrics) string {
	var b strings.Builder
	for _, m := range metrics {
		if m.Validation == nil {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("What the team saves of its prior's mean JCT on validation windows:\n\nupdate  saved, %\n")
			b.WriteString("     0       0.0\n") // an untrained team decides as its prior
		}
		saved := 100 * (1 - *m.Validation)
		bar := strings.Repeat("#", min(max(int(2*saved), 0), 60))
		b.WriteString(strings.TrimRight(fmt.Sprintf("%6d  %8.1f  %s", m.Update, saved, bar), " ") + "\n")
	}
	return b.String()
}

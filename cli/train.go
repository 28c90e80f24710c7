package cli

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

type trainOptions struct {
	Scenario string   `flag:"scenario,s" complete:"scenario" help:"built-in scenarios, see scenario ls, or YAML files, with commas between"`
	Sets     []string `flag:"set" keys:"trainkeys" help:"change a setting: train.KEY=value or scenario.KEY=value; repeatable"`
	Config   string   `flag:"config" file:"yaml,yml" help:"YAML file of settings: scenario: NAME, from: POLICY, and train: with its keys"`
	From     string   `flag:"from" complete:"released" help:"begin with this policy: released, or the folder of an exported policy or of a run"`
	Goal     string   `flag:"objective" complete:"objective" help:"what the team is trained for: a name of objective ls, or a YAML file: train.objective (default completion)"`
	Updates  int      `flag:"updates" help:"how many updates the run makes: train.updates"`
	Seed     uint64   `flag:"seed" help:"seed of everything random: train.seed"`
	Dir      string   `flag:"dir" file:"dir" help:"folder of the run (default runs/SCENARIO)"`
	Labels   string   `flag:"labels" file:"dir" help:"folder of labels, which several runs may share (default labels in the run's folder)"`
	Resume   bool     `flag:"resume" help:"continue the run in --dir from its newest checkpoint, or begin it if there is none and it has a scenario"`
	Explain  bool     `flag:"explain" help:"print what every setting means, and train nothing"`
	Cores    int      `flag:"cores" min:"0" help:"cores that this process uses, 0 for all; does not change the result"`
	Pool     poolOptions

	changed func(flag string) bool // whether the user gave a flag
	again   []string               // flags of eval for the scenarios of the run; load sets it. nil if no flags name them
}

// trainSettings are the keys of a configuration file of train.
type trainSettings struct {
	Scenario string       `yaml:"scenario"`
	From     string       `yaml:"from"`
	Train    train.Config `yaml:"train"`
}

func newTrainCmd(a *app) *cobra.Command {
	opts := &trainOptions{Updates: train.DefaultConfig().Updates, Seed: train.DefaultConfig().Seed}
	cmd := newCommand(a, opts, &cobra.Command{
		Use:   "train --scenario S[,S...]",
		Short: "Train a team of server agents",
		Long: cmdline.Long(`
Trains a policy on the training windows of one scenario, or of several in turn, and keeps the weights that do best on their
validation windows. The team begins as its prior, the baseline whose proposals it reviews: train.prior names it, or several
with commas between, of which the best on training windows is taken. docs/training.md explains the rest.

--objective says what the team is trained for: see docs/objectives.md. All costs are printed in its unit, and weights are kept if
the sum of their costs over the validation windows is lower by more than its standard error. The run records the objective's text.

--from begins with the weights of a trained policy: released, the folder of an exported policy, or that of a run, whose best
weights are taken. The run has that policy's prior, window, candidates, rivals, encoder and size, and refuses others, and its
margin unless train.margin is given. Validation chooses among that policy as it is, the prior, and the weights trained here.

The same settings give the same weights, byte for byte, whatever the number of cores, even if a run is interrupted or killed
and then resumed. The run's folder contains run.yaml, metrics.jsonl, timing.jsonl, checkpoints, labels, and event files with
which TensorBoard shows the run while it is in progress: tensorboard --logdir FOLDER.

--workers N starts N processes that compute the labels and play the episodes of PPO, and --listen lets workers of other
machines do so, too, with TLS and a token: see clustergym worker, and clustergym workers for what they do. The result is the
same, byte for byte. The learner includes the broker through which they work; --broker names a server of NATS instead.

With train.patience=N the run ends after N validations in a row that found no better weights.

An interrupt lets the current update finish and saves it; a second one ends at once. --resume continues a run from its
newest checkpoint, and with another number of --updates extends it; train.extended in run.yaml then records the parts. With
--scenario or --config, --resume begins the run if there is none.

Later sources override earlier ones: defaults, --config, variables such as CLUSTERGYM_TRAIN_RATE, --set and the flags. --explain
lists the settings with their defaults and says what they mean.`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym train --scenario embedded-small-v1 --updates 20 --dir runs/first
  clustergym train --scenario venus-contended-v1 --set train.rate=3e-4 --set scenario.cluster.servers=48
  clustergym train --scenario venus-load110-strong-rigid-warm-v1,philly-load110-strong-rigid-warm-v1 --dir runs/both
  clustergym train --scenario embedded-small-v1 --objective small-first --set train.label=0.2 --updates 20 --dir runs/small-first
  clustergym train --from released --scenario mine.yaml --updates 20 --dir runs/mine
  clustergym train --resume --dir runs/first
  clustergym train --resume --updates 40 --dir runs/first
  clustergym train --explain`,
	}, runTrain)
	opts.changed = cmd.Flags().Changed
	return cmd
}

// trained is the result of train.
type trained struct {
	Dir      string         `json:"dir"`
	Scenario string         `json:"scenario"`
	Updates  int            `json:"updates"` // number of finished updates
	Of       int            `json:"of"`
	Stopped  bool           `json:"stopped"` // stopped before the last update
	Last     *train.Metrics `json:"last,omitempty"`
	Kept     *train.Best    `json:"kept,omitempty"` // by validation; nil before the first
	Why      string         `json:"why,omitempty"`  // the run keeps nothing better than its prior, and what to try
	again    []string       // flags of eval for the scenarios; nil if no flags name them
	run      *train.Folder
}

func runTrain(ctx context.Context, a *app, opts *trainOptions, _ []string) error {
	if opts.Explain {
		return printExplained(a)
	}
	if opts.changed("updates") {
		opts.Sets = append(opts.Sets, fmt.Sprintf("train.updates=%d", opts.Updates))
	}
	if opts.changed("seed") {
		opts.Sets = append(opts.Sets, fmt.Sprintf("train.seed=%d", opts.Seed))
	}
	if opts.Dir != "" && cmp.Or(opts.Scenario, opts.Config) != "" {
		opts.Resume = opts.Resume && flags.IsRun(opts.Dir)
	}
	result, err := trainRun(ctx, a, opts)
	if err != nil {
		return err
	}
	if err := result.print(a); err != nil {
		return err
	}
	if result.Stopped {
		return cmdline.Fail(cmdline.CodeInterrupted, fmt.Errorf("stopped after update %d of %d: "+
			"go on with %s", result.Updates, result.Of, next(opts.resumed(result.Dir)...)))
	}
	return nil
}

// resumed returns the command that goes on with the run in dir.
func (o *trainOptions) resumed(dir string) []string {
	words := []string{"train", "--resume", "--dir", dir}
	if o.Labels != "" {
		words = append(words, "--labels", o.Labels)
	}
	return words
}

// trainRun trains and shows its progress. The first signal stops the training after the update in progress.
func trainRun(ctx context.Context, a *app, opts *trainOptions) (*trained, error) {
	scenarios, cfg, from, err := opts.load(a)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range scenarios {
		names = append(names, s.Name)
	}
	result := &trained{Dir: opts.Dir, Scenario: strings.Join(names, ","), Of: cfg.Updates, again: opts.again}
	if result.Dir == "" {
		result.Dir = filepath.Join("runs", names[0])
	}
	bar := a.bar("train", "it", int64(cfg.Updates))
	defer bar.Finish()
	defer context.AfterFunc(ctx, func() { bar.Note("interrupted: finishing this update, a second signal ends at once") })()
	warn := func(err error) { bar.Clear(); a.Warn(err) }
	pool, err := opts.Pool.open(ctx, result.Dir, a, warn, func(s work.Status) { bar.Note(poolNote("units", s)) })
	if err != nil {
		return nil, err
	}
	options := train.Options{
		Dir: result.Dir, Labels: opts.Labels, Resume: opts.Resume, Workers: opts.Cores, Scenarios: scenarios, Stop: ctx.Done(),
		Clock: time.Now, Given: eval.Given, From: from,
		Older: warned(result.Dir, warn), Warn: warn,
		Progress: func(m *train.Metrics) {
			if result.Last == nil && opts.Resume {
				bar.Skip(int64(m.Update))
			}
			last := *m
			result.Last, result.Updates = &last, m.Update
			bar.Set(int64(m.Update))
			bar.Note(note(m, cfg.Objective))
		},
	}
	if pool != nil {
		options.Pool = pool.of(trainJob)
	}
	_, result.Stopped, err = train.Run(context.WithoutCancel(ctx), cfg, options)
	pool.finish(err == nil && !result.Stopped)
	if err != nil {
		return nil, err
	}
	if result.run, err = train.ReadFolder(result.Dir); err != nil {
		return nil, err
	}
	result.Kept, result.Why = result.run.Best(), whyNothing(result.run)
	return result, nil
}

// note returns the text of the progress line for an update of a run that learns for an objective.
func note(m *train.Metrics, objective string) string {
	what, unit := train.Compared(objective)
	text := fmt.Sprintf("%d labels  saves %+.3f %s a choice", m.Choices, m.Unseen, unit)
	if m.Relative != nil {
		text = fmt.Sprintf("%s %.3f of the prior's  departs %.0f %%", what, *m.Relative, 100*m.Departs)
	}
	if m.Best != 0 {
		text += fmt.Sprintf("  against the best %.3f", m.Best)
	}
	if m.Start != nil {
		text += fmt.Sprintf("  began at %.3f", *m.Start)
	}
	if m.Validation != nil {
		text += fmt.Sprintf("  validation %.3f%s", *m.Validation, besideIt(m, unit))
	}
	if m.ValidationBest != 0 {
		text += fmt.Sprintf(", against the best %.3f", m.ValidationBest)
	}
	return text
}

// besideIt tells the standard error of a validation, and the costs of a window.
func besideIt(m *train.Metrics, unit string) (text string) {
	if m.ValidationError != nil {
		text += fmt.Sprintf(" ±%.3f", *m.ValidationError)
	}
	if m.ValidationCost != 0 || m.ValidationPrior != 0 {
		text += fmt.Sprintf(" (%.4g %s a window, the prior %.4g)", m.ValidationCost, unit, m.ValidationPrior)
	}
	return text
}

// load returns the scenarios and the settings of the run, and the policy that it begins with, nil for an untrained one. A resumed
// run keeps its own, unless the user names others.
func (o *trainOptions) load(a *app) ([]*scenario.Scenario, train.Config, *train.From, error) {
	own, sets := splitSets(o.Sets)
	settings := trainSettings{Train: train.DefaultConfig()}
	var before *train.Recipe
	if o.Resume && o.Scenario == "" && o.Config == "" && o.Dir != "" {
		var err error
		if before, err = readRecipe(o.Dir); err != nil {
			return nil, train.Config{}, nil, err
		}
		settings.Train = before.Train
	}
	layers := config.Options{EnvPrefix: "CLUSTERGYM", Sets: sets}
	from, err := o.beginning(a, layers)
	if err != nil {
		return nil, train.Config{}, nil, err
	}
	if from != nil && before == nil {
		settings.Train = from.Adopt(settings.Train)
	}
	if _, err := config.Load(o.Config, &settings, layers); err != nil {
		return nil, train.Config{}, nil, err
	}
	settings.Train.Table = a.table()
	if o.Goal != "" {
		settings.Train.Objective = o.Goal
	}
	if err := settings.Train.Validate(); err != nil {
		return nil, train.Config{}, nil, err
	}
	if err := settings.Train.Settle(); err != nil {
		return nil, train.Config{}, nil, err
	}
	if before != nil && len(own) == 0 {
		if names := recipe.Names(o.Dir, before.Scenarios); names != nil {
			o.again = []string{"--scenario", strings.Join(names, ",")}
		}
		return before.Scenarios, settings.Train, from, nil
	}
	names := cmp.Or(o.Scenario, settings.Scenario)
	if names == "" && before != nil {
		for _, w := range before.Workloads {
			names += "," + w.Scenario
		}
		names = names[1:]
	}
	if names == "" {
		return nil, train.Config{}, nil, cmdline.Usage("no scenario: name one with --scenario, see clustergym scenario ls")
	}
	o.again = []string{"--scenario", names}
	for _, set := range own {
		o.again = append(o.again, "--set", strings.TrimPrefix(set, flags.ScenarioPrefix))
	}
	var all []*scenario.Scenario
	for name := range strings.SplitSeq(names, ",") {
		s, err := (&flags.Scenario{Name: name, Sets: own}).Load()
		if err != nil {
			return nil, train.Config{}, nil, err
		}
		all = append(all, s)
	}
	return all, settings.Train, from, nil
}

// splitSets separates settings of scenarios from others.
func splitSets(all []string) (own, others []string) {
	for _, set := range all {
		if strings.HasPrefix(set, flags.ScenarioPrefix) {
			own = append(own, set)
		} else {
			others = append(others, set)
		}
	}
	return own, others
}

func (r *trained) print(a *app) error {
	if a.JSON {
		return a.PrintJSON(r)
	}
	a.Printf("%s: %d of %d updates on %s", r.Dir, r.Updates, r.Of, r.Scenario)
	if text := keptText(r.run); text != "" {
		a.Printf("; %s", text)
	}
	if r.Updates < r.Of && !r.Stopped {
		a.Printf("; ended early, see train.patience")
	}
	if r.Why != "" {
		a.Printf("\nwhy:         %s", r.Why)
	}
	policies := append(rivals(r.run.Recipe.Scenarios), policy.Prior)
	by := objectiveOf(r.run.Recipe.Train.Objective, r.Dir)
	if by != nil { // the rule for any objective
		_, knows, _ := strings.Cut(policies[1], "+")
		policies = slices.Insert(policies, 0, strings.TrimSuffix("index+"+knows, "+"))
	}
	if from := filepath.Join(r.Dir, train.FromName); r.run.Recipe.From != nil && checkpoints.IsBundle(from) {
		policies = append(policies, "from="+from)
	}
	policies = append(policies, named(r.Dir, policies))
	a.Printf("\ncheckpoints: %s\n", filepath.Join(r.Dir, "checkpoints"))
	if r.again != nil && tested(r.run.Recipe.Scenarios) {
		a.Printf("evaluate:    %s\n", next(slices.Concat([]string{"eval"}, r.again, by,
			[]string{"--policies", list(policies), "--baseline", policy.Prior})...))
	}
	a.Printf("export:      %s\n", next("export", "--run", r.Dir))
	return nil
}

// objectiveOf returns the flags of eval for what the run in dir was trained for: none for what eval measures anyway, and for
// rewards of the program, which eval does not know.
func objectiveOf(objective, dir string) []string {
	o, err := objectives.Open(objective)
	if objective == "" || err != nil {
		return nil
	}
	if known, err := objectives.Open(o.Name); err == nil && known.Text() == o.Text() {
		dir = o.Name
	}
	return []string{"--objective", dir}
}

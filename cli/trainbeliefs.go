package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/train/ensemble"
	"github.com/clustergym/clustergym/train/recipe"
	"github.com/clustergym/clustergym/train/runtimes"
	"github.com/clustergym/clustergym/train/speeds"
)

type beliefsOptions struct {
	scenario flags.Scenario
	what     string
	dir      string
	resume   bool
}

// beliefsSettings are the settings of train beliefs, and speedsSettings those of train beliefs --what speeds.
type (
	beliefsSettings struct {
		Beliefs runtimes.Config `yaml:"beliefs"`
	}
	speedsSettings struct {
		Speeds speeds.Config `yaml:"speeds"`
	}
)

// Values of the flag what.
const whatTimes, whatSpeeds = "times", "speeds"

func newTrainBeliefsCmd(a *app) *cobra.Command {
	var opts beliefsOptions
	cmd := &cobra.Command{
		Use:   "beliefs --scenario S[,S...] --dir D",
		Short: "Train a network that predicts how long jobs run, or how fast",
		Long: cmdline.Long(`
Fits a network to how long the jobs of the training splits of the scenarios ran. The network corrects what the history of a
user and a number of workers says about a job, by what the user's other jobs do, and how sure that history is. Jobs that still
run at the end of a split count as jobs that run at least so long. Each of the network's members stops at the epoch that does
best on the validation splits. A policy uses the network with the suffix +know:seen=training:time=learned:from=D, in eval and
headroom; without seen=training it begins every episode without a history.

The same settings give the same network, byte for byte, even if a run is interrupted or killed and then resumed. The run's
folder contains the network (runtimes.safetensors, and network.onnx for other runtimes), README.md with its scores, run.yaml,
metrics.jsonl and checkpoints.

With --what speeds it fits a network to how fast jobs run, which corrects what a regression on measured throughputs says. Each
scenario, whose speeds must not be told (those whose names end in -untold-v1), is played on several clusters that are drawn:
their models run at other speeds than those of the catalogue. Each member stops at the epoch that does best on further clusters.
A policy uses the network with the suffix +know:speed=learned:speeds=D; with seen=training it begins every episode with readings
of the training split. The network is in speeds.safetensors.

These settings can be changed with --set, and with variables such as CLUSTERGYM_BELIEFS_RATE, in addition to those of the
scenarios:
`+settingsText(&beliefsSettings{runtimes.DefaultConfig()}, "beliefs.")+"\n\nand with --what speeds:\n"+
			settingsText(&speedsSettings{speeds.DefaultConfig()}, "speeds."), cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym train beliefs --scenario venus-load110-strong-rigid-warm-v1 --dir runs/venus-times
  clustergym train beliefs --scenario venus-load110-strong-rigid-warm-v1,philly-load110-strong-rigid-warm-v1 --dir runs/times
  clustergym train beliefs --resume --dir runs/times
  clustergym train beliefs --what speeds --scenario hetero-warm-venus-untold-v1 --dir runs/speeds`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmdline.OneOf("what", opts.what, whatTimes, whatSpeeds); err != nil {
				return err
			}
			run, key := runTrainBeliefs, "beliefs.seed="
			if opts.what == whatSpeeds {
				run, key = runTrainSpeeds, "speeds.seed="
			}
			if f := cmd.Flags().Lookup("seed"); f.Changed {
				opts.scenario.Sets = append(opts.scenario.Sets, key+f.Value.String())
			}
			return run(cmd.Context(), a, opts)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&opts.scenario.Name, "scenario", "s", "", "built-in scenarios, see scenario ls, or YAML files, with commas between")
	opts.scenario.AddSet(cmd, "change a setting: beliefs.KEY=value, speeds.KEY=value or scenario.KEY=value; repeatable", beliefsKeys)
	f.StringVar(&opts.what, "what", whatTimes, "what the network predicts: times or speeds")
	f.Uint64("seed", runtimes.DefaultConfig().Seed, "seed of everything random: beliefs.seed or speeds.seed")
	f.StringVar(&opts.dir, "dir", "", "folder of the run")
	f.BoolVar(&opts.resume, "resume", false, "continue the run in --dir from its newest checkpoint")
	cmdline.Require(cmd, "dir")
	cmdline.Complete(cmd, "scenario", scenario.Names)
	return cmd
}

// beliefsKeys returns the keys of --set, which shells complete.
func beliefsKeys() []string {
	return slices.Concat(
		flags.Keys(&beliefsSettings{runtimes.DefaultConfig()}, ""), flags.Keys(&speedsSettings{speeds.DefaultConfig()}, ""),
		flags.Keys(&scenario.Scenario{}, flags.ScenarioPrefix),
	)
}

// believed is the result of train beliefs.
type believed struct {
	Dir    string        `json:"dir"`
	Scores []beliefScore `json:"validation"`
}

type beliefScore struct {
	Scenario string `json:"scenario"`
	runtimes.Scores
}

func runTrainBeliefs(ctx context.Context, a *app, opts beliefsOptions) error {
	settings := beliefsSettings{runtimes.DefaultConfig()}
	cfg := &settings.Beliefs
	scenarios, err := opts.load(&settings, func() ([]*scenario.Scenario, error) {
		before, err := runtimes.ReadRecipe(opts.dir)
		if err != nil {
			return nil, err
		}
		*cfg = before.Beliefs
		return before.Scenarios, nil
	})
	if err != nil {
		return err
	}
	fit, finish := opts.follow(a, cfg.Members, cfg.Epochs)
	result, err := runtimes.Run(ctx, *cfg, runtimes.Options{Options: fit, Scenarios: scenarios})
	if err := finish(err); err != nil {
		return err
	}
	told := believed{Dir: opts.dir}
	for i, s := range result.Scores {
		told.Scores = append(told.Scores, beliefScore{scenarios[i].Name, s})
	}
	if a.JSON {
		return a.PrintJSON(told)
	}
	a.Printf("%s: mean log likelihood of run times on validation splits, and percentage in intervals of 80 %%\n", opts.dir)
	for _, s := range told.Scores {
		a.Printf("  %s, %d jobs: age %.3f, %.0f %%; history %.3f, %.0f %%; learned %.3f, %.0f %%\n", s.Scenario, s.Age.Jobs,
			s.Age.Likelihood, 100*s.Age.Inside, s.History.Likelihood, 100*s.History.Inside, s.Learned.Likelihood, 100*s.Learned.Inside)
	}
	rule := "sjfskip"
	if !scenarios[0].Estimated() {
		rule += baselines.KnowSuffix
	}
	opts.suggest(a, scenarios, "fjf", rule, "sjfskip+know:seen=training:time=learned:from="+filepath.ToSlash(opts.dir))
	return nil
}

// suggest prints the command that compares policies of which the last uses the network with the second one.
func (o *beliefsOptions) suggest(a *app, scenarios []*scenario.Scenario, policies ...string) {
	names := recipe.Names(o.dir, scenarios)
	if names == nil || !tested(scenarios[:1]) {
		return
	}
	a.Printf("evaluate: %s\n", next("eval", "--scenario", names[0], "--policies", list(policies),
		"--baseline", policies[len(policies)-2]))
}

// follow returns options of a run that show its progress, and a function that ends this and returns the error of the command.
func (o *beliefsOptions) follow(a *app, members, epochs int) (fit ensemble.Options, finish func(error) error) {
	bar := progress.New(a.Talk, progress.Options{Quiet: a.Quiet, Total: int64(members * epochs), Label: "train", Unit: "epochs"})
	fit = ensemble.Options{Dir: o.dir, Resume: o.resume, Progress: func(m *ensemble.Metrics) {
		bar.Set(int64((m.Member-1)*epochs + m.Epoch)) // a member may be done before its last epoch
		bar.Note(fmt.Sprintf("member %d  training %.3f  validation %.3f, best %.3f", m.Member, m.Training, m.Validation, m.Best))
	}}
	return fit, func(err error) error {
		bar.Finish()
		if errors.Is(err, context.Canceled) {
			return cmdline.Fail(cmdline.CodeInterrupted, fmt.Errorf("stopped: go on with %s",
				next("train", "beliefs", "--what", o.what, "--resume", "--dir", o.dir)))
		}
		return err
	}
}

// load returns the scenarios of the run, and changes the settings. A resumed run keeps its own, which before reads, unless the
// user names others.
func (o *beliefsOptions) load(settings any, before func() ([]*scenario.Scenario, error)) ([]*scenario.Scenario, error) {
	own, sets := splitSets(o.scenario.Sets)
	var scenarios []*scenario.Scenario
	switch {
	case o.resume && o.scenario.Name == "" && len(own) == 0:
		var err error
		if scenarios, err = before(); err != nil {
			return nil, err
		}
	case o.scenario.Name == "":
		return nil, cmdline.Usage("no scenario: name one with --scenario, see clustergym scenario ls")
	default:
		for name := range strings.SplitSeq(o.scenario.Name, ",") {
			s, err := (&flags.Scenario{Name: name, Sets: own}).Load()
			if err != nil {
				return nil, err
			}
			scenarios = append(scenarios, s)
		}
	}
	_, err := config.Load("", settings, config.Options{EnvPrefix: "CLUSTERGYM", Sets: sets})
	return scenarios, err
}

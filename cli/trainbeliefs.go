package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/train/ensemble"
	"github.com/clustergym/clustergym/train/runtimes"
)

type beliefsOptions struct {
	scenario flags.Scenario
	dir      string
	resume   bool
}

// beliefsSettings are the settings of train beliefs.
type beliefsSettings struct {
	Beliefs runtimes.Config `yaml:"beliefs"`
}

func newTrainBeliefsCmd(a *app) *cobra.Command {
	var opts beliefsOptions
	cmd := &cobra.Command{
		Use:   "beliefs --scenario S[,S...] --dir D",
		Short: "Train a network that predicts how long jobs run",
		Long: cmdline.Long(`
Fits a network to how long the jobs of the training splits of the scenarios ran. The network corrects what the history of a
user and a number of workers says about a job, by what the user's other jobs do, and how sure that history is. Jobs that still
run at the end of a split count as jobs that run at least so long. Each of the network's members stops at the epoch that does
best on the validation splits. A policy uses the network with the suffix +know:seen=training:time=learned:from=D, in eval and
headroom; without seen=training it begins every episode without a history.

The same settings give the same network, byte for byte, even if a run is interrupted or killed and then resumed. The run's
folder contains the network (runtimes.safetensors), README.md with its scores, run.yaml, metrics.jsonl and checkpoints.

These settings can be changed with --set, and with variables such as CLUSTERGYM_BELIEFS_RATE, in addition to those of the
scenarios:
`+settingsText(&beliefsSettings{runtimes.DefaultConfig()}, "beliefs."), cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym train beliefs --scenario venus-load110-strong-rigid-warm-v1 --dir runs/venus-times
  clustergym train beliefs --scenario venus-load110-strong-rigid-warm-v1,philly-load110-strong-rigid-warm-v1 --dir runs/times
  clustergym train beliefs --resume --dir runs/times`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f := cmd.Flags().Lookup("seed"); f.Changed {
				opts.scenario.Sets = append(opts.scenario.Sets, "beliefs.seed="+f.Value.String())
			}
			return runTrainBeliefs(cmd.Context(), a, opts)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&opts.scenario.Name, "scenario", "s", "", "built-in scenarios, see scenario ls, or YAML files, with commas between")
	opts.scenario.AddSet(cmd, "change a setting: beliefs.KEY=value or scenario.KEY=value; repeatable")
	f.Uint64("seed", runtimes.DefaultConfig().Seed, "seed of everything random: beliefs.seed")
	f.StringVar(&opts.dir, "dir", "", "folder of the run")
	f.BoolVar(&opts.resume, "resume", false, "continue the run in --dir from its newest checkpoint")
	cmdline.Require(cmd, "dir")
	cmdline.Complete(cmd, "scenario", scenario.Names)
	return cmd
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
	scenarios, cfg, err := opts.load()
	if err != nil {
		return err
	}
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(cfg.Members * cfg.Epochs), Label: "train", Unit: "epochs",
	})
	result, err := runtimes.Run(ctx, cfg, runtimes.Options{
		Options: ensemble.Options{Dir: opts.dir, Resume: opts.resume, Progress: func(m *ensemble.Metrics) {
			bar.Set(int64((m.Member-1)*cfg.Epochs + m.Epoch)) // a member may be done before its last epoch
			bar.Note(fmt.Sprintf("member %d  training %.3f  validation %.3f, best %.3f", m.Member, m.Training, m.Validation, m.Best))
		}},
		Scenarios: scenarios,
	})
	bar.Finish()
	if errors.Is(err, context.Canceled) {
		return cmdline.Fail(cmdline.CodeInterrupted,
			fmt.Errorf("stopped: go on with clustergym train beliefs --resume --dir %s", opts.dir))
	}
	if err != nil {
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
	a.Printf("evaluate: clustergym eval --scenario %s --policies fjf,sjfskip,sjfskip+know:seen=training:time=learned:from=%s\n",
		scenarios[0].Name, filepath.ToSlash(opts.dir))
	return nil
}

// load returns the scenarios and the settings of the run. A resumed run keeps its own, unless the user names others.
func (o *beliefsOptions) load() ([]*scenario.Scenario, runtimes.Config, error) {
	own, sets := splitSets(o.scenario.Sets)
	settings := beliefsSettings{runtimes.DefaultConfig()}
	var scenarios []*scenario.Scenario
	switch {
	case o.resume && o.scenario.Name == "" && len(own) == 0:
		before, err := runtimes.ReadRecipe(o.dir)
		if err != nil {
			return nil, runtimes.Config{}, err
		}
		settings.Beliefs, scenarios = before.Beliefs, before.Scenarios
	case o.scenario.Name == "":
		return nil, runtimes.Config{}, cmdline.Usage("no scenario: name one with --scenario, see clustergym scenario ls")
	default:
		for name := range strings.SplitSeq(o.scenario.Name, ",") {
			s, err := (&flags.Scenario{Name: name, Sets: own}).Load()
			if err != nil {
				return nil, runtimes.Config{}, err
			}
			scenarios = append(scenarios, s)
		}
	}
	_, err := config.Load("", &settings, config.Options{EnvPrefix: "CLUSTERGYM", Sets: sets})
	return scenarios, settings.Beliefs, err
}

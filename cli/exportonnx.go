package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/cmdline"
	onnxrun "github.com/clustergym/clustergym/internal/onnx/run"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train/recipe"
)

type exportONNXOptions struct {
	envOptions
	model, out, name, key string
}

func newExportONNXCmd(a *app) *cobra.Command {
	var opts exportONNXOptions
	cmd := &cobra.Command{
		Use:   "onnx --model FILE --scenario S --out DIR",
		Short: "Write a policy that was trained with other software as a bundle",
		Long: cmdline.Long(`
Writes a policy that was trained with other software, as an ONNX model, as a policy bundle: a folder with policy.onnx,
manifest.json and README.md, its model card. eval, plan, serve and simulate take the folder as a policy. The Python package
calls this command in clustergym.export_policy; docs/python.md says how a model is exported from PyTorch.

The policy is that of a central controller. Its inputs have the names of the environment's observations: one or more of servers,
jobs, job_mask, candidates, job_of, coalition, cluster and action_mask. Its output is a score for each number that may be named,
0 included. All servers of the candidate with the highest score name it; if the scores of several are equal, the one with the
lowest number. If the score of a number that may be named is infinite or no number, the prior's choice is taken.

The flags of the environment are those with which the policy was trained: they say what it observes. --scenario, --split and
--reward are recorded, and eval refuses windows that share jobs with the training and validation windows of the scenario, or
with those of the split. --agree makes no difference.

Before the folder is written, the policy plays 64 rounds of the scenario as a trial. The command refuses a model that does not fit
the observations, that this program cannot compute, or that fails in the trial: the score of a number that may be named is
infinite or no number, or a round takes more than a quarter of a second of one core, or 128 MiB. A model with a fixed number of
servers decides only on clusters of that many. A bundle that is already in the folder is replaced.

--sign-key signs the bundle with an Ed25519 key: docs/production.md explains how.`),
		Example: `  clustergym export onnx --model policy.onnx --scenario embedded-small-v1 --out policies/mine
  clustergym export onnx --model policy.onnx --scenario embedded-small-v1 --prior sjfskip --candidates 24 --out policies/wide`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runExportONNX(cmd.Context(), a, &opts) },
	}
	opts.addGameFlags(cmd)
	opts.addSplitFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.model, "model", "", "file of the ONNX model")
	f.StringVarP(&opts.out, "out", "o", "", "folder of the bundle")
	f.StringVar(&opts.name, "name", "", "name of the policy (default that of the folder)")
	f.StringVar(&opts.key, "sign-key", "", "file of the private key to sign with")
	cmdline.Require(cmd, "model", "scenario", "out")
	return cmd
}

// trial is what a policy did in some rounds.
type trial struct {
	Scenario string `json:"scenario"`
	Rounds   int    `json:"rounds"`
	Other    int    `json:"other_than_prior"` // rounds in which it did not name the prior's choice
}

// exportedONNX is the result of export onnx.
type exportedONNX struct {
	exported
	Digest string `json:"digest"`
	Trial  trial  `json:"trial"`
}

func runExportONNX(ctx context.Context, a *app, opts *exportONNXOptions) error {
	result, err := exportONNX(ctx, opts)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(result)
	}
	t := &result.Trial
	a.Printf("policy %s: %s\ntrial:   %d rounds of %s; it departed from the prior in %d\n"+
		"try it:  %s\n", result.Policy, result.Out, t.Rounds, t.Scenario, t.Other,
		next(slices.Concat([]string{"eval", "--scenario", opts.scenario.Name}, opts.scenario.Again(), []string{
			"--policies", list([]string{policy.Prior, named(result.Out, []string{policy.Prior})}), "--baseline", policy.Prior})...))
	return nil
}

func exportONNX(ctx context.Context, opts *exportONNXOptions) (*exportedONNX, error) {
	var key ed25519.PrivateKey
	if opts.key != "" {
		var err error
		if key, err = checkpoints.ReadSigningKey(opts.key); err != nil {
			return nil, err
		}
	}
	if err := cmdline.OneOf("split", opts.split, flags.Splits()...); err != nil {
		return nil, err
	}
	if _, err := opts.game(); err != nil { // names the flags that are wrong
		return nil, err
	}
	file, err := readModel(opts.model)
	if err != nil {
		return nil, err
	}
	setting := agents.Setting{
		Window: opts.window, Encoder: opts.encoder, Prior: opts.prior, Wide: agents.Wide{Items: opts.wide, Rivals: opts.rivals},
	}
	name := cmp.Or(opts.name, filepath.Base(filepath.Clean(opts.out)))
	c, err := agents.NewCentral(name, setting, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.model, err)
	}
	src, err := opts.open()
	if err != nil {
		return nil, err
	}
	cfg, err := opts.dealt(src, scenario.Split(opts.split))
	if err != nil {
		return nil, err
	}
	tried, err := try(ctx, c, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.model, err)
	}
	tried.Scenario = src.Scenario().Name
	if err := c.Save(opts.out, "clustergym "+version, opts.training(src), key); err != nil {
		return nil, err
	}
	return &exportedONNX{exported{Policy: name, Out: opts.out}, c.Digest(), tried}, nil
}

// training returns what is recorded of the policy's training.
func (o *exportONNXOptions) training(src *scenario.Source) checkpoints.Provenance {
	w := recipe.Of(src, "")
	w.Seen = append(w.Seen, src.Periods(scenario.Split(o.split))...)
	t := checkpoints.Provenance{Scenario: w.Scenario, Git: revision(), Go: runtime.Version()}
	t.Seen = recipe.Seen([]recipe.Workload{w})
	if o.reward != (env.Flow{}).Name() {
		t.Objective = o.reward
	}
	return t
}

// readModel reads the file of a model that is not too large.
func readModel(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read ONNX model: %w", err)
	}
	defer f.Close()
	file, err := io.ReadAll(io.LimitReader(f, onnxrun.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read ONNX model: %s: %w", path, err)
	}
	return file, nil
}

// How long a trial is: it ends after so many rounds, or so many episodes.
const trialRounds, trialEpisodes = 64, 16

// try plays rounds of a scenario with a policy. It returns an error if the policy cannot decide, or would leave a choice to the
// prior.
func try(ctx context.Context, c *agents.Central, cfg env.Config) (t trial, err error) {
	cfg.Game = c.Game()
	e, err := env.New(cfg)
	if err != nil {
		return t, err
	}
	defer func() { _ = e.Close() }()
	player := agents.NewCentralPlayer(c)
	player.Within(ctx)
	var ts env.TimeStep
	joint, usual := make([]game.Action, e.Spec().Agents), make([]game.Action, e.Spec().Agents)
	for seed := uint64(1); t.Rounds < trialRounds && seed <= trialEpisodes; seed++ {
		for err = e.Reset(seed, &ts); err == nil && !ts.Over() && t.Rounds < trialRounds; err = e.Step(joint, &ts) {
			if err := player.Act(e.Txn(), &ts.Round, joint); err != nil {
				return t, fmt.Errorf("trial: round %d: %w", t.Rounds, err)
			}
			ts.Unanimous(ts.Prior, usual)
			if t.Rounds++; !slices.Equal(joint, usual) {
				t.Other++
			}
		}
		if err != nil {
			return t, fmt.Errorf("trial: %w", err)
		}
	}
	if t.Rounds == 0 {
		return t, fmt.Errorf("trial: %d episodes of the scenario have no round in which there is something to choose", trialEpisodes)
	}
	if n := player.OutOfDistribution(); n > 0 {
		return t, fmt.Errorf("trial: in %d of %d rounds the score of a number that may be named is infinite or no number (NaN): want"+
			" finite scores for all observations", n, t.Rounds)
	}
	return t, nil
}

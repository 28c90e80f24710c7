package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/scenario"
	onnxrun "github.com/clustergym/clustergym/internal/onnx/run"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train/recipe"
)

// trial is what a policy did in some rounds.
type trial struct {
	Scenario string `json:"scenario"`
	Rounds   int    `json:"rounds"`
	Other    int    `json:"other_than_prior"` // rounds in which it did not name the prior's choice
}

// exportedONNX is the result of export --model.
type exportedONNX struct {
	exported
	Digest string `json:"digest"`
	Trial  trial  `json:"trial"`
}

func runExportONNX(ctx context.Context, a *app, opts *exportOptions) error {
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
		next(slices.Concat([]string{"eval", "--scenario", opts.Scenario.Name}, opts.Scenario.Again(), []string{
			"--policies", list([]string{policy.Prior, named(result.Out, []string{policy.Prior})}), "--baseline", policy.Prior})...))
	return nil
}

func exportONNX(ctx context.Context, opts *exportOptions) (*exportedONNX, error) {
	key, err := opts.signingKey()
	if err != nil {
		return nil, err
	}
	if _, err := opts.game(); err != nil { // names the flags that are wrong
		return nil, err
	}
	file, err := readModel(opts.Model)
	if err != nil {
		return nil, err
	}
	setting := agents.Setting{
		Window: opts.Window, Encoder: opts.Encoder, Prior: opts.Prior, Wide: agents.Wide{Items: opts.Wide, Rivals: opts.Rivals},
		Table: opts.table, Costs: opts.Objective != "",
	}
	name := cmp.Or(opts.Name, filepath.Base(filepath.Clean(opts.Out)))
	c, err := agents.NewCentral(name, setting, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.Model, err)
	}
	src, err := opts.open()
	if err != nil {
		return nil, err
	}
	cfg, err := opts.dealt(src, scenario.Split(opts.Split))
	if err != nil {
		return nil, err
	}
	tried, err := try(ctx, c, cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.Model, err)
	}
	tried.Scenario = src.Scenario().Name
	if err := c.Save(opts.Out, "clustergym "+version, opts.training(src), key); err != nil {
		return nil, err
	}
	return &exportedONNX{exported{Policy: name, Out: opts.Out}, c.Digest(), tried}, nil
}

// training returns what is recorded of the policy's training.
func (o *exportOptions) training(src *scenario.Source) checkpoints.Provenance {
	w := recipe.Of(src, "")
	w.Seen = append(w.Seen, src.Periods(scenario.Split(o.Split))...)
	t := checkpoints.Provenance{Scenario: w.Scenario, Git: revision(), Go: runtime.Version()}
	t.Seen = recipe.Seen([]recipe.Workload{w})
	switch {
	case o.Objective != "":
		if o, err := openObjective(o.Objective); err == nil { // it has been opened before
			t.Objective = o.Text()
		}
	case o.Reward != (env.Flow{}).Name():
		t.Objective = o.Reward
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

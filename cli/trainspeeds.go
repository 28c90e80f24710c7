package cli

import (
	"context"
	"path/filepath"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/speeds"
)

// believedSpeeds is the result of train beliefs --what speeds.
type believedSpeeds struct {
	Dir    string       `json:"dir"`
	Scores []speedScore `json:"validation"`
}

type speedScore struct {
	Scenario string `json:"scenario"`
	speeds.Scores
}

// runTrainSpeeds runs train beliefs --what speeds.
func runTrainSpeeds(ctx context.Context, a *app, opts beliefsOptions) error {
	settings := speedsSettings{speeds.DefaultConfig()}
	cfg := &settings.Speeds
	scenarios, err := opts.load(&settings, func() ([]*scenario.Scenario, error) {
		before, err := speeds.ReadRecipe(opts.dir)
		if err != nil {
			return nil, err
		}
		*cfg = before.Speeds
		return before.Scenarios, nil
	})
	if err != nil {
		return err
	}
	fit, finish := opts.follow(a, cfg.Members, cfg.Epochs)
	result, err := speeds.Run(ctx, *cfg, speeds.Options{Options: fit, Scenarios: scenarios})
	if err := finish(err); err != nil {
		return err
	}
	told := believedSpeeds{Dir: opts.dir}
	for i, s := range result.Scores {
		told.Scores = append(told.Scores, speedScore{scenarios[i].Name, s})
	}
	if a.JSON {
		return a.PrintJSON(told)
	}
	a.Printf("%s: root of the mean square error of log speeds on other clusters, and percentage in intervals of 80 %%\n", opts.dir)
	for _, s := range told.Scores {
		a.Printf("  %s, %d speeds: fit %.3f, %.0f %%; learned %.3f, %.0f %%\n", s.Scenario, s.Fit.Examples,
			s.Fit.Error, 100*s.Fit.Inside, s.Learned.Error, 100*s.Learned.Inside)
	}
	const policy = "srsf+menu+move+know:speed="
	opts.suggest(a, scenarios, policy+"fit", policy+"learned:speeds="+filepath.ToSlash(opts.dir))
	return nil
}

package sweep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

// Folders in the folder of a sweep.
const (
	runsName   = "runs"
	labelsName = "labels"
)

// dir returns the folder of a run.
func (s *sweep) dir(r *run) string { return filepath.Join(s.opt.Dir, runsName, r.name) }

// older returns the function by which a run accepts an older checkpoint if its newest is damaged.
func (s *sweep) older(r *run) func(*train.OlderError) error {
	if s.opt.Warn == nil {
		return nil
	}
	return func(e *train.OlderError) error {
		s.opt.Warn(fmt.Errorf("run %s: %w", s.dir(r), e))
		return nil
	}
}

// restore finds how many updates of each run are stored.
func (s *sweep) restore() error {
	for _, all := range s.runs {
		for _, r := range all {
			_, training, err := train.Open(s.dir(r), s.Request.Train.Table, s.older(r))
			if err != nil && !errors.Is(err, checkpoints.ErrNone) && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("run %s: %w", r.name, err)
			}
			r.updates = training.Updates
		}
	}
	return nil
}

// train implements advance. The run keeps the settings of the whole run, so what it does up to an update does not depend on
// where it pauses.
func (s *sweep) train(ctx context.Context, r *run, until, workers int, note func(*train.Metrics)) error {
	pause, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	stop := sync.OnceFunc(func() { close(pause) })
	go func() {
		select {
		case <-s.stop:
			stop()
		case <-ended:
		}
	}()
	_, err := os.Stat(filepath.Join(s.dir(r), recipe.Name))
	opt := s.opt.Train
	opt.Dir, opt.Resume, opt.Workers, opt.Labels = s.dir(r), err == nil, workers, filepath.Join(s.opt.Dir, labelsName)
	opt.Scenarios, opt.Older, opt.Stop = s.opt.Scenarios, s.older(r), pause
	last := 0
	opt.Progress = func(m *train.Metrics) {
		note(m)
		if last = m.Update; last >= until {
			stop()
		}
	}
	_, _, err = train.Run(ctx, r.config, opt)
	switch {
	case err != nil:
		return fmt.Errorf("run %s: %w", r.name, err)
	case last < until:
		return ErrStopped
	}
	return nil
}

// metrics implements read.
func (s *sweep) metrics(r *run) ([]train.Metrics, error) { return train.ReadMetrics(s.dir(r)) }

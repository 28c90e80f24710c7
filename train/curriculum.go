package train

import (
	"fmt"
	"reflect"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/recipe"
)

// Stage is a number of updates whose training windows come from the scenarios with other settings. Validation windows always come
// from the scenarios as given.
type Stage struct {
	// Updates is the number of updates.
	Updates int `yaml:"updates"`
	// Set lists the settings of the scenarios, as "key=value".
	Set []string `yaml:"set"`
}

func (c *Config) validateCurriculum() error {
	sum := 0
	for i, s := range c.Curriculum {
		if s.Updates < 1 || s.Updates > c.Updates-sum {
			return fmt.Errorf("train.curriculum: stage %d of %d updates, want 1 or more and at most %d in all (train.updates)",
				i+1, s.Updates, c.Updates)
		}
		sum += s.Updates
	}
	return nil
}

// stage returns the index of the stage to which an update belongs. Updates count from 1. The index is len(Curriculum) for updates
// after the last stage, which use the scenarios as given.
func (c *Config) stage(update int) int {
	for i, s := range c.Curriculum {
		if update <= s.Updates {
			return i
		}
		update -= s.Updates
	}
	return len(c.Curriculum)
}

// openStages opens the scenarios of all stages. digests are those of the scenarios as given. It returns the workloads of the
// stages, and the digests of all sources by stage, with those given last.
//
// It returns an error for a stage with another cluster, whose agents and features would differ, with no training windows, or with
// training windows from the parts of a trace that validate or test the team.
func (r *run) openStages(digests []string) (stages []recipe.Workload, all [][]string, err error) {
	for i, stage := range r.cfg.Curriculum {
		var sources []*scenario.Source
		var own []string
		for _, given := range r.sources {
			src, err := openStage(given, stage.Set)
			if err != nil {
				return nil, nil, fmt.Errorf("train.curriculum: stage %d: %w", i+1, err)
			}
			digest, err := src.Digest()
			if err != nil {
				return nil, nil, err
			}
			sources, own = append(sources, src), append(own, digest)
			stages = append(stages, recipe.Of(src, digest))
		}
		r.stages, all = append(r.stages, sources), append(all, own)
	}
	r.stages = append(r.stages, r.sources)
	return stages, append(all, digests), nil
}

func openStage(given *scenario.Source, set []string) (*scenario.Source, error) {
	s, err := given.Scenario().With(set...)
	if err != nil {
		return nil, err
	}
	was, err := given.Scenario().SimConfig()
	if err != nil {
		return nil, err
	}
	is, err := s.SimConfig()
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(bare(was.Cluster), bare(is.Cluster)) {
		return nil, fmt.Errorf("scenario %s: another cluster, want the same servers in all stages", s.Name)
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	if src.Count(scenario.Train) == 0 {
		return nil, fmt.Errorf("scenario %s has no training windows", s.Name)
	}
	for _, split := range []scenario.Split{scenario.Validation, scenario.Test} {
		if p, found := scenario.Overlap(src.Periods(scenario.Train), given.Periods(split)); found {
			return nil, fmt.Errorf("scenario %s: training windows from %s, which is for %s", s.Name, p, split)
		}
	}
	return src, nil
}

// bare returns a cluster without the rules that no feature depends on.
func bare(c cluster.Spec) cluster.Spec {
	c.Quotas, c.NoPreemption = nil, false
	return c
}

package flags

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/train/recipe"
)

// Scenario contains the flags that name a scenario and change its settings. Name may also be the folder of a run that learned
// from one scenario.
type Scenario struct {
	Name string   `flag:"scenario,s" complete:"scenario" help:"a built-in scenario, see clustergym scenario ls, a YAML file, or a run's folder"`
	Sets []string `flag:"set" keys:"scenariokeys" help:"change the scenario: key=value, such as cluster.servers=16; repeatable"`
}

// Shared are the words that the tags of this package's structs name: see Bind.
var Shared = Words{"format": Formats, "scenario": scenario.All, "scenariokeys": ScenarioKeys, "split": Splits}

// ScenarioKeys returns the keys of a scenario's settings.
func ScenarioKeys() []string { return Keys(&scenario.Scenario{}, "") }

// Keys returns the keys of the settings in a struct, which it gets by its address, each behind a prefix.
func Keys(settings any, prefix string) []string {
	all, err := config.Load("", settings, config.Options{})
	if err != nil {
		panic("flags: keys of settings: " + err.Error())
	}
	keys := make([]string, len(all))
	for i, s := range all {
		keys[i] = prefix + s.Key
	}
	return keys
}

// Again returns the flags that make the same settings.
func (o *Scenario) Again() (words []string) {
	for _, set := range o.Sets {
		words = append(words, "--set", strings.TrimPrefix(set, ScenarioPrefix))
	}
	return words
}

// Load reads the scenario. The settings may omit the prefix "scenario.". An unknown name is a usage error.
func (o *Scenario) Load() (*scenario.Scenario, error) {
	if o.Name == "" {
		return nil, cmdline.Usage("no scenario: name one with --scenario, see clustergym scenario ls")
	}
	sets := make([]string, len(o.Sets))
	for i, s := range o.Sets {
		sets[i] = strings.TrimPrefix(s, ScenarioPrefix)
	}
	s, err := scenario.Load(o.Name, sets...)
	if err != nil && IsRun(o.Name) {
		return ofRun(o.Name, sets)
	}
	if errors.Is(err, scenario.ErrUnknown) {
		return nil, cmdline.Fail(cmdline.CodeUsage, err)
	}
	return s, err
}

// IsRun reports whether dir is the folder of a training run.
func IsRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, recipe.Name))
	return err == nil
}

// ofRun returns the scenario that a run learned from.
func ofRun(dir string, sets []string) (*scenario.Scenario, error) {
	var r struct {
		Workloads []recipe.Workload `yaml:"workloads"`
	}
	all, err := recipe.Read(dir, &r, false, func() (int, error) { return len(r.Workloads), nil })
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, cmdline.Usage("run %s learned from %d scenarios: name one of them", dir, len(all))
	}
	return all[0].With(sets...)
}

// ScenarioPrefix is the prefix of a scenario's settings where settings of other things occur too.
const ScenarioPrefix = "scenario."

// Splits returns the names of a scenario's splits.
func Splits() []string {
	return []string{string(scenario.Train), string(scenario.Validation), string(scenario.Test)}
}

// SplitJobs returns all jobs of a split. A split that the scenario does not have is a usage error.
func SplitJobs(s *scenario.Scenario, split scenario.Split, seed uint64) ([]trace.Job, error) {
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	if src.Count(split) == 0 {
		return nil, cmdline.Usage("scenario %s has no %s split", s.Name, split)
	}
	return src.Jobs(split, seed)
}

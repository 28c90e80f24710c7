package flags

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/cmdline"
)

// Scenario names a scenario and changes it.
type Scenario struct {
	Name string   // of a built-in scenario, or the path of a YAML file
	Sets []string // settings, KEY=VALUE
}

// Add adds the flags to a command.
func (o *Scenario) Add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.Name, "scenario", "s", "", "a built-in scenario, see clustergym scenario ls, or a YAML file")
	o.AddSet(cmd, "change the scenario: key=value, such as cluster.servers=16; repeatable")
	cmdline.Complete(cmd, "scenario", scenario.All)
}

// AddSet adds the flag of the settings alone.
func (o *Scenario) AddSet(cmd *cobra.Command, help string) {
	cmd.Flags().StringArrayVar(&o.Sets, "set", nil, help)
}

// Load reads the scenario; the prefix "scenario." of a setting may be left out. A name that is none is an error of usage.
func (o *Scenario) Load() (*scenario.Scenario, error) {
	sets := make([]string, len(o.Sets))
	for i, s := range o.Sets {
		sets[i] = strings.TrimPrefix(s, ScenarioPrefix)
	}
	s, err := scenario.Load(o.Name, sets...)
	if errors.Is(err, scenario.ErrUnknown) {
		return nil, cmdline.Fail(cmdline.CodeUsage, err)
	}
	return s, err
}

// ScenarioPrefix begins the name of a setting of the scenario where settings of other things stand beside it.
const ScenarioPrefix = "scenario."

// Splits lists the splits of a scenario.
func Splits() []string {
	return []string{string(scenario.Train), string(scenario.Validation), string(scenario.Test)}
}

// SplitJobs returns all jobs of a split; one that the scenario does not have is an error of usage.
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

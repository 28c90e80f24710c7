// Package playjob writes and reads what a worker must know to play the episodes of an evaluation: a YAML document of settings,
// followed by the scenarios.
package playjob

import (
	"fmt"

	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/train/recipe"
)

// Job holds the settings. Its scenarios follow it in the text.
type Job struct {
	Split    string   `yaml:"split"`
	Suites   []Suite  `yaml:"suites"`   // by scenario
	Policies []string `yaml:"policies"` // as flags name them
	Baseline string   `yaml:"baseline,omitempty"`
	Found    []Policy `yaml:"found"` // what these names stand for
	Overlap  bool     `yaml:"overlap,omitempty"`
	// Objectives are the YAML files of what results are measured by.
	Objectives []string `yaml:"objectives,omitempty"`
	NoLogs     bool     `yaml:"no_logs,omitempty"` // no result keeps its event log
}

// Suite identifies the episodes of a scenario.
type Suite struct {
	Scenario string   `yaml:"scenario"`
	Digest   string   `yaml:"sha256"`
	Windows  []int    `yaml:"windows,flow,omitempty"` // none for all
	Seeds    []uint64 `yaml:"seeds,flow"`
}

// Policy identifies a policy that was found.
type Policy struct {
	Name   string `yaml:"name"`
	Digest string `yaml:"sha256,omitempty"`
	Rule   string `yaml:"rule,omitempty"`
}

// Text returns the text of the job, which Parse reads. The scenarios are those of its suites.
func (j *Job) Text(scenarios []*scenario.Scenario) ([]byte, error) { return recipe.Text(j, scenarios) }

// Parse reads a job and the scenarios of its suites.
func Parse(text []byte) (*Job, []*scenario.Scenario, error) {
	j := &Job{}
	scenarios, err := recipe.Parse("job", text, j, true, func() (int, error) {
		if len(j.Suites) == 0 || len(j.Policies) == 0 {
			return 0, fmt.Errorf("%d scenarios and %d policies: want at least one of each", len(j.Suites), len(j.Policies))
		}
		return len(j.Suites), nil
	})
	return j, scenarios, err
}

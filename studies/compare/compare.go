package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

// Comparison compares runs.
type Comparison struct {
	Settings []string `json:"settings"` // keys of the settings in which the runs differ
	Runs     []Row    `json:"runs"`     // in the order given
	// Groups are the runs that differ only in train.seed, groups of a single run left out.
	Groups []Group `json:"groups"`
	// Eval is the command that compares the runs with an update on test windows, "" if there is none.
	Eval string `json:"eval"`
	what string // the first run's validation is of: see train.Compared
}

// Row is one run of a comparison.
type Row struct {
	Name     string            `json:"run"` // the last element of Dir, or Dir itself if another run has the same name
	Dir      string            `json:"dir"`
	Scenario string            `json:"scenario"`
	Settings map[string]string `json:"settings"` // values of Comparison.Settings
	Updates  int               `json:"updates"`  // number of finished updates
	Of       int               `json:"of"`
	Finished bool              `json:"finished"`
	Best     *train.Best       `json:"best,omitempty"`    // nil before the first validation
	Last     *train.Metrics    `json:"last,omitempty"`    // nil before the first update
	Seconds  *float64          `json:"seconds,omitempty"` // nil if unknown
	// Other lists the reasons for which validation figures of the run cannot be compared with those of the first run.
	Other []string `json:"other,omitempty"`
}

// Runs compares runs, of which there must be one or more. The function line makes a command line of the words of a command. Runs
// returns an error if a run occurs twice.
func Runs(list []*Run, line func(words ...string) string) (*Comparison, error) {
	all := make([][]setting, len(list))
	c := &Comparison{}
	var workloads []string // distinct ones
	for i, r := range list {
		for _, other := range list[:i] {
			if filepath.Clean(other.Dir) == filepath.Clean(r.Dir) {
				return nil, fmt.Errorf("run %s is given twice", r.Dir)
			}
		}
		var err error
		if all[i], err = r.settings(); err != nil {
			return nil, err
		}
		name, err := scenarioOf(r, &workloads)
		if err != nil {
			return nil, err
		}
		all[i] = append([]setting{{"scenario", name}}, all[i]...)
		c.Runs = append(c.Runs, row(r, name))
	}
	c.name()
	for k := range all[0] {
		differs := func(s []setting) bool { return s[k].value != all[0][k].value }
		if slices.ContainsFunc(all, differs) {
			c.Settings = append(c.Settings, all[0][k].key)
		}
	}
	for i := range c.Runs {
		r := &c.Runs[i]
		for k, s := range all[i] {
			if slices.Contains(c.Settings, s.key) {
				r.Settings[s.key] = s.value
			}
			switch s.key {
			case "scenario", "chosen prior", "objective", "validation": // what the figure depends on
				if s.value != all[0][k].value {
					r.Other = append(r.Other, s.key)
				}
			}
		}
	}
	c.group(all)
	if words := c.command(list); words != nil {
		c.Eval = line(words...)
	}
	c.what, _ = train.Compared(list[0].Recipe.Train.Objective)
	return c, nil
}

func row(r *Run, scenario string) Row {
	out := Row{
		Name: filepath.Base(filepath.Clean(r.Dir)), Dir: r.Dir, Scenario: scenario, Settings: map[string]string{},
		Updates: len(r.Metrics), Of: r.Recipe.Train.Updates, Finished: r.Finished(), Best: r.Best(), Seconds: r.Seconds,
	}
	if n := len(r.Metrics); n > 0 {
		out.Last = &r.Metrics[n-1]
	}
	return out
}

// scenarioOf returns the names of a run's scenarios. If other runs have scenarios of the same names with other settings or jobs,
// it appends a number. It adds the scenarios to the list of those met so far.
func scenarioOf(r *Run, met *[]string) (string, error) {
	var names []string
	var text bytes.Buffer
	for _, s := range r.Recipe.Scenarios {
		names = append(names, s.Name)
		if err := s.Write(&text); err != nil {
			return "", fmt.Errorf("%s: %w", r.Dir, err)
		}
	}
	digests, err := json.Marshal(r.Recipe.Workloads)
	if err != nil {
		return "", fmt.Errorf("%s: %w", r.Dir, err)
	}
	name := strings.Join(names, ",")
	whole := name + "\n" + text.String() + string(digests)
	if !slices.Contains(*met, whole) {
		*met = append(*met, whole)
	}
	number := 0
	for _, other := range *met {
		if strings.HasPrefix(other, name+"\n") {
			number++
		}
		if other == whole {
			break
		}
	}
	if number > 1 {
		name = fmt.Sprintf("%s (%d)", name, number)
	}
	return name, nil
}

// name replaces names that several runs have by their folders, and a name that means something else in the command.
func (c *Comparison) name() {
	count := map[string]int{policy.Prior: 1}
	for i := range c.Runs {
		count[c.Runs[i].Name]++
	}
	for i := range c.Runs {
		if r := &c.Runs[i]; count[r.Name] > 1 {
			r.Name = filepath.Clean(r.Dir)
		}
	}
}

// command returns the words of the command that compares the runs on test windows; nil if no run has made an update, or if no
// command can name their scenarios.
func (c *Comparison) command(list []*Run) []string {
	var known, scenarios, policies []string
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Updates == 0 {
			continue
		}
		names, _, _ := strings.Cut(r.Scenario, " ")
		if !slices.Contains(known, names) {
			own := recipe.Names(r.Dir, list[i].Recipe.Scenarios)
			if own == nil {
				return nil
			}
			known = append(known, names)
			for _, name := range own {
				if !slices.Contains(scenarios, name) {
					scenarios = append(scenarios, name)
				}
			}
		}
		policy := r.Dir
		if r.Name != filepath.Base(filepath.Clean(r.Dir)) || strings.Contains(r.Dir, "=") { // a name would stand before it
			policy = strings.ReplaceAll(r.Name, "=", "-") + "=" + r.Dir
		}
		policies = append(policies, policy)
	}
	if len(policies) == 0 {
		return nil
	}
	return []string{"eval", "--scenario", strings.Join(scenarios, ","), "--policies", "prior," + strings.Join(policies, ","),
		"--baseline", "prior"}
}

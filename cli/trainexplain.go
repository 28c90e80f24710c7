package cli

import (
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/table"
	"github.com/clustergym/clustergym/train"
)

// explained is one setting of training as train --explain prints it.
type explained struct {
	Key     string `json:"key"`
	Default string `json:"default"`
	Means   string `json:"means"`
}

// explainSettings returns the settings of training in the order of train.Config.
func explainSettings() []explained {
	settings, err := config.Load("", &trainSettings{Train: train.DefaultConfig()}, config.Options{})
	if err != nil {
		panic("clustergym: default settings: " + err.Error())
	}
	var all []explained
	for _, m := range train.Meanings() {
		key := "train." + m.Key
		s, _ := settings.Get(key)
		all = append(all, explained{key, fmt.Sprint(s.Value), m.Means})
	}
	return all
}

// trainKeys returns the keys of --set, which shells complete: those of training with what they mean, and those of scenarios.
func trainKeys() []string {
	var keys []string
	for _, m := range train.Meanings() {
		keys = append(keys, "train."+m.Key+"\t"+m.Means)
	}
	return append(keys, flags.Keys(&scenario.Scenario{}, flags.ScenarioPrefix)...)
}

// printExplained prints what the settings of training mean, within 80 columns.
func printExplained(a *app) error {
	all := explainSettings()
	if a.JSON {
		return a.PrintJSON(all)
	}
	for _, s := range all {
		a.Printf("%-20s  %s\n%s", s.Key, s.Default, indented(s.Means, 4, 80))
	}
	a.Printf("\nSettings of the scenario (scenario.KEY): see docs/scenarios.md.\n")
	return nil
}

// indented returns a text as lines of at most width characters, each behind a number of blanks.
func indented(text string, blanks, width int) string {
	var b strings.Builder
	for _, line := range table.Wrap(text, width-blanks) {
		b.WriteString(strings.Repeat(" ", blanks) + line + "\n")
	}
	return b.String()
}

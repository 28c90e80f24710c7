package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvDescribeCmd(a *app) *cobra.Command {
	return newCommand(a, &episodeOptions{}, &cobra.Command{
		Use:   "describe --scenario S",
		Short: "Print what agents observe and which actions they have",
		Long: cmdline.Long(`
Prints the shape of an environment: the agents, the kinds of candidates that they may name, and every feature of an
observation with its name, unit and range.`),
		Example: "  clustergym env describe --scenario embedded-small-v1\n" +
			"  clustergym env describe --scenario embedded-small-v1 --prior fifo --agree lead",
	}, runEnvDescribe)
}

// envSpec is the result of env describe.
type envSpec struct {
	Agents     int               `json:"agents"`
	Numbers    int               `json:"numbers"` // how many actions an agent has, including 0 (pass)
	Jobs       int               `json:"jobs"`    // rows of jobs
	Window     int               `json:"window"`
	Prior      string            `json:"prior"`
	Agree      string            `json:"agree"`
	Kinds      []envKind         `json:"kinds"`
	Servers    []observe.Feature `json:"server"`
	Job        []observe.Feature `json:"job"`
	Candidates []observe.Feature `json:"candidate"`
	Cluster    []observe.Feature `json:"cluster"`
}

// envKind describes a kind of candidate.
type envKind struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func runEnvDescribe(_ context.Context, a *app, o *episodeOptions, _ []string) error {
	create, err := o.maker()
	if err != nil {
		return err
	}
	e, err := create()
	if err != nil {
		return err
	}
	defer e.Close()
	s := e.Spec()
	r := envSpec{s.Agents, s.Candidates, s.Jobs, s.Window, o.Prior, o.Agree, nil, s.Server, s.Job, s.Candidate, s.Global}
	kinds, count := [][]string{{"kind", "what a candidate of it does"}}, candidates.Narrow
	if o.Wide > 0 {
		count = candidates.Kinds
	}
	for k := range candidates.Kind(count) {
		r.Kinds = append(r.Kinds, envKind{k.String(), k.About()})
		kinds = append(kinds, []string{k.String(), k.About()})
	}
	features := [][]string{{"of", "feature", "unit", "range"}}
	for _, group := range []struct {
		name string
		list []observe.Feature
	}{{"server", r.Servers}, {"job", r.Job}, {"candidate", r.Candidates}, {"cluster", r.Cluster}} {
		for _, f := range group.list {
			features = append(features, []string{group.name, f.Name, f.Unit, fmt.Sprintf("%g to %g", f.Min, f.Max)})
		}
	}
	if !a.JSON {
		carried := "all servers that take part in it name it"
		if o.Agree != game.All.String() {
			carried = "its lead server names it, the one with the greatest part, and no other of its servers something else"
		}
		a.Printf(`%d agents, one a server; each names a number from 0 to %d
0 passes; 1 is what the prior, %s, does next; the others are candidates that could be done in its place
a candidate is carried out if %s
%d rows of jobs: those that candidates are about, then others that wait, a window of %d in all

`, r.Agents, r.Numbers-1, r.Prior, carried, r.Jobs, r.Window)
	}
	return a.Print(r, kinds, features)
}

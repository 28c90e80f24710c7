package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newEnvDescribeCmd(a *app) *cobra.Command {
	var opts envOptions
	cmd := &cobra.Command{
		Use:   "describe --scenario S",
		Short: "Print what agents observe and which actions they have",
		Long: cmdline.Long(`
Prints the shape of an environment: the agents, the kinds of candidates that they may name, and every feature of an
observation with its name, unit and range.`),
		Example: "  clustergym env describe --scenario embedded-small-v1\n" +
			"  clustergym env describe --scenario embedded-small-v1 --prior fifo --agree lead",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runEnvDescribe(a, opts) },
	}
	opts.addFlags(cmd)
	cmdline.Require(cmd, "scenario")
	return cmd
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

func runEnvDescribe(a *app, opts envOptions) error {
	s, err := opts.shape()
	if err != nil {
		return err
	}
	r := envSpec{s.Agents, s.Candidates, s.Jobs, s.Window, opts.prior, opts.agree, nil, s.Server, s.Job, s.Candidate, s.Global}
	kinds := candidates.Narrow
	if opts.wide > 0 {
		kinds = candidates.Kinds
	}
	for k := range candidates.Kind(kinds) {
		r.Kinds = append(r.Kinds, envKind{k.String(), k.About()})
	}
	if a.JSON {
		return a.PrintJSON(r)
	}
	carried := "all servers that take part in it name it"
	if r.Agree != agreementNames()[0] {
		carried = "its lead server names it, the one with the greatest part, and no other of its servers something else"
	}
	a.Printf(`%d agents, one a server; each names a number from 0 to %d
0 passes; 1 is what the prior, %s, does next; the others are candidates that could be done in its place
a candidate is carried out if %s
%d rows of jobs: those that candidates are about, then others that wait, a window of %d in all

`, r.Agents, r.Numbers-1, r.Prior, carried, r.Jobs, r.Window)
	rows := [][]string{{"kind", "what a candidate of it does"}}
	for _, k := range r.Kinds {
		rows = append(rows, []string{k.Name, k.About})
	}
	if err := a.PrintRows(rows); err != nil {
		return err
	}
	a.Printf("\n")
	rows = [][]string{{"of", "feature", "unit", "range"}}
	for _, group := range []struct {
		name string
		list []observe.Feature
	}{{"server", r.Servers}, {"job", r.Job}, {"candidate", r.Candidates}, {"cluster", r.Cluster}} {
		for _, f := range group.list {
			rows = append(rows, []string{group.name, f.Name, f.Unit, fmt.Sprintf("%g to %g", f.Min, f.Max)})
		}
	}
	return a.PrintRows(rows)
}

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
)

func newEnvCmd(a *app) *cobra.Command {
	return newGroup("env", "Describe, check and time environments",
		`An environment plays the windows of a scenario: every server is an agent, a step is one joint action, and simulated time
passes between steps.`, newEnvDescribeCmd(a), newEnvCheckCmd(a), newEnvBenchCmd(a))
}

// envOptions make an environment.
type envOptions struct {
	scenario scenarioOptions
	split    string
	window   int
	seed     uint64
	all      bool // every decision point is a step
}

func (o *envOptions) addFlags(cmd *cobra.Command) {
	o.scenario.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.split, "split", string(scenario.Train), "whose windows to play: train, validation or test")
	f.IntVar(&o.window, "window", 32, "jobs shown to the agents at a time")
	f.Uint64Var(&o.seed, "seed", 1, "of the episode; it also picks the window")
	f.BoolVar(&o.all, "all-points", false, "make a step also of decision points at which nobody can act")
	complete(cmd, "split", splitNames)
}

func splitNames() []string {
	return []string{string(scenario.Train), string(scenario.Validation), string(scenario.Test)}
}

// maker returns a function that makes fresh environments, each with an encoder of its own.
func (o *envOptions) maker() (envtest.Make, error) {
	if err := oneOf("split", o.split, splitNames()...); err != nil {
		return nil, err
	}
	if o.window < 1 {
		return nil, usage("--window %d: want at least 1", o.window)
	}
	s, err := o.scenario.load()
	if err != nil {
		return nil, err
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	cfg, err := s.SimConfig()
	if err != nil {
		return nil, err
	}
	split := scenario.Split(o.split)
	n := src.Count(split)
	if n == 0 {
		return nil, fmt.Errorf("scenario %s has no windows of %s", s.Name, split)
	}
	episode := func(seed uint64) (sim.Episode, error) {
		e, err := src.Episode(split, int(seed%uint64(n)), seed)
		return e.Episode, err
	}
	return func() (env.Env, error) {
		return env.New(env.Config{
			Sim: cfg, Episode: episode, Encoder: &env.StandardEncoder{Window: o.window}, SkipForced: !o.all,
		})
	}, nil
}

func newEnvDescribeCmd(a *app) *cobra.Command {
	var opts envOptions
	cmd := &cobra.Command{
		Use:   "describe --scenario S",
		Short: "Print what agents see and may do",
		Long: long(`
Prints the shape of an environment: the agents, the actions and what they mean, and every number of an observation with its
name, unit and range.`),
		Example: "  clustergym env describe --scenario embedded-small-v1",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runEnvDescribe(a, opts) },
	}
	opts.addFlags(cmd)
	require(cmd, "scenario")
	return cmd
}

// envSpec is the result of env describe.
type envSpec struct {
	Agents  int           `json:"agents"`
	Window  int           `json:"window"`
	Menu    []env.Level   `json:"menu"`
	Actions int           `json:"actions"`
	Server  []env.Feature `json:"server"`
	Job     []env.Feature `json:"job"`
	Item    []env.Feature `json:"item"`
	Global  []env.Feature `json:"global"`
}

func runEnvDescribe(a *app, opts envOptions) error {
	e, err := makeEnv(opts)
	if err != nil {
		return err
	}
	s := e.Spec()
	if err := e.Close(); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(envSpec{s.Agents, s.Window, s.Menu, s.Actions(), s.Server, s.Job, s.Item, s.Global})
	}
	var levels []string
	for _, l := range s.Menu {
		levels = append(levels, l.Name)
	}
	a.printf(`%d agents, one a server; %d jobs in the window; menu of a job: %s
%d actions an agent: 0 is no-op, 1 + k*%d + l takes entry l of the menu for job k of the window

`, s.Agents, s.Window, strings.Join(levels, ", "), s.Actions(), len(s.Menu))
	rows := [][]string{{"of", "feature", "unit", "range"}}
	for _, group := range []struct {
		name string
		list []env.Feature
	}{{"server", s.Server}, {"job", s.Job}, {"item (server, job, level)", s.Item}, {"cluster", s.Global}} {
		for _, f := range group.list {
			rows = append(rows, []string{group.name, f.Name, f.Unit, fmt.Sprintf("%g to %g", f.Min, f.Max)})
		}
	}
	return a.printRows(rows)
}

func makeEnv(opts envOptions) (env.Env, error) {
	create, err := opts.maker()
	if err != nil {
		return nil, err
	}
	return create()
}

func newEnvCheckCmd(a *app) *cobra.Command {
	var opts envOptions
	var toys bool
	cmd := &cobra.Command{
		Use:   "check --scenario S",
		Short: "Check that an environment keeps its contract",
		Long: long(`
Plays an episode under random legal actions, several times, and checks the contract of an environment: shapes, ranges, masks,
determinism, conservation, time and rewards. Fails if any check does.`, codeSomeFailed),
		Example: "  clustergym env check --scenario embedded-small-v1\n  clustergym env check --toys",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runEnvCheck(a, opts, toys) },
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&toys, "toys", false, "check the toy environments of known optimum")
	cmd.MarkFlagsOneRequired("scenario", "toys")
	return cmd
}

// envChecked is the result of env check, one for each environment.
type envChecked struct {
	Environment string           `json:"environment"`
	Seed        uint64           `json:"seed"`
	Checks      []envtest.Result `json:"checks"`
}

func runEnvCheck(a *app, opts envOptions, toys bool) error {
	var all []envChecked
	if opts.scenario.name != "" {
		create, err := opts.maker()
		if err != nil {
			return err
		}
		all = append(all, envChecked{opts.scenario.name, opts.seed, envtest.Report(create, opts.seed)})
	}
	if toys {
		for _, t := range envtest.Toys() {
			all = append(all, envChecked{t.Name, opts.seed, envtest.Report(t.Make, opts.seed)})
		}
	}
	failed := 0
	rows := [][]string{{"environment", "check", "status", "what"}}
	for _, e := range all {
		for _, r := range e.Checks {
			text := r.About
			if r.Status != envtest.Passed {
				text += ": " + r.Detail
			}
			if r.Status == envtest.Failed {
				failed++
			}
			rows = append(rows, []string{e.Environment, r.Name, r.Status, text})
		}
	}
	print := func() error { return a.printRows(rows) }
	if a.json {
		print = func() error { return a.printJSON(all) }
	}
	if err := print(); err != nil {
		return err
	}
	if failed > 0 {
		return &exitError{codeSomeFailed, fmt.Errorf("%d checks failed", failed)}
	}
	return nil
}

func newEnvBenchCmd(a *app) *cobra.Command {
	var opts envOptions
	var steps int
	cmd := &cobra.Command{
		Use:   "bench --scenario S",
		Short: "Measure how many steps an environment does in a CPU second",
		Long: long(`
Plays episodes under random legal actions, drawn beforehand, and prints how many steps the environment does in a second of CPU
time, all observations and masks built. On one core, set GOMAXPROCS=1.`),
		Example: "  clustergym env bench --scenario venus-contended-v1 --set cluster.servers=64 --window 48 --steps 50000",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runEnvBench(a, opts, steps) },
	}
	opts.addFlags(cmd)
	cmd.Flags().IntVar(&steps, "steps", 20000, "how many steps to play")
	require(cmd, "scenario")
	return cmd
}

// envSpeed is the result of env bench.
type envSpeed struct {
	Environment string `json:"environment"`
	Agents      int    `json:"agents"`
	Window      int    `json:"window"`
	envtest.Speed
	DecisionsPerCPU float64 `json:"agent_decisions_per_cpu_s"`
}

func runEnvBench(a *app, opts envOptions, steps int) error {
	if steps < 1 {
		return usage("--steps %d: want at least 1", steps)
	}
	create, err := opts.maker()
	if err != nil {
		return err
	}
	e, err := create()
	if err != nil {
		return err
	}
	spec := e.Spec()
	if err := e.Close(); err != nil {
		return err
	}
	speed, err := envtest.Bench(create, opts.seed, steps, cpuTime)
	if err != nil {
		return err
	}
	r := envSpeed{opts.scenario.name, spec.Agents, spec.Window, speed, speed.StepsPerCPU * float64(spec.Agents)}
	if a.json {
		return a.printJSON(r)
	}
	return a.printRows([][]string{
		{"environment", fmt.Sprintf("%s, %d agents, window of %d jobs", r.Environment, r.Agents, r.Window)},
		{"steps", fmt.Sprintf("%d in %d episodes", r.Steps, r.Episodes)},
		{"a mean step", fmt.Sprintf("%.1f jobs wait, %.1f are shown, %.1f actions are legal beside no-op", r.PendingMean, r.WindowMean,
			r.LegalMean)},
		{"speed", fmt.Sprintf("%.0f steps a CPU second, %.0f agent decisions", r.StepsPerCPU, r.DecisionsPerCPU)},
		{"CPU time", fmt.Sprintf("%.3g s in steps, %.3g s in resets", r.StepCPU, r.ResetCPU)},
	})
}

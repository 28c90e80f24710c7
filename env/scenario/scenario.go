// Package scenario names what an experiment runs on: a cluster, a workload cut into windows, the rules of time and restarts,
// and what schedulers are told. A scenario is a YAML file with a versioned name; the package reads it, checks it and deals
// out its episodes. It does not simulate them.
//
// The same scenario, split, window and seed give the same jobs, byte for byte.
package scenario

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"go.yaml.in/yaml/v3"
)

// Scenario is the content of a scenario file: docs/scenarios.md describes every key.
type Scenario struct {
	Name     string   `yaml:"name"` // ends in its version, for example "venus-contended-v1"
	About    string   `yaml:"about"`
	Cluster  Cluster  `yaml:"cluster"`
	Workload Workload `yaml:"workload"`
	Window   Windows  `yaml:"window"`
	// Physics names the model of speed, as physics.Parse reads it.
	Physics string `yaml:"physics"`
	// PreemptOverhead is how long a job holds its GPUs without progress after a restart, a migration or a resize.
	PreemptOverhead time.Duration `yaml:"preempt_overhead"`
	Restart         Restart       `yaml:"restart"`
	// Horizon truncates every episode at that instant, 0 for never.
	Horizon   time.Duration   `yaml:"horizon"`
	Estimates trace.Estimates `yaml:"estimates"`
	// Seeds are what an evaluation runs every window with, unless it is told others.
	Seeds []uint64 `yaml:"seeds,flow"`

	dir string // of the file it was read from, "" for a built-in
}

// Cluster is a number of equal servers.
type Cluster struct {
	Servers         int `yaml:"servers"`
	GPUsPerServer   int `yaml:"gpus_per_server"`
	CPUsPerServer   int `yaml:"cpus_per_server"`    // cores, 0: not modelled
	MemGiBPerServer int `yaml:"mem_gib_per_server"` // 0: not modelled
}

// Embedded is the trace of a scenario whose workload trace.Default generates.
const Embedded = "embedded"

// Workload says where the jobs come from and what is cut off them.
type Workload struct {
	Trace       string             `yaml:"trace"`        // a file, one below the folder of shared traces, or Embedded
	Format      trace.Format       `yaml:"format"`       // "": the header decides
	Jobs        int                `yaml:"jobs"`         // Embedded: how many are drawn
	Load        float64            `yaml:"load"`         // Embedded: expected GPU-time asked for over GPU-time that passes
	Seed        uint64             `yaml:"seed"`         // Embedded: of the draw
	Oversize    trace.OversizeMode `yaml:"oversize"`     // what becomes of jobs that the cluster can never hold
	MaxDuration time.Duration      `yaml:"max_duration"` // cuts longer jobs, 0: none
	MaxGPUs     int                `yaml:"max_gpus"`     // cuts larger gangs, 0: none
}

// Windows cuts the workload, in order of arrival, into episodes. A split is a pair of fractions of all arrivals, [from, to);
// one that is absent has no windows.
type Windows struct {
	Arrivals   int       `yaml:"arrivals"` // jobs in one window
	Train      []float64 `yaml:"train,flow"`
	Validation []float64 `yaml:"validation,flow"`
	Test       []float64 `yaml:"test,flow"`
	Stride     int       `yaml:"stride"` // arrivals from one training or validation window to the next, 0: Arrivals
}

// Restart says what a preempted job keeps.
type Restart string

// The restarts.
const (
	FromCheckpoint Restart = "checkpoint" // it goes on from where it was
	FromScratch    Restart = "scratch"    // it loses its work
)

// Split names a part of the workload. Windows of different splits share no job.
type Split string

// The splits.
const (
	Train      Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// ParseSplit returns the split of a name.
func ParseSplit(name string) (Split, error) {
	switch s := Split(name); s {
	case Train, Validation, Test:
		return s, nil
	}
	return "", fmt.Errorf("split %q, want train, validation or test", name)
}

// defaults are the values of the keys that a scenario leaves out.
func defaults() Scenario {
	return Scenario{
		Workload:  Workload{Oversize: trace.OversizeError, Seed: 1},
		Physics:   "ideal",
		Restart:   FromCheckpoint,
		Estimates: trace.Estimates{Kind: trace.Oracle},
		Seeds:     []uint64{1, 2, 3},
	}
}

// Validate reports everything that is wrong with the scenario's fields. It does not look for the trace.
func (s *Scenario) Validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(isName(s.Name), "name %q, want lower-case letters, digits and dashes that end in a version such as -v1", s.Name)
	c := s.Cluster
	want(c.Servers >= 1 && c.Servers <= 1<<20, "cluster.servers %d, want 1 to %d", c.Servers, 1<<20)
	want(c.GPUsPerServer >= 1 && c.GPUsPerServer <= 4096, "cluster.gpus_per_server %d, want 1 to 4096", c.GPUsPerServer)
	want(c.CPUsPerServer >= 0 && c.CPUsPerServer <= 1<<20,
		"cluster.cpus_per_server %d, want 0 (not modelled) to %d", c.CPUsPerServer, 1<<20)
	want(c.MemGiBPerServer >= 0 && c.MemGiBPerServer <= 1<<20,
		"cluster.mem_gib_per_server %d, want 0 (not modelled) to %d", c.MemGiBPerServer, 1<<20)
	errs = append(errs, s.Workload.validate(), s.Window.validate())
	if _, err := physics.Parse(s.Physics); err != nil {
		errs = append(errs, err)
	}
	want(s.PreemptOverhead >= 0, "preempt_overhead %v, want 0 or more", s.PreemptOverhead)
	want(s.Horizon >= 0, "horizon %v, want 0 (never) or more", s.Horizon)
	want(s.Restart == FromCheckpoint || s.Restart == FromScratch, "restart %q, want checkpoint or scratch", s.Restart)
	errs = append(errs, s.Estimates.Validate())
	want(len(s.Seeds) > 0, "seeds is empty, want at least one")
	return errors.Join(errs...)
}

func (w *Workload) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if w.Trace == Embedded {
		want(w.Jobs >= 1 && w.Jobs <= 10_000_000, "workload.jobs %d, want 1 to 10000000 for the embedded workload", w.Jobs)
		want(w.Load > 0 && w.Load <= 100, "workload.load %v, want above 0 and at most 100 for the embedded workload", w.Load)
		want(w.Format == "", "workload.format %q: the embedded workload has none", w.Format)
	} else {
		want(w.Trace != "", "workload.trace is empty, want a file or %q", Embedded)
		want(w.Jobs == 0, "workload.jobs %d: only the embedded workload has it, a trace has the jobs that it has", w.Jobs)
		want(w.Load == 0, "workload.load %v: only the embedded workload has it; change cluster.servers instead", w.Load)
		_, err := trace.ParseFormat(string(w.Format))
		errs = append(errs, err)
	}
	switch w.Oversize {
	case trace.OversizeError, trace.OversizeDrop, trace.OversizeClamp:
	default:
		want(false, "workload.oversize %q, want error, drop or clamp", w.Oversize)
	}
	want(w.MaxDuration >= 0, "workload.max_duration %v, want 0 (none) or more", w.MaxDuration)
	want(w.MaxGPUs >= 0 && w.MaxGPUs <= 1<<20, "workload.max_gpus %d, want 0 (none) to %d", w.MaxGPUs, 1<<20)
	return errors.Join(errs...)
}

func (w *Windows) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(w.Arrivals >= 1, "window.arrivals %d, want at least 1", w.Arrivals)
	want(w.Stride >= 0, "window.stride %d, want 0 (window.arrivals) or more", w.Stride)
	all := []Split{Train, Validation, Test}
	empty := true
	for i, a := range all {
		f := w.fractions(a)
		if len(f) == 0 {
			continue
		}
		empty = false
		if len(f) != 2 || !(0 <= f[0] && f[0] < f[1] && f[1] <= 1) {
			want(false, "window.%s %v, want two fractions of the arrivals, 0 <= from < to <= 1", a, f)
			continue
		}
		for _, b := range all[:i] {
			if g := w.fractions(b); len(g) == 2 {
				want(f[1] <= g[0] || g[1] <= f[0], "window.%s %v overlaps window.%s %v: they would share jobs", a, f, b, g)
			}
		}
	}
	want(!empty, "window has none of train, validation and test, want at least one")
	return errors.Join(errs...)
}

func (w *Windows) fractions(s Split) []float64 {
	switch s {
	case Train:
		return w.Train
	case Validation:
		return w.Validation
	case Test:
		return w.Test
	}
	return nil
}

func (w *Windows) stride(s Split) int {
	if s != Test && w.Stride > 0 {
		return w.Stride
	}
	return w.Arrivals
}

// Spec returns the cluster.
func (c Cluster) Spec() cluster.Spec {
	spec := cluster.Uniform(c.Servers, c.GPUsPerServer)
	for i := range spec.Servers {
		if c.CPUsPerServer > 0 {
			spec.Servers[i].CPUMilli = 1000 * int64(c.CPUsPerServer)
		}
		if c.MemGiBPerServer > 0 {
			spec.Servers[i].MemMiB = 1024 * int64(c.MemGiBPerServer)
		}
	}
	return spec
}

// GPUs counts the cluster's GPUs.
func (c Cluster) GPUs() int { return c.Servers * c.GPUsPerServer }

// SimConfig returns the cluster and the rules that every episode of the scenario is simulated under.
func (s *Scenario) SimConfig() (sim.Config, error) {
	model, err := physics.Parse(s.Physics)
	if err != nil {
		return sim.Config{}, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	restart := sim.Pause(s.PreemptOverhead)
	restart.FromScratch = s.Restart == FromScratch
	return sim.Config{Cluster: s.Cluster.Spec(), Physics: model, Restart: restart, Horizon: s.Horizon}, nil
}

// Write writes the scenario, with every value that it runs with, as YAML that Load reads back.
func (s *Scenario) Write(w io.Writer) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(s); err != nil {
		return fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	return e.Close()
}

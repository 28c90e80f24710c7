// Package scenario names what an experiment runs on: a cluster, a workload cut into windows, the rules of time, restarts and
// failures, an inference pool beside the cluster, and what schedulers are told. A scenario is a YAML file with a versioned
// name; the package reads it, checks it and deals out its episodes.
//
// The same scenario, split, window and seed give the same episode, byte for byte.
package scenario

import (
	"fmt"
	"io"
	"time"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"go.yaml.in/yaml/v3"
)

// Scenario is the content of a scenario file: docs/scenarios.md describes every key.
type Scenario struct {
	Name    string   `yaml:"name"` // ends in its version, for example "venus-contended-v1"
	About   string   `yaml:"about"`
	Real    []string `yaml:"real,omitempty"`    // what was measured somewhere, for the card
	Assumed []string `yaml:"assumed,omitempty"` // what was not

	Cluster  Cluster  `yaml:"cluster"`
	Workload Workload `yaml:"workload"`
	Window   Windows  `yaml:"window"`
	// Physics names the model of speed, as physics.Parse reads it.
	Physics string `yaml:"physics"`
	// PreemptOverhead is how long a job holds its GPUs without progress when it starts again after it was stopped;
	// MigrateOverhead and ResizeOverhead the same for a move and a change of its workers.
	PreemptOverhead time.Duration `yaml:"preempt_overhead"`
	MigrateOverhead time.Duration `yaml:"migrate_overhead"`
	ResizeOverhead  time.Duration `yaml:"resize_overhead"`
	Restart         Restart       `yaml:"restart"`
	// CheckpointInterval is the work between two checkpoints, 0 for no loss; CheckpointSave the time that each takes.
	CheckpointInterval time.Duration `yaml:"checkpoint_interval,omitempty"`
	CheckpointSave     time.Duration `yaml:"checkpoint_save,omitempty"`
	Failures           sim.Failures  `yaml:"failures,omitempty"`
	Inference          Inference     `yaml:"inference,omitempty"`
	// Horizon truncates every episode at that instant, 0 for never.
	Horizon   time.Duration   `yaml:"horizon"`
	Estimates trace.Estimates `yaml:"estimates"`
	// ProfileError is how far off profiles of speed are that schedulers are told: by a factor of up to 1 + ProfileError.
	ProfileError float64 `yaml:"profile_error,omitempty"`
	// Seeds are what an evaluation runs every window with, unless it is told others.
	Seeds []uint64 `yaml:"seeds,flow"`

	dir string // of the file it was read from, "" for a built-in
}

// Embedded is the trace of a scenario whose workload trace.Default generates.
const Embedded = "embedded"

// Workload says where the jobs come from, what is cut off them and what they are beyond what the trace says.
type Workload struct {
	// Trace is a file, one below the folder of shared traces, or Embedded. Several, joined by " + ", are merged.
	Trace  string       `yaml:"trace"`
	Format trace.Format `yaml:"format"` // "": the header decides; of several traces, as many, joined by " + "
	// TestTrace is another trace: test windows are cut from it alone, the others from Trace.
	TestTrace   string             `yaml:"test_trace,omitempty"`
	TestFormat  trace.Format       `yaml:"test_format,omitempty"`
	Jobs        int                `yaml:"jobs"`         // Embedded: how many are drawn
	Load        float64            `yaml:"load"`         // Embedded: expected GPU-time asked for over GPU-time that passes
	Seed        uint64             `yaml:"seed"`         // of the draw, the thinning and the mix
	Thin        float64            `yaml:"thin"`         // share of the jobs that is kept
	Stretch     float64            `yaml:"stretch"`      // of the times between arrivals: below 1 presses them together
	Oversize    trace.OversizeMode `yaml:"oversize"`     // what becomes of jobs that the cluster can never hold
	MaxDuration time.Duration      `yaml:"max_duration"` // cuts longer jobs, 0: none
	MaxGPUs     int                `yaml:"max_gpus"`     // cuts larger gangs, 0: none
	Models      Models             `yaml:"models,omitempty"`
	Mix         trace.Mix          `yaml:"mix,omitempty"`
}

// Windows cuts the workload, in order of arrival, into episodes. A split is a pair of fractions of all arrivals, [from, to);
// one that is absent has no windows.
type Windows struct {
	Arrivals   int           `yaml:"arrivals"`           // jobs in one window
	Duration   time.Duration `yaml:"duration,omitempty"` // or the time that it lasts
	Train      []float64     `yaml:"train,flow"`
	Validation []float64     `yaml:"validation,flow"`
	Test       []float64     `yaml:"test,flow"`
	Stride     int           `yaml:"stride"`          // arrivals from one training or validation window to the next, 0: Arrivals
	Every      time.Duration `yaml:"every,omitempty"` // the same for windows by time, 0: Duration
	// Warm is how many arrivals before a window are played to fill the cluster.
	Warm int `yaml:"warm,omitempty"`
	// Gather has these wait for as few servers as they need; else gangs are scattered where they fit.
	Gather bool `yaml:"gather,omitempty"`
	// Resample draws windows from all over a split instead of cutting them one after the other.
	Resample Resample `yaml:"resample,omitempty"`
}

// Resample says how many windows of each split begin at drawn arrivals: one in each of as many equal parts of the split, so
// that they overlap only where there are more of them than lie beside each other. 0 cuts the split one after the other.
type Resample struct {
	Train      int    `yaml:"train,omitempty"`
	Validation int    `yaml:"validation,omitempty"`
	Test       int    `yaml:"test,omitempty"`
	Seed       uint64 `yaml:"seed,omitempty"` // another one, other windows
}

// windows returns how many windows of a split are drawn.
func (r *Resample) windows(s Split) int {
	switch s {
	case Train:
		return r.Train
	case Validation:
		return r.Validation
	case Test:
		return r.Test
	}
	return 0
}

// Restart says what a job keeps that was stopped.
type Restart string

// The restarts.
const (
	FromCheckpoint Restart = "checkpoint" // what it had done, or had saved when a failure stopped it
	FromScratch    Restart = "scratch"    // nothing
)

// Split names a part of the workload. Windows of different splits share no job.
type Split string

// The splits.
const (
	Train      Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// splits lists the splits.
func splits() []Split { return []Split{Train, Validation, Test} }

// defaults are the values of the keys that a scenario leaves out.
func defaults() Scenario {
	return Scenario{
		Workload:  Workload{Oversize: trace.OversizeError, Seed: 1, Thin: 1, Stretch: 1},
		Physics:   "ideal",
		Restart:   FromCheckpoint,
		Inference: defaultInference(),
		Estimates: trace.Estimates{Kind: trace.Oracle},
		Seeds:     []uint64{1, 2, 3},
	}
}

// SimConfig returns the cluster and the rules that every episode of the scenario is simulated under. What differs from episode
// to episode is left out: quotas, which follow from the workload, outages and demand. Source.Episode has it all.
func (s *Scenario) SimConfig() (sim.Config, error) {
	model, err := physics.Parse(s.Physics)
	if err != nil {
		return sim.Config{}, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	spec := s.Cluster.Spec()
	s.Inference.extend(&spec, s.Cluster.ServersPerRack)
	return sim.Config{
		Cluster: spec, Physics: model, Horizon: s.Horizon, Grace: s.Inference.grace(),
		Restart: sim.Restart{
			Preempt: s.PreemptOverhead, Migrate: s.MigrateOverhead, Resize: s.ResizeOverhead,
			FromScratch: s.Restart == FromScratch, Interval: s.CheckpointInterval, Save: s.CheckpointSave,
		},
	}, nil
}

// Write writes the scenario, with every value that it runs with, as YAML that Load reads back. What is switched off is left
// out.
func (s *Scenario) Write(w io.Writer) error {
	text := *s
	if s.Inference.Servers == 0 {
		text.Inference = Inference{}
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&text); err != nil {
		return fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	return e.Close()
}

// Package scenario defines what an experiment runs on: a cluster, a workload cut into windows, the rules of time, restarts and
// failures, an inference pool beside the cluster, and the information that schedulers get. A scenario is a YAML file with a
// versioned name. The package reads it, validates it and returns its episodes.
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

// Scenario is the content of a scenario file. docs/scenarios.md describes every key.
type Scenario struct {
	Name    string   `yaml:"name"` // ends in a version, for example "venus-contended-v1"
	About   string   `yaml:"about"`
	Real    []string `yaml:"real,omitempty"`    // for the card: what comes from measurements
	Assumed []string `yaml:"assumed,omitempty"` // for the card: what is assumed

	Cluster  Cluster  `yaml:"cluster"`
	Workload Workload `yaml:"workload"`
	Window   Windows  `yaml:"window"`
	// Physics is the name of the speed model for physics.Parse.
	Physics string `yaml:"physics"`
	// PreemptOverhead is how long a job holds its GPUs without progress when it starts again after it was stopped.
	// MigrateOverhead and ResizeOverhead are the same for a migration and for a change of its workers.
	PreemptOverhead time.Duration `yaml:"preempt_overhead"`
	MigrateOverhead time.Duration `yaml:"migrate_overhead"`
	ResizeOverhead  time.Duration `yaml:"resize_overhead"`
	Restart         Restart       `yaml:"restart"`
	// Preempt says whether schedulers may stop, move and resize jobs that run.
	Preempt Preempt `yaml:"preempt,omitempty"`
	// CheckpointInterval is the work between two checkpoints; 0 means that failures lose no work. CheckpointSave is how long each
	// checkpoint takes.
	CheckpointInterval time.Duration `yaml:"checkpoint_interval,omitempty"`
	CheckpointSave     time.Duration `yaml:"checkpoint_save,omitempty"`
	Failures           sim.Failures  `yaml:"failures,omitempty"`
	Inference          Inference     `yaml:"inference,omitempty"`
	// Horizon truncates every episode at that instant. 0 means no limit.
	Horizon   time.Duration   `yaml:"horizon"`
	Estimates trace.Estimates `yaml:"estimates"`
	// ProfileError is the maximum error of the speed profiles that schedulers see: profiles are wrong by a factor of up to 1 +
	// ProfileError.
	ProfileError float64 `yaml:"profile_error,omitempty"`
	// Told is what schedulers are told besides run times. By default it is everything.
	Told Told `yaml:"told,omitempty"`
	// Phases describes how jobs change their speed as they go. By default they do not.
	Phases Phases `yaml:"phases,omitempty"`
	// Readings describes how the throughput of running jobs is measured. By default nothing is.
	Readings Readings `yaml:"readings,omitempty"`
	// Seeds are the seeds with which an evaluation runs every window by default.
	Seeds []uint64 `yaml:"seeds,flow"`

	dir string // the folder of the scenario's file, "" for a built-in scenario
}

// Embedded is the value of Workload.Trace for jobs generated from trace.Default.
const Embedded = "embedded"

// Workload describes where the jobs come from, how they are reduced, and which properties are added to those of the trace.
type Workload struct {
	// Trace is the path of a file, the name of a file in the folder of shared traces, or Embedded. Several traces joined by " + "
	// are merged.
	Trace       string             `yaml:"trace"`
	Format      trace.Format       `yaml:"format"`           // "": given by the header; several: joined by " + "
	Jobs        int                `yaml:"jobs"`             // Embedded only: the number of jobs to draw
	Load        float64            `yaml:"load"`             // Embedded only: expected GPU-time asked for / GPU-time that passes
	Seed        uint64             `yaml:"seed"`             // for the drawn jobs, the thinning and the mix
	Thin        float64            `yaml:"thin"`             // fraction of the jobs to keep
	Stretch     float64            `yaml:"stretch"`          // factor for the times between arrivals; below 1 shortens them
	Bursts      time.Duration      `yaml:"bursts,omitempty"` // time between submissions; 0: as in the trace
	Oversize    trace.OversizeMode `yaml:"oversize"`         // what happens to jobs that the cluster could never run
	MaxDuration time.Duration      `yaml:"max_duration"`     // limit of Work, 0: none
	MaxGPUs     int                `yaml:"max_gpus"`         // limit of workers in a gang, 0: none
	Models      Models             `yaml:"models,omitempty"`
	Mix         trace.Mix          `yaml:"mix,omitempty"`
	Vary        Vary               `yaml:"vary,omitempty"`
	// Newcomers renames the users of the validation and the test split, so that no user of one split occurs in another.
	Newcomers bool `yaml:"newcomers,omitempty"`
}

// Windows describes how the workload is cut into episodes, in order of arrival. A split is a pair of fractions of all arrivals,
// [from, to). A split that is absent has no windows.
type Windows struct {
	Arrivals   int           `yaml:"arrivals"`           // number of jobs in one window
	Duration   time.Duration `yaml:"duration,omitempty"` // alternative to Arrivals: how long a window lasts
	Train      []float64     `yaml:"train,flow"`
	Validation []float64     `yaml:"validation,flow"`
	Test       []float64     `yaml:"test,flow"`
	Stride     int           `yaml:"stride"`          // arrivals between training or validation windows, 0: Arrivals + Warm
	Every      time.Duration `yaml:"every,omitempty"` // the same as a time, for windows with a Duration, 0: Duration
	// Warm is the number of arrivals before a window that are simulated to fill the cluster.
	Warm int `yaml:"warm,omitempty"`
	// Gather makes these jobs wait until they fit on as few servers as possible. Otherwise gangs are scattered wherever they fit.
	Gather bool `yaml:"gather,omitempty"`
	// Resample draws windows from the whole split instead of cutting it into consecutive windows.
	Resample Resample `yaml:"resample,omitempty"`
}

// Resample is the number of windows in each split that begin at random arrivals. The split is divided into as many equal parts,
// and one window begins in each, so windows overlap only if there are more than fit side by side. 0 cuts the split into
// consecutive windows.
type Resample struct {
	Train      int `yaml:"train,omitempty"`
	Validation int `yaml:"validation,omitempty"`
	Test       int `yaml:"test,omitempty"`
}

// windows returns the number of windows to draw in a split.
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

// Restart selects how much of its work a stopped job keeps.
type Restart string

// The values of Restart.
const (
	FromCheckpoint Restart = "checkpoint" // all its work, or after a failure that of the last checkpoint
	FromScratch    Restart = "scratch"    // none of its work
)

// Preempt says whether schedulers may stop, move and resize jobs that run. The empty value allows it.
type Preempt string

// Forbidden means that a job which has started runs until it ends or until a failure stops it: cluster.Spec.NoPreemption.
const Forbidden Preempt = "forbidden"

// Split is a part of the workload. Windows of different splits share no job.
type Split string

// The splits.
const (
	Train      Split = "train"
	Validation Split = "validation"
	Test       Split = "test"
)

// splits returns all splits.
func splits() []Split { return []Split{Train, Validation, Test} }

// defaults returns a Scenario with the default values of all keys.
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

// SimConfig returns the cluster and the rules common to all episodes of the scenario. It does not contain quotas, which depend on
// the workload, nor outages and demand, which differ between episodes; Source.Episode adds them.
func (s *Scenario) SimConfig() (sim.Config, error) {
	model, err := physics.Parse(s.Physics)
	if err != nil {
		return sim.Config{}, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	spec := s.Cluster.Spec()
	spec.NoPreemption = s.Preempt == Forbidden
	s.Inference.extend(&spec, s.Cluster.ServersPerRack)
	return sim.Config{
		Cluster: spec, Physics: model, Phases: s.Phases.seeded(s.Workload.Seed), Hidden: s.Told.hidden(),
		Horizon: s.Horizon, Grace: s.Inference.grace(),
		Restart: sim.Restart{
			Preempt: s.PreemptOverhead, Migrate: s.MigrateOverhead, Resize: s.ResizeOverhead,
			FromScratch: s.Restart == FromScratch, Interval: s.CheckpointInterval, Save: s.CheckpointSave,
		},
	}, nil
}

// Write writes the scenario with all its effective values as YAML for Load. It omits features that are switched off.
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

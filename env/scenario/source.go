package scenario

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/rng"
)

// Source deals out the episodes of a scenario. Its methods are safe for concurrent use.
type Source struct {
	scenario Scenario
	workload trace.Workload // capped and fitted to the cluster, in order of id rank
	arrivals []int32        // indices of workload.Jobs in order of arrival
	oversize int            // jobs dropped or clamped
}

// Episode is one window of the workload under one seed.
type Episode struct {
	Name        string // of the window, for example "test-3"
	sim.Episode        // its jobs are in order of id rank, the first submitted at 0, and the caller's own
}

// Open reads or generates the workload, once.
func (s *Scenario) Open() (*Source, error) {
	src, err := s.open()
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return src, nil
}

func (s *Scenario) open() (*Source, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	w, err := s.read()
	if err != nil {
		return nil, err
	}
	caps := trace.WindowSpec{MaxDuration: s.Workload.MaxDuration, MaxGPUs: int32(s.Workload.MaxGPUs)}
	if w, err = trace.Window(w, caps); err != nil {
		return nil, err
	}
	src := &Source{scenario: *s, workload: w}
	if err := src.fit(); err != nil {
		return nil, err
	}
	src.arrivals = src.workload.Arrivals()
	for _, split := range []Split{Train, Validation, Test} {
		f := s.Window.fractions(split)
		if len(f) > 0 && src.Count(split) == 0 {
			from, to := src.bounds(split)
			return nil, fmt.Errorf("window.%s %v holds %d of the %d arrivals of %s, want at least the %d of one window",
				split, f, to-from, len(src.arrivals), w.Name, s.Window.Arrivals)
		}
	}
	return src, nil
}

func (s *Scenario) read() (trace.Workload, error) {
	if s.Workload.Trace != Embedded {
		path, err := s.findTrace()
		if err != nil {
			return trace.Workload{}, err
		}
		return trace.Read(path, trace.Options{Format: s.Workload.Format})
	}
	params, err := trace.Default().WithLoad(s.Workload.Load, s.Cluster.GPUs())
	if err != nil {
		return trace.Workload{}, err
	}
	return trace.Generate(params, s.Workload.Jobs, s.Workload.Seed)
}

// fit deals with the jobs that the empty cluster cannot hold.
func (s *Source) fit() error {
	spec := s.scenario.Cluster.Spec()
	room := spec.Rooms()
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	mode := s.scenario.Workload.Oversize
	jobs, n, err := trace.Oversize(s.workload.Jobs, fits, mode, int32(s.scenario.Cluster.GPUs()))
	if err != nil {
		return fmt.Errorf("%w: set workload.oversize to drop or clamp, or enlarge the cluster", err)
	}
	s.workload.Jobs, s.oversize = jobs, n
	s.workload.Report.Jobs = len(jobs)
	return nil
}

// Scenario returns the scenario that the source was opened from. Read only.
func (s *Source) Scenario() *Scenario { return &s.scenario }

// Report counts what became of the rows of the trace, and Oversize how many jobs too large for the cluster were dropped or
// clamped.
func (s *Source) Report() trace.Report { return s.workload.Report }

// Oversize counts the jobs that were dropped or clamped because the empty cluster cannot hold them.
func (s *Source) Oversize() int { return s.oversize }

// bounds returns the arrivals [from, to) of a split.
func (s *Source) bounds(split Split) (from, to int) {
	f := s.scenario.Window.fractions(split)
	if len(f) != 2 {
		return 0, 0
	}
	n := float64(len(s.arrivals))
	return int(f[0]*n + 1e-6), int(f[1]*n + 1e-6) // 0.7 of 10 arrivals is 7, whatever binary fractions say
}

// Count returns the number of whole windows of a split, 0 for one that the scenario does not have.
func (s *Source) Count(split Split) int {
	from, to := s.bounds(split)
	w := &s.scenario.Window
	if to-from < w.Arrivals {
		return 0
	}
	return (to-from-w.Arrivals)/w.stride(split) + 1
}

// Episode returns the i-th window of a split, its time re-based to the first arrival, with the estimates that the scenario
// grants. Noisy estimates come from a stream named after the seed and the window, so every policy that runs the same case is
// told the same.
func (s *Source) Episode(split Split, i int, seed uint64) (Episode, error) {
	if n := s.Count(split); i < 0 || i >= n {
		return Episode{}, fmt.Errorf("scenario %s: window %d of %s, want 0 to %d", s.scenario.Name, i, split, n-1)
	}
	name := string(split) + "-" + strconv.Itoa(i)
	jobs := s.cut(split, i)
	if err := s.scenario.Estimates.Apply(jobs, rng.Stream(seed, "scenario", "estimates", name)); err != nil {
		return Episode{}, fmt.Errorf("scenario %s: %w", s.scenario.Name, err)
	}
	cfg, err := s.scenario.SimConfig()
	if err != nil {
		return Episode{}, err
	}
	return Episode{Name: name, Episode: sim.Episode{Config: cfg, Jobs: jobs}}, nil
}

// cut copies the jobs of a window in order of id rank.
func (s *Source) cut(split Split, i int) []trace.Job {
	w := &s.scenario.Window
	from, _ := s.bounds(split)
	from += i * w.stride(split)
	picked := slices.Clone(s.arrivals[from : from+w.Arrivals])
	first := s.workload.Jobs[picked[0]].Submit
	slices.Sort(picked)
	jobs := make([]trace.Job, len(picked))
	for k, id := range picked {
		jobs[k] = s.workload.Jobs[id]
		jobs[k].Submit -= first
	}
	return jobs
}

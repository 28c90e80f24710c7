package scenario

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
)

// Source returns the episodes of a scenario. Its methods are safe for concurrent use.
type Source struct {
	scenario Scenario
	pool     pool
	windows  map[Split][]span
	config   sim.Config // common to all episodes; contains no outages and no demand
	demand   cycle
}

// Open reads or generates the workload and returns the source of the scenario's episodes. It is the only step that reads files.
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
	src := &Source{scenario: *s}
	if err := src.readAll(); err != nil {
		return nil, err
	}
	var err error
	if src.config, err = s.SimConfig(); err != nil {
		return nil, err
	}
	src.cutWindows()
	for _, split := range splits() {
		if len(s.Window.fractions(split)) > 0 && src.Count(split) == 0 {
			return nil, s.Window.shortOf(&src.pool, split)
		}
	}
	if src.config.Cluster.Quotas, err = src.quotas(); err != nil {
		return nil, err
	}
	if src.demand, err = s.planInference(); err != nil {
		return nil, err
	}
	return src, nil
}

func (s *Source) cutWindows() {
	s.windows = map[Split][]span{}
	for _, split := range splits() {
		s.windows[split] = s.scenario.Window.spans(&s.pool, split)
	}
}

// readAll reads the traces into the pool.
func (s *Source) readAll() error {
	read, found, err := s.scenario.read()
	if err != nil {
		return err
	}
	if s.pool.origins = found; len(found) == 0 {
		s.pool.origins = []origin{{name: s.scenario.generated()}}
	}
	return s.fill(read)
}

// read reads the traces of a workload and applies shape to each. If there are several, it merges them and keeps the time that all
// of them cover. It also returns the files as origins, none for a generated workload.
func (s *Scenario) read() (w trace.Workload, from []origin, err error) {
	names := s.Workload.Trace
	if names == Embedded {
		if w, err = s.generate(); err == nil {
			w, err = s.shape(w)
		}
		return w, nil, err
	}
	all, err := files(names, s.Workload.Format)
	if err != nil {
		return w, nil, err
	}
	parts := make([]trace.Workload, len(all))
	for i, f := range all {
		path, err := s.find("traces", "workload.trace", f.name)
		if err != nil {
			return w, nil, err
		}
		parts[i], err = trace.Read(path, trace.Options{Format: f.format})
		if errors.Is(err, trace.ErrFormat) {
			err = fmt.Errorf("%w; scenarios read what clustergym trace import writes", err)
		}
		if err == nil {
			parts[i], err = s.shape(parts[i])
		}
		if err != nil {
			return w, nil, err
		}
		from = append(from, origin{name: f.name, path: path})
	}
	if len(parts) == 1 {
		return parts[0], from, nil
	}
	for i := range parts {
		from[i].zero = parts[i].First() // Merge makes this instant its time 0
	}
	end := parts[0].Span()
	for _, p := range parts {
		end = min(end, p.Span())
	}
	w, err = trace.Window(trace.Merge(names, parts...), trace.WindowSpec{To: end + 1})
	return w, from, err
}

func (s *Scenario) generate() (trace.Workload, error) {
	params, err := trace.Default().WithLoad(s.Workload.Load, s.Cluster.GPUs())
	if err != nil {
		return trace.Workload{}, err
	}
	return trace.Generate(params, s.Workload.Jobs, s.Workload.Seed)
}

// longestTrace is the maximum time of an arrival.
const longestTrace = 100 * 365 * day

// shape returns a copy of a trace, limited, thinned and stretched, and with the mix applied to its jobs. It does not change w.
func (s *Scenario) shape(w trace.Workload) (trace.Workload, error) {
	own := &s.Workload
	w, err := trace.Window(w, trace.WindowSpec{MaxDuration: own.MaxDuration, MaxGPUs: int32(own.MaxGPUs)})
	if err != nil {
		return w, err
	}
	if own.Thin < 1 {
		w = trace.Thin(w, own.Thin, own.Seed)
		if len(w.Jobs) == 0 {
			return w, fmt.Errorf("workload.thin %v leaves no job of %s", own.Thin, w.Name)
		}
	}
	if own.Stretch != 1 {
		for i := range w.Jobs {
			at := own.Stretch * w.Jobs[i].Submit.Seconds()
			if at > longestTrace.Seconds() {
				return w, fmt.Errorf("workload.stretch %v: job %s would arrive after %.3g s, want at most %v",
					own.Stretch, w.Jobs[i].Name, at, longestTrace)
			}
			w.Jobs[i].SubmitAt(time.Duration(math.Round(at*1000)) * time.Millisecond)
		}
	}
	if d := own.Bursts; d > 0 {
		for i := range w.Jobs {
			w.Jobs[i].SubmitAt((w.Jobs[i].Submit + d - 1) / d * d)
		}
	}
	mix := own.mix()
	mix.Apply(w.Jobs, own.Seed)
	s.size(w.Jobs)
	own.Vary.apply(w.Jobs)
	s.Told.tellGroups(w.Jobs)
	return w, nil
}

// fill puts a workload into the pool. It handles the jobs that even the empty cluster cannot run.
func (s *Source) fill(w trace.Workload) error {
	p := &s.pool
	spec := s.scenario.Cluster.Spec()
	room := spec.Rooms()
	fits := func(j *cluster.JobSpec) bool { return int64(j.Workers) <= room(j) }
	kept := make([]trace.Job, 0, len(w.Jobs))
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if fits(&j.JobSpec) {
			kept = append(kept, *j)
			continue
		}
		most := int32(max(1, room(&j.JobSpec)))
		left, n, err := trace.Oversize(w.Jobs[i:i+1], fits, s.scenario.Workload.Oversize, most)
		if err != nil {
			return fmt.Errorf("%w: set workload.oversize to drop or clamp, or enlarge the cluster", err)
		}
		kept = append(kept, left...)
		p.oversize += n
	}
	w.Jobs, w.Report.Jobs = kept, len(kept)
	p.workload, p.arrivals = w, w.Arrivals()
	if s.scenario.Workload.Newcomers {
		s.rename()
	}
	return s.scenario.tellProfiled(p.workload.Jobs)
}

// quotas returns the quotas of the tenants.
func (s *Source) quotas() ([]cluster.Quota, error) {
	c := &s.scenario.Cluster
	if c.QuotaFactor == 0 {
		return nil, nil
	}
	from, to := s.pool.bounds(s.scenario.Window.fractions(Train))
	return c.quotas(s.pool.workload.Jobs, s.pool.cut(from, to, 0))
}

// Scenario returns the scenario from which the source was opened. Read only.
func (s *Source) Scenario() *Scenario { return &s.scenario }

// Report counts the rows of the trace by what became of them.
func (s *Source) Report() trace.Report { return s.pool.workload.Report }

// Count returns the number of windows of a split, or 0 if the scenario does not have the split.
func (s *Source) Count(split Split) int { return len(s.windows[split]) }

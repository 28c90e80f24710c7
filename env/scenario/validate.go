package scenario

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/names"
)

// problems collects validation errors.
type problems []error

func (p *problems) want(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

// add records err, which may be nil, with the name of the section in front.
func (p *problems) add(section string, err error) {
	if err != nil {
		*p = append(*p, fmt.Errorf("%s%w", section, err))
	}
}

func (p *problems) err() error { return errors.Join(*p...) }

// Validate returns an error that lists everything that is wrong with the scenario's fields. It does not look for the traces.
func (s *Scenario) Validate() error {
	var p problems
	p.want(isName(s.Name), "name %q, want lower-case letters, digits and dashes that end in a version such as -v1", s.Name)
	s.validateTexts(&p)
	p.add("", s.Cluster.validate())
	s.validateServers(&p)
	p.add("", s.Workload.validate())
	p.add("", s.Window.validate())
	_, err := physics.Parse(s.Physics)
	p.add("", err)
	s.validateRestart(&p)
	p.add("failures: ", s.Failures.Validate())
	p.add("", s.Inference.validate())
	p.want(s.Horizon >= 0, "horizon %v, want 0 (never) or more", s.Horizon)
	p.add("", s.Estimates.Validate())
	p.want(s.ProfileError >= 0 && s.ProfileError <= 10, "profile_error %v, want 0 (profiles are right) to 10", s.ProfileError)
	s.Told.validate(&p)
	p.add("", s.Phases.validate())
	p.add("", s.Readings.validate())
	p.want(len(s.Seeds) > 0, "seeds is empty, want at least one")
	p.want(s.Cluster.QuotaFactor == 0 || !s.Workload.Newcomers,
		"workload.newcomers beside cluster.quota_factor %v, want one of them: new tenants have no quotas", s.Cluster.QuotaFactor)
	p.want(s.Cluster.QuotaFactor == 0 || len(s.Window.Train) > 0,
		"cluster.quota_factor %v without window.train: quotas are shares of the training split", s.Cluster.QuotaFactor)
	return p.err()
}

// validateTexts checks the texts that are printed unchanged.
func (s *Scenario) validateTexts(p *problems) {
	text := func(key, value string) {
		p.want(names.Escape(value) == value, "%s %q, want printable text", key, value)
	}
	text("about", s.About)
	for i, value := range s.Real {
		text(fmt.Sprintf("real[%d]", i), value)
	}
	for i, value := range s.Assumed {
		text(fmt.Sprintf("assumed[%d]", i), value)
	}
}

// validateServers checks the limits that apply to all pools together.
func (s *Scenario) validateServers(p *problems) {
	servers := s.Inference.Servers
	types := map[string]bool{}
	if servers > 0 {
		types[s.Inference.GPUType] = true
	}
	for _, g := range s.Cluster.groups() {
		servers += g.Servers
		types[g.GPUType] = true
	}
	p.want(servers <= cluster.MaxServers, "cluster and inference have %d servers, want at most %d", servers, cluster.MaxServers)
	p.want(len(types) <= mostTypes, "cluster and inference have %d types of GPUs, want at most %d", len(types), mostTypes)
}

const mostTypes = 16 // GPU types: the limit of env/cluster

func (s *Scenario) validateRestart(p *problems) {
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"preempt_overhead", s.PreemptOverhead}, {"migrate_overhead", s.MigrateOverhead}, {"resize_overhead", s.ResizeOverhead},
		{"checkpoint_interval", s.CheckpointInterval}, {"checkpoint_save", s.CheckpointSave},
	} {
		p.want(d.value >= 0, "%s %v, want 0 or more", d.key, d.value)
	}
	p.want(s.CheckpointSave == 0 || s.CheckpointInterval > 0,
		"checkpoint_save %v without checkpoint_interval, want both or none", s.CheckpointSave)
	p.want(s.Restart == FromCheckpoint || s.Restart == FromScratch, "restart %q, want checkpoint or scratch", s.Restart)
	p.want(s.Preempt == "" || s.Preempt == Forbidden, "preempt %q, want nothing (allowed) or %q", s.Preempt, Forbidden)
	p.want(s.Preempt == "" || s.Inference.Servers == 0,
		"preempt %q beside inference.servers %d, want one of them: servers that are given back stop jobs",
		s.Preempt, s.Inference.Servers)
}

func (w *Workload) validate() error {
	var p problems
	if w.Trace == Embedded {
		p.want(w.Jobs >= 1 && w.Jobs <= 10_000_000, "workload.jobs %d, want 1 to 10000000 for the embedded workload", w.Jobs)
		p.want(w.Load > 0 && w.Load <= 100, "workload.load %v, want above 0 and at most 100 for the embedded workload", w.Load)
		p.want(w.Format == "", "workload.format %q: the embedded workload has none", w.Format)
	} else {
		p.want(w.Trace != "", "workload.trace is empty, want a file or %q", Embedded)
		p.want(w.Jobs == 0, "workload.jobs %d: only the embedded workload has it, a trace has the jobs that it has", w.Jobs)
		p.want(w.Load == 0, "workload.load %v: only the embedded workload has it; change cluster.servers or workload.thin instead",
			w.Load)
		_, err := files(w.Trace, w.Format)
		p.add("", err)
	}
	switch w.Oversize {
	case trace.OversizeError, trace.OversizeDrop, trace.OversizeClamp:
	default:
		p.want(false, "workload.oversize %q, want error, drop or clamp", w.Oversize)
	}
	p.want(w.Thin > 0 && w.Thin <= 1, "workload.thin %v, want above 0 and at most 1 (all jobs)", w.Thin)
	p.want(w.Stretch >= 1e-6 && w.Stretch <= 1000,
		"workload.stretch %v, want 0.000001 to 1000, 1 for the trace's own times", w.Stretch)
	p.want(w.Bursts >= 0 && w.Bursts <= 30*day, "workload.bursts %v, want 0 (as in the trace) to %v", w.Bursts, 30*day)
	p.want(w.MaxDuration >= 0, "workload.max_duration %v, want 0 (none) or more", w.MaxDuration)
	p.want(w.MaxGPUs >= 0 && w.MaxGPUs <= 1<<20, "workload.max_gpus %d, want 0 (none) to %d", w.MaxGPUs, 1<<20)
	p.want(w.Models == "" || w.Models == defaultModels, "workload.models %q, want nothing or %q", w.Models, defaultModels)
	p.add("workload.", w.Mix.Validate())
	p.add("", w.Vary.validate())
	return p.err()
}

// file is one trace of a workload.
type file struct {
	name   string
	format trace.Format
}

// plus separates the traces of a workload, and their formats.
const plus = " + "

// files splits a list of traces and assigns a format to each.
func files(list string, formats trace.Format) ([]file, error) {
	var all []file
	for name := range strings.SplitSeq(list, plus) {
		name = strings.TrimSpace(name)
		if name == "" || !names.Clean(name) || name == Embedded && strings.Contains(list, plus) {
			return nil, fmt.Errorf("workload.trace %q, want files joined by \" + \"", list)
		}
		all = append(all, file{name: name})
	}
	each := strings.Split(string(formats), plus)
	if len(each) != 1 && len(each) != len(all) {
		return nil, fmt.Errorf("workload.format %q names %d formats, want one, or one for each of %d traces",
			formats, len(each), len(all))
	}
	for i := range all {
		format, err := trace.ParseFormat(strings.TrimSpace(each[i%len(each)]))
		if err != nil {
			return nil, fmt.Errorf("workload.format: %w", err)
		}
		all[i].format = format
	}
	return all, nil
}

func (w *Windows) validate() error {
	var p problems
	if w.Duration == 0 {
		p.want(w.Arrivals >= 1, "window.arrivals %d, want at least 1, or window.duration above 0", w.Arrivals)
		p.want(w.Every == 0, "window.every %v: windows by arrivals have window.stride", w.Every)
	} else {
		p.want(w.Duration >= time.Second, "window.duration %v, want at least 1s", w.Duration)
		p.want(w.Arrivals == 0, "window.arrivals %d beside window.duration %v, want one of them", w.Arrivals, w.Duration)
		p.want(w.Stride == 0, "window.stride %d: windows by time have window.every", w.Stride)
		p.want(w.Every == 0 || w.Every >= time.Second, "window.every %v, want 0 (window.duration) or at least 1s", w.Every)
	}
	p.want(w.Stride >= 0, "window.stride %d, want 0 (window.arrivals) or more", w.Stride)
	p.want(w.Warm >= 0 && w.Warm <= 1_000_000, "window.warm %d, want 0 (an empty cluster) to 1000000", w.Warm)
	empty := true
	for i, a := range splits() {
		f, n := w.fractions(a), w.Resample.windows(a)
		p.want(n >= 0 && n <= 1_000_000, "window.resample.%s %d, want 0 (one window after the other) to 1000000", a, n)
		p.want(n <= 0 || w.Duration == 0, "window.resample.%s %d: windows by time are not resampled", a, n)
		p.want(n <= 0 || w.Stride == 0 || a == Test,
			"window.resample.%s %d beside window.stride %d, want one of them", a, n, w.Stride)
		p.want(n <= 0 || len(f) > 0, "window.resample.%s %d without window.%[1]s", a, n)
		if len(f) == 0 {
			continue
		}
		empty = false
		if len(f) != 2 || !(0 <= f[0] && f[0] < f[1] && f[1] <= 1) {
			p.want(false, "window.%s %v, want two fractions of the arrivals, 0 <= from < to <= 1", a, f)
			continue
		}
		for _, b := range splits()[:i] {
			if g := w.fractions(b); len(g) == 2 {
				p.want(f[1] <= g[0] || g[1] <= f[0],
					"window.%s %v overlaps window.%s %v: they would share jobs", a, f, b, g)
			}
		}
	}
	p.want(!empty, "window has none of train, validation and test, want at least one")
	return p.err()
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

var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*-v[0-9]+$`)

func isName(s string) bool { return len(s) <= 100 && namePattern.MatchString(s) }

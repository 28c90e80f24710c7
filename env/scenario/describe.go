package scenario

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/inference"
	"github.com/clustergym/clustergym/env/trace"
)

// Description is the card of a scenario: a summary of its settings and episodes.
type Description struct {
	Name     string              `json:"name"`
	About    string              `json:"about"`
	Real     []string            `json:"real,omitempty"`
	Assumed  []string            `json:"assumed,omitempty"`
	GPUs     int                 `json:"gpus"` // of the training servers
	Pools    []string            `json:"pools"`
	Physics  string              `json:"physics"`
	Mix      []string            `json:"mix,omitempty"`
	Told     []string            `json:"told"` // what schedulers are told
	Workload string              `json:"workload"`
	Jobs     int                 `json:"jobs"`          // jobs of the whole workload that fit the cluster
	Oversize int                 `json:"oversize_jobs"` // dropped or clamped because even the empty cluster cannot run them
	Splits   []SplitDescription  `json:"splits"`
	Windows  []WindowDescription `json:"windows"`
	Quotas   []string            `json:"quotas,omitempty"`
	Queueing *Queueing           `json:"queueing,omitempty"` // over the test windows, if it was measured
}

// SplitDescription summarises the windows of a split.
type SplitDescription struct {
	Split    Split   `json:"split"`
	Windows  int     `json:"windows"`
	Jobs     int     `json:"total_jobs"` // in all windows; training windows and resampled windows may share jobs
	GPUHours float64 `json:"gpu_hours"`
	// Load is the GPU-time that the jobs ask for, divided by the GPU-time that passes, both summed over the windows.
	Load float64 `json:"load"`
	Note string  `json:"note,omitempty"` // Source.Note
}

// WindowDescription summarises one window.
type WindowDescription struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// First is the index of the window's first job among all arrivals.
	First    int           `json:"first_arrival"`
	Span     time.Duration `json:"span_ns"` // from the first submit to the last
	GPUHours float64       `json:"gpu_hours"`
	// Load is the GPU-time that the jobs ask for, divided by the GPU-time that passes within Span. Above 1 jobs must wait; below
	// 1 they may have to.
	Load     float64 `json:"load"`
	MostGPUs float64 `json:"most_gpus"` // of the largest job
}

// Describe computes the description of every window of every split. It leaves Queueing nil; Source.Queueing measures it.
func (s *Source) Describe() Description {
	own := &s.scenario
	d := Description{
		Name: own.Name, About: own.About, Real: own.Real, Assumed: own.Assumed, GPUs: own.Cluster.GPUs(), Physics: own.Physics,
		Told:  own.DescribeTold(),
		Pools: s.pools(), Mix: own.Workload.describeMix(), Workload: s.pool.workload.Name,
		Jobs: len(s.pool.workload.Jobs), Oversize: s.pool.oversize,
	}
	for _, q := range s.config.Cluster.Quotas {
		d.Quotas = append(d.Quotas, fmt.Sprintf("%s: %d GPUs", q.Tenant, q.GPUs))
	}
	for _, split := range splits() {
		sum := SplitDescription{Split: split, Windows: s.Count(split), Note: s.Note(split)}
		passed := 0.0 // GPU-hours
		for i := range sum.Windows {
			w := s.describeWindow(split, i, d.GPUs)
			d.Windows = append(d.Windows, w)
			sum.Jobs += w.Jobs
			sum.GPUHours += w.GPUHours
			passed += w.Span.Hours() * float64(d.GPUs)
		}
		if passed > 0 {
			sum.Load = sum.GPUHours / passed
		}
		d.Splits = append(d.Splits, sum)
	}
	return d
}

// Note returns a text that says how many jobs resampled windows share, as in "resampled: ...". It returns "" if the windows of
// the split are not resampled.
func (s *Source) Note(split Split) string {
	if s.scenario.Window.Resample.windows(split) == 0 {
		return ""
	}
	jobs, different, last := 0, 0, 0
	for _, w := range s.windows[split] { // in order of their first job, all of the same length
		jobs += w.to - w.from
		different += w.to - max(w.from, last)
		last = w.to
	}
	note := fmt.Sprintf("resampled: %d of %d jobs are different", different, jobs)
	if s.scenario.Window.Warm > 0 {
		note += ", and what warms up one window may be in another"
	}
	return note
}

func (s *Source) describeWindow(split Split, i, gpus int) WindowDescription {
	w := s.windows[split][i]
	jobs := s.pool.cut(w.from, w.to, 0)
	stats := trace.Describe(jobs)
	d := WindowDescription{
		Name: windowName(split, i), Jobs: len(jobs), First: w.from, Span: stats.Span, GPUHours: stats.GPUHours,
	}
	if stats.Span > 0 {
		d.Load = stats.Load(gpus)
	}
	for k := range jobs {
		d.MostGPUs = max(d.MostGPUs, jobs[k].GPUs())
	}
	return d
}

// pools describes the groups of servers, a line for each.
func (s *Source) pools() []string {
	var pools []string
	for _, g := range s.scenario.Cluster.groups() {
		pools = append(pools, g.describe("training"))
	}
	if f := &s.scenario.Inference; f.Servers > 0 {
		pools = append(pools, fmt.Sprintf("%s, demand %s with its peak at %g of the pool, predictor %s, headroom %g",
			f.group().describe("inference"), f.Demand, peak, f.Predictor, inference.DefaultHeadroom))
	}
	return pools
}

func (g *Group) describe(pool string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d servers of %d", pool, g.Servers, g.GPUsPerServer)
	if g.GPUType != "" {
		fmt.Fprintf(&b, " %s", g.GPUType)
	}
	b.WriteString(" GPUs")
	if g.GPUMemGiB > 0 {
		fmt.Fprintf(&b, " of %d GiB", g.GPUMemGiB)
	}
	if g.CPUsPerServer > 0 {
		fmt.Fprintf(&b, ", %d cores", g.CPUsPerServer)
	}
	if g.MemGiBPerServer > 0 {
		fmt.Fprintf(&b, ", %d GiB of memory", g.MemGiBPerServer)
	}
	return b.String()
}

// describeMix returns lines that describe the classes of models, and then the fractions of the mix.
func (w *Workload) describeMix() []string {
	mix := w.mix()
	var lines []string
	for _, c := range mix.Classes {
		names := make([]string, len(c.Models))
		for i, m := range c.Models {
			names[i] = m.Model
		}
		bound := "more"
		if c.UpTo > 0 {
			bound = fmt.Sprintf("up to %g", c.UpTo)
		}
		lines = append(lines, fmt.Sprintf("%s GPU-hours: %s", bound, strings.Join(names, " ")))
	}
	for _, share := range []struct {
		what string
		of   float64
	}{
		{fmt.Sprintf("gangs elastic, %g to 2 of what they ask for", mix.Least), mix.Elastic},
		{"large models cut into stages and tensor-parallel groups", mix.Parallel},
		{fmt.Sprintf("jobs on any type of GPU, the others on %q", mix.Home), mix.Fungible},
		{"jobs runs of recurring ones", mix.Recurring},
	} {
		if share.of > 0 {
			lines = append(lines, fmt.Sprintf("%g of the %s", share.of, share.what))
		}
	}
	return lines
}

// WriteText writes the description as text.
func (d *Description) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.Name, d.About)
	list := func(what string, lines []string) {
		if len(lines) > 0 {
			fmt.Fprintf(&b, "\n%s\n", what)
		}
		for _, l := range lines {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	list("Real:", d.Real)
	list("Assumed:", d.Assumed)
	list("Servers:", d.Pools)
	list("Physics:", []string{d.Physics})
	list("Models and gangs, by a seeded rule:", d.Mix)
	list("Schedulers are told:", d.Told)
	list("Quotas:", d.Quotas)
	fmt.Fprintf(&b, "\n%d training GPUs, %d jobs of %s", d.GPUs, d.Jobs, d.Workload)
	if d.Oversize > 0 {
		fmt.Fprintf(&b, ", %d too large for the cluster dropped or clamped", d.Oversize)
	}
	b.WriteString("\n")
	for _, s := range d.Splits {
		if s.Windows > 0 {
			fmt.Fprintf(&b, "%s: %d windows, %d jobs, load %.2f", s.Split, s.Windows, s.Jobs, s.Load)
			if s.Note != "" {
				fmt.Fprintf(&b, "; %s", s.Note)
			}
			b.WriteString("\n")
		}
	}
	if q := d.Queueing; q != nil {
		fmt.Fprintf(&b, "queueing under %s over the test windows: %.1f %% of mean JCT (%.0f s of %.0f s)\n",
			q.Scheduler, 100*q.Share(), q.Queueing, q.JCT)
	}
	fmt.Fprintf(&b, "\n%-14s %8s %8s %10s %10s %6s %9s\n",
		"window", "first", "jobs", "span h", "GPU-hours", "load", "most GPUs")
	for _, x := range d.Windows {
		fmt.Fprintf(&b, "%-14s %8d %8d %10.1f %10.0f %6.2f %9g\n",
			x.Name, x.First, x.Jobs, x.Span.Hours(), x.GPUHours, x.Load, x.MostGPUs)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

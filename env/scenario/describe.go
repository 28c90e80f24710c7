package scenario

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/trace"
)

// Description tells what a scenario's episodes are like.
type Description struct {
	Name     string              `json:"name"`
	About    string              `json:"about"`
	GPUs     int                 `json:"gpus"`
	Workload string              `json:"workload"`
	Jobs     int                 `json:"jobs"`     // that fit the cluster, in the whole workload
	Oversize int                 `json:"oversize"` // dropped or clamped because the empty cluster cannot hold them
	Windows  []WindowDescription `json:"windows"`
}

// WindowDescription tells what one window is like.
type WindowDescription struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// First is the rank of its first job among all arrivals.
	First    int           `json:"first_arrival"`
	Span     time.Duration `json:"span_ns"` // first submit to last
	GPUHours float64       `json:"gpu_hours"`
	// Load is GPU-time asked for over GPU-time that passes within Span. Above 1 jobs must wait; below it they may.
	Load     float64 `json:"load"`
	MostGPUs float64 `json:"most_gpus"` // of the largest job
}

// Describe measures every window of every split.
func (s *Source) Describe() Description {
	d := Description{
		Name: s.scenario.Name, About: s.scenario.About, GPUs: s.scenario.Cluster.GPUs(), Workload: s.workload.Name,
		Jobs: len(s.workload.Jobs), Oversize: s.oversize,
	}
	for _, split := range []Split{Train, Validation, Test} {
		from, _ := s.bounds(split)
		for i := range s.Count(split) {
			jobs := s.cut(split, i)
			stats := trace.Describe(jobs)
			w := WindowDescription{
				Name: fmt.Sprintf("%s-%d", split, i), Jobs: len(jobs), First: from + i*s.scenario.Window.stride(split),
				Span: stats.Span, GPUHours: stats.GPUHours,
			}
			if stats.Span > 0 {
				w.Load = stats.Load(d.GPUs)
			}
			for k := range jobs {
				w.MostGPUs = max(w.MostGPUs, jobs[k].GPUs())
			}
			d.Windows = append(d.Windows, w)
		}
	}
	return d
}

// WriteText writes the description as text.
func (d *Description) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", d.Name, d.About)
	fmt.Fprintf(&b, "%d GPUs, %d jobs of %s", d.GPUs, d.Jobs, d.Workload)
	if d.Oversize > 0 {
		fmt.Fprintf(&b, ", %d too large for the cluster dropped or clamped", d.Oversize)
	}
	fmt.Fprintf(&b, "\n\n%-14s %8s %8s %10s %10s %6s %9s\n",
		"window", "first", "jobs", "span h", "GPU-hours", "load", "most GPUs")
	for _, x := range d.Windows {
		fmt.Fprintf(&b, "%-14s %8d %8d %10.1f %10.0f %6.2f %9g\n",
			x.Name, x.First, x.Jobs, x.Span.Hours(), x.GPUHours, x.Load, x.MostGPUs)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

package trace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is the layout of a trace file.
type Format string

// The formats that this package reads. docs/traces.md describes them.
const (
	Native     Format = "native"      // job_id,num_gpu,submit_time,duration and optional named columns
	PhillyPass Format = "philly-pass" // Microsoft Philly 2017, completed jobs with their virtual cluster
	PhillyAll  Format = "philly-all"  // Microsoft Philly 2017, all end statuses; same header as Helios
	Helios     Format = "helios"      // SenseTime Helios, all end statuses; same header as PhillyAll
	Kalos      Format = "kalos"       // Shanghai AI Lab Acme, cluster Kalos
	OpenB      Format = "openb"       // Alibaba cluster-trace-gpu-v2023 pod lists
)

// ErrFormat is wrapped by errors about a file whose format cannot be determined: its header is unknown, or two formats share it.
var ErrFormat = errors.New("cannot tell the trace format")

// layout describes a format: its columns and how to parse a row.
type layout struct {
	format   Format
	required []string
	optional []string
	parse    func(r *Reader, row *row) (Job, verdict, error)
}

var jobColumns = []string{"u_id", "user", "gpu_num", "cpu_num", "node_num", "interval", "run_time", "wall_time",
	"new_status"}

// layouts lists every format once, in the order of the help texts.
func layouts() []layout {
	return []layout{
		{Native, []string{"job_id", "num_gpu", "submit_time", "duration"},
			[]string{"user", "tenant", "gpu_milli", "cpu_milli", "mem_mib", "status", "min_workers", "max_workers", "model",
				"group", "stages", "tensor", "gpu_type", "mixed", "gpu_mem_mib"}, parseNative},
		{PhillyPass, []string{"timestamp", "duration", "num_gpus", "gpu_time", "cluster"}, nil, parsePhillyPass},
		{PhillyAll, jobColumns, nil, parseIntervals},
		{Helios, jobColumns, nil, parseIntervals},
		{Kalos, []string{"job_id", "arrival_time", "num_iteration", "iteration_computing_time", "iteration_networking_time",
			"gpu_workers", "ps", "gpu_per_worker", "cpu_per_gpu_worker", "cpu_per_ps_worker", "tensorsizes", "profiled_network"},
			nil, parseKalos},
		{OpenB, []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
			"creation_time", "deletion_time", "scheduled_time"}, nil, parseOpenB},
	}
}

// Formats lists the formats that Options.Format accepts.
func Formats() []Format {
	var names []Format
	for _, l := range layouts() {
		names = append(names, l.format)
	}
	return names
}

// ParseFormat checks the name of a format. The empty name is allowed and means that the header determines the format.
func ParseFormat(name string) (Format, error) {
	if name == "" || slices.Contains(Formats(), Format(name)) {
		return Format(name), nil
	}
	return "", fmt.Errorf("parse trace format %q: want one of %s", name, join(Formats()))
}

// chooseLayout returns the layout that matches a header, or checks the header against the format that the caller named.
func chooseLayout(named Format, header []string) (layout, error) {
	for i, c := range header {
		if slices.Contains(header[:i], c) {
			return layout{}, fmt.Errorf("column %q stands twice in the header", c)
		}
	}
	if named != "" {
		if _, err := ParseFormat(string(named)); err != nil {
			return layout{}, err
		}
	}
	var matches []layout
	for _, l := range layouts() {
		missing, extra := l.compare(header)
		switch {
		case named == l.format && len(missing) > 0:
			return layout{}, fmt.Errorf("header lacks column %q of format %s", missing[0], named)
		case named == l.format && len(extra) > 0:
			return layout{}, fmt.Errorf("header has column %q, which format %s does not know: want %s",
				extra[0], named, strings.Join(slices.Concat(l.required, l.optional), ","))
		case named == l.format:
			return l, nil
		case named == "" && len(missing) == 0 && l.format == Native && len(extra) > 0:
			return chooseLayout(Native, header) // a native header: report the column that is not known
		case named == "" && len(missing) == 0 && len(extra) == 0:
			matches = append(matches, l)
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], nil
	case 0:
		if columns := didYouMean(header); columns != "" {
			return layout{}, fmt.Errorf("%w: header %q is none of %s; did you mean --columns %s?", ErrFormat,
				shorten(strings.Join(header, ",")), join(Formats()), columns)
		}
		return layout{}, fmt.Errorf("%w: header %q is none of %s; native wants %s", ErrFormat,
			shorten(strings.Join(header, ",")), join(Formats()), strings.Join(layouts()[0].required, ","))
	}
	var names []Format
	for _, l := range matches {
		names = append(names, l.format)
	}
	return layout{}, fmt.Errorf("%w: %s share this header: name one with --format", ErrFormat, join(names))
}

// compare lists the required columns that the header lacks and the header's columns that the layout does not contain.
func (l layout) compare(header []string) (missing, extra []string) {
	for _, c := range l.required {
		if !slices.Contains(header, c) {
			missing = append(missing, c)
		}
	}
	for _, c := range header {
		if !slices.Contains(l.required, c) && !slices.Contains(l.optional, c) {
			extra = append(extra, c)
		}
	}
	return missing, extra
}

func join(names []Format) string {
	var b strings.Builder
	for i, n := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(n))
	}
	return b.String()
}

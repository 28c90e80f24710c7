package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/names"
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
	Acme       Format = "acme"        // Shanghai AI Lab Acme, the original files of Seren and Kalos
	HeliosLog  Format = "helios-log"  // SenseTime Helios, the original cluster_log.csv
	PhillyLog  Format = "philly-log"  // Microsoft Philly 2017, the original cluster_job_log in JSON
	PAI        Format = "pai"         // Alibaba PAI 2020, pai_task_table alone or joined with pai_job_table
	SWF        Format = "swf"         // Standard Workload Format of the Parallel Workloads Archive
)

// ErrFormat is wrapped by errors about a file whose format cannot be determined: its header is unknown, or two formats share it.
var ErrFormat = errors.New("cannot tell the trace format")

// formatError is an error about a file of a known kind that is no trace by itself, or none without more from the caller.
type formatError string

func (e formatError) Error() string { return string(e) }

// Is makes the error one that wraps ErrFormat.
func (e formatError) Is(target error) bool { return target == ErrFormat }

// layout describes a format: how to recognise it and how to parse a row. A format whose files begin with a header of columns
// needs only their names. A format without such a header has looks and open. Each format of others is a file of its own.
type layout struct {
	format   Format
	required []string
	optional []string
	loose    bool   // a file may have columns that the format does not know; they are left out
	id       string // the column of ids, which no two jobs share; "" if the row number is the id
	submit   string // the column of submit times, if they may be dates
	parse    func(r *Reader, row *row) (Job, verdict, error)

	// looks reports whether the first bytes of a file, at most headBytes, are those of this format. Nil for formats with a header.
	looks func(head []byte) bool
	// open reads such a file. It also returns the names of the fields of its rows.
	open func(in *bufio.Reader, opt Options) (source, []string, error)
	// needs is an error about a file of this format that is read without Options.Columns, nil for most. Given names the columns
	// of the native format in the file.
	needs error
	given Columns

	instead string // of a file that is no trace by itself: what to read; such a layout has no format and no parse
}

var jobColumns = []string{"u_id", "user", "gpu_num", "cpu_num", "node_num", "interval", "run_time", "wall_time",
	"new_status"}

// layouts lists every format once, in the order of the help texts.
func layouts() []layout {
	return slices.Concat([]layout{
		{format: Native, id: "job_id", submit: "submit_time", required: []string{"job_id", "num_gpu", "submit_time", "duration"},
			optional: []string{"user", "tenant", "gpu_milli", "cpu_milli", "mem_mib", "status", "min_workers", "max_workers", "model",
				"group", "stages", "tensor", "gpu_type", "mixed", "gpu_mem_mib", "deadline", "priority"}, parse: parseNative},
		{format: PhillyPass, required: []string{"timestamp", "duration", "num_gpus", "gpu_time", "cluster"}, parse: parsePhillyPass},
		{format: PhillyAll, required: jobColumns, parse: parseIntervals, id: "u_id"},
		{format: Helios, required: jobColumns, parse: parseIntervals, id: "u_id"},
		{format: Kalos, required: []string{"job_id", "arrival_time", "num_iteration", "iteration_computing_time",
			"iteration_networking_time", "gpu_workers", "ps", "gpu_per_worker", "cpu_per_gpu_worker", "cpu_per_ps_worker",
			"tensorsizes", "profiled_network"}, parse: parseKalos, id: "job_id"},
		{format: OpenB, required: []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase",
			"creation_time", "deletion_time", "scheduled_time"}, parse: parseOpenB, id: "name"},
	}, jobLogLayouts(), []layout{phillyLogLayout()}, paiLayouts(), []layout{swfLayout(), sacctLayout()})
}

// headed reports whether a file of a format that needs no header begins with one.
func (l layout) headed(head []byte) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return l.loose && bytes.Contains(bytes.ToLower(line), []byte(l.required[0]))
}

// unreadable returns an error about a file that is text, but no table.
func unreadable(head []byte) error {
	if looksJSON(head) {
		return formatError("this is JSON, of which only Philly's cluster_job_log is read: write a table, such as with " +
			"pandas.read_json(FILE).to_csv(OUT, index=False)")
	}
	if text := bytes.TrimSpace(head); bytes.IndexByte(text, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		return formatError("lines end with carriage returns alone: convert them with tr '\\r' '\\n'")
	}
	return nil
}

// Formats lists the formats that Options.Format accepts.
func Formats() []Format {
	var names []Format
	for _, l := range layouts() {
		if l.format != "" {
			names = append(names, l.format)
		}
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

// chooseLayout returns the layout that matches a header, or checks the header against the format that the caller named. It also
// returns where the columns of the format stand.
func chooseLayout(named Format, h *header) (layout, *columns, error) {
	if twice := h.twice(); twice != "" {
		return layout{}, nil, fmt.Errorf("column %q stands twice in the header", twice)
	}
	if _, err := ParseFormat(string(named)); err != nil {
		return layout{}, nil, err
	}
	var matches []layout
	var found *columns
	for _, l := range layouts() {
		if l.open != nil && !l.loose || named != "" && l.format != named {
			continue
		}
		c, missing, extra := l.match(h)
		unknown := len(extra) > 0 && !l.loose
		switch {
		case named != "" && len(missing) > 0:
			return layout{}, nil, fmt.Errorf("header lacks column %q of format %s", missing[0], named)
		case (named != "" || l.format == Native) && len(missing) == 0 && unknown:
			return layout{}, nil, fmt.Errorf("header has column %q, which format %s does not know: want %s%s",
				extra[0], l.format, strings.Join(slices.Concat(l.required, l.optional), ","), leaveOut(l.format))
		case len(missing) == 0 && !unknown && l.instead != "":
			return layout{}, nil, formatError(l.instead)
		case len(missing) == 0 && !unknown:
			matches, found = append(matches, l), c
		}
	}
	switch len(matches) {
	case 1:
		return matches[0], found, nil
	case 0:
		return layout{}, nil, unknownHeader(h)
	}
	var names []Format
	for _, l := range matches {
		names = append(names, l.format)
	}
	return layout{}, nil, fmt.Errorf("%w: %s share this header: name one with --format", ErrFormat, join(names))
}

// isValue reports whether a name in a header is a number or a time.
func isValue(name string) bool {
	_, _, want := readTime(name)
	return want == "" || isMissing(name)
}

// leaveOut says how to read a file with columns that its format does not know.
func leaveOut(f Format) string {
	if f == Native {
		return "; with --columns job_id=job_id, columns that it does not know are left out"
	}
	return ""
}

// unknownHeader returns the error about a header that fits no format.
func unknownHeader(h *header) error {
	if err := errSacct(h); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if entries, lacks := propose(h); len(entries) > 0 {
		return fmt.Errorf("%w: header %q is none of %s; did you mean --columns %s?%s", ErrFormat, h, join(Formats()),
			shellQuoted(names.Escape(strings.Join(entries, ","))), lacks)
	}
	if !slices.ContainsFunc(h.names, func(name string) bool { return !isIndex(name) && !isValue(name) }) {
		return fmt.Errorf("%w: the first line, %q, has values in place of names: put a header before it, such as %s", ErrFormat, h,
			strings.Join(layouts()[0].required, ","))
	}
	if strings.HasPrefix(h.names[0], "#") {
		return fmt.Errorf("%w: the first line, %q, is a comment: remove it, or its # if it is the header", ErrFormat, h)
	}
	if len(h.names) == 1 && strings.Contains(h.names[0], " ") {
		return fmt.Errorf("%w: header %q has spaces between its names: separate fields by commas, such as with tr -s ' ' ','",
			ErrFormat, h)
	}
	return fmt.Errorf("%w: header %q is none of %s; native wants %s", ErrFormat,
		h, join(Formats()), strings.Join(layouts()[0].required, ","))
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

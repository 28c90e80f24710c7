package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Columns names, for columns of the native format, the columns of a file that has others. Each entry is "native=own". Times may
// also be given as dates (see parseTime), and the duration as the difference of two columns of times: "duration=end-start".
// Columns of the file that the native format does not know are left out.
type Columns []string

// picked takes the columns of the native format from the rows of a file that has others.
type picked struct {
	header []string // native columns, then those of the times of a difference
	own    []string // what the file calls them
	from   []int    // where they stand in the file's rows
}

// The columns of a difference of times. No column of a file has these names: they contain a blank at the beginning.
const spanEnd, spanStart = " end", " start"

// pick finds the columns in the header of a file.
func (c Columns) pick(header []string) (*picked, error) {
	native := layouts()[0]
	known := slices.Concat(native.required, native.optional)
	p := &picked{}
	add := func(name, own string) error {
		at := slices.Index(header, own)
		if at < 0 {
			return fmt.Errorf("columns: %s=%s: the file has no column %q, only %s", name, own, own,
				shorten(strings.Join(header, ",")))
		}
		p.header, p.own, p.from = append(p.header, name), append(p.own, own), append(p.from, at)
		return nil
	}
	var err error
	for _, entry := range c {
		name, own, ok := strings.Cut(entry, "=")
		end, start, isSpan := strings.Cut(own, "-")
		switch {
		case !ok || name == "" || own == "":
			return nil, fmt.Errorf("columns: %q, want a column of the native format, = and a column of the file", entry)
		case !slices.Contains(known, name):
			return nil, fmt.Errorf("columns: %q is no column of the native format, want one of %s", name, strings.Join(known, ","))
		case slices.Contains(p.header, name):
			return nil, fmt.Errorf("columns: %s stands twice", name)
		case name == "duration" && isSpan && !slices.Contains(header, own):
			if err = add(spanEnd, end); err == nil {
				err = add(spanStart, start)
			}
		default:
			err = add(name, own)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range known { // columns that have their native names
		if name == "duration" && slices.Contains(p.header, spanEnd) || slices.Contains(p.header, name) {
			continue
		}
		if slices.Contains(header, name) {
			err = add(name, name)
		} else if slices.Contains(native.required, name) {
			err = fmt.Errorf("columns: the file has no column %s: add %s=COLUMN, with one of %s", name, name,
				shorten(strings.Join(header, ",")))
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}

// row returns the picked fields of a row of the file.
func (p *picked) row(fields []string) row {
	r := row{header: p.header, fields: make([]string, len(p.from))}
	for i, at := range p.from {
		r.fields[i] = fields[at]
	}
	return r
}

// named returns an error about a column with the name that the file has for it.
func (p *picked) named(err error) error {
	if c, ok := err.(columnError); ok { //nolint:errorlint // the row keeps the error itself
		if i := slices.Index(p.header, c.column); i >= 0 {
			c.column = p.own[i]
		}
		return c
	}
	return err
}

// parseTime reads a time as seconds or as a date with a time of day: 2026-11-20T08:30:00Z, with any offset from UTC, or, taken as
// UTC, 2026-11-20 08:30:00, both with fractions of a second if needed. Dates count from 1970. The result dated says which it is.
func parseTime(s string) (at time.Duration, dated, ok bool) {
	if at, ok = parseSeconds(s); ok {
		return at, false, true
	}
	for _, form := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(form, s); err == nil {
			seconds := t.Unix()
			at = time.Duration(seconds)*time.Second + time.Duration(t.Nanosecond())
			return at, true, seconds >= 0 && seconds < int64(maxTime/time.Second)
		}
	}
	return 0, false, false
}

// submitted returns the submit time of a native row. A file has either seconds or dates.
func (r *Reader) submitted(row *row) time.Duration {
	const column, want = "submit_time", "seconds, or a date such as 2026-11-20T08:30:00Z or 2026-11-20 08:30:00"
	at, dated, ok := parseTime(row.get(column))
	if !ok {
		row.seconds(column) // the error for seconds, unless the text looks like a date
		if strings.Index(row.get(column), "-") > 0 {
			row.err = columnError{column, row.get(column), want}
		}
		return 0
	}
	if row.err != nil {
		return at
	}
	if !r.clocked {
		r.clocked, r.dated = true, dated
	}
	if r.dated != dated {
		row.bad(column, row.get(column), "seconds in all rows or dates in all rows")
	}
	return at
}

// lasted returns the duration of a native row, which may be the difference of two times.
func (r *row) lasted() time.Duration {
	if !slices.Contains(r.header, spanEnd) {
		return r.work("duration")
	}
	var times [2]time.Duration
	var dated [2]bool
	for i, column := range []string{spanStart, spanEnd} {
		var ok bool
		if times[i], dated[i], ok = parseTime(r.get(column)); !ok {
			r.bad(column, r.get(column), "seconds, or a date such as 2026-11-20T08:30:00Z or 2026-11-20 08:30:00")
			return 0
		}
	}
	if dated[0] != dated[1] || times[1] <= times[0] {
		r.bad(spanEnd, r.get(spanEnd), "later than the start "+shorten(r.get(spanStart)))
		return 0
	}
	return times[1] - times[0]
}

// usual are names that files of others give to the columns that a native trace must have.
var usual = map[string][]string{
	"job_id":      {"id", "job", "jobid", "job_name", "name", "u_id"},
	"num_gpu":     {"num_gpus", "gpus", "gpu", "gpu_num", "n_gpus", "ngpus", "gpu_count", "alloc_gpus", "req_gpus"},
	"submit_time": {"submit", "submitted", "submitted_at", "timestamp", "arrival_time", "arrival", "created_at", "created", "time"},
	"duration":    {"run_time", "runtime", "elapsed", "duration_s", "seconds", "length", "service_time"},
}

// didYouMean returns a proposal for --columns if the header has names that are usual elsewhere, otherwise "".
func didYouMean(header []string) string {
	var entries []string
	for _, name := range layouts()[0].required {
		if slices.Contains(header, name) {
			continue
		}
		at := slices.IndexFunc(header, func(own string) bool {
			return slices.Contains(usual[name], strings.ToLower(strings.TrimSpace(own)))
		})
		if at < 0 {
			return ""
		}
		entries = append(entries, name+"="+header[at])
	}
	return strings.Join(entries, ",")
}

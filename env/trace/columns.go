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

// The columns of a difference of times. No column of a file has these names: they contain a blank at the beginning.
const spanEnd, spanStart = " end", " start"

// pick finds the columns in the header of a file. The parameter given has entries for columns that c does not name.
func (c Columns) pick(h *header, given Columns) (*columns, error) {
	native := layouts()[0]
	known := slices.Concat(native.required, native.optional)
	p := &columns{width: len(h.names)}
	for _, entry := range c {
		if err := p.pick(entry, h, known); err != nil {
			return nil, err
		}
	}
	for _, entry := range given {
		if name, _, _ := strings.Cut(entry, "="); !p.has(name) {
			if err := p.pick(entry, h, known); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range known { // columns that have their native names
		at := h.find(name)
		switch {
		case p.has(name):
		case at >= 0:
			p.add(name, h, at)
		case slices.Contains(native.required, name):
			return nil, fmt.Errorf("columns: the file has no column %s: add %s=COLUMN, with one of %s", name, name, h)
		}
	}
	p.unread = p.rest(h)
	return p, nil
}

// has reports whether a column of the native format was found.
func (c *columns) has(name string) bool {
	return slices.Contains(c.header, name) || name == "duration" && slices.Contains(c.header, spanEnd)
}

// pick adds the column or the difference of columns that an entry names.
func (c *columns) pick(entry string, h *header, known []string) error {
	name, own, ok := strings.Cut(entry, "=")
	end, start, isSpan := strings.Cut(own, "-")
	switch {
	case !ok || name == "" || own == "":
		return fmt.Errorf("columns: %q, want a column of the native format, = and a column of the file", entry)
	case !slices.Contains(known, name):
		return fmt.Errorf("columns: %q is no column of the native format, want one of %s", name, strings.Join(known, ","))
	case c.has(name):
		return fmt.Errorf("columns: %s stands twice", name)
	}
	names, columns := []string{name}, []string{own}
	if name == "duration" && isSpan && h.find(own) < 0 {
		names, columns = []string{spanEnd, spanStart}, []string{end, start}
	}
	for i, column := range columns {
		at := h.find(column)
		if at < 0 {
			return fmt.Errorf("columns: %s=%s: the file has no column %q, only %s", name, column, column, h)
		}
		c.add(names[i], h, at)
	}
	return nil
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
func didYouMean(h *header) string {
	var entries []string
	for _, name := range layouts()[0].required {
		if h.find(name) >= 0 {
			continue
		}
		at := slices.IndexFunc(h.names, func(own string) bool {
			return slices.Contains(usual[name], strings.ToLower(strings.TrimSpace(own)))
		})
		if at < 0 {
			return ""
		}
		entries = append(entries, name+"="+h.names[at])
	}
	return strings.Join(entries, ",")
}

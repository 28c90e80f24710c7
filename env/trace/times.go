package trace

import (
	"fmt"
	"strings"
	"time"
)

// form is how a time is written. All times of one column have one form, as times of different forms cannot be compared.
type form uint8

const (
	inSeconds form = iota + 1
	inMillis       // since 1970, as the four below
	inMicros
	inNanos
	localDate // a date without a time zone
	zonedDate
)

func (f form) String() string {
	return [...]string{"", "seconds", "milliseconds since 1970", "microseconds since 1970", "nanoseconds since 1970",
		"a date without time zone", "a date with time zone"}[f]
}

// aTime says in errors what a time may be.
const aTime = "seconds, or a date such as 2026-11-20T08:30:00Z or 2026-11-20 08:30:00+01:00"

// readTime reads a time: seconds, or a number that is too large for them and hence the milli-, micro- or nanoseconds since 1970,
// or a date (see readDate). Dates count from 1970. For text that is no time it returns what was expected instead.
func readTime(s string) (at time.Duration, f form, want string) {
	if isNumber(s) {
		return readCount(s)
	}
	t, zoned, want := readDate(s)
	if want != "" {
		return 0, 0, want
	}
	seconds := t.Unix()
	if seconds < 0 || seconds >= int64(maxTime/time.Second) {
		return 0, 0, "a date from 1970 to 2069"
	}
	f = localDate
	if zoned {
		f = zonedDate
	}
	return time.Duration(seconds)*time.Second + time.Duration(t.Nanosecond()), f, ""
}

// readCount reads a time that is a number.
func readCount(s string) (time.Duration, form, string) {
	if at, ok := readSeconds(s); ok {
		return at, inSeconds, ""
	}
	nanos := int64(1)
	for _, f := range []form{inNanos, inMicros, inMillis} {
		if n, ok := parseDecimal(rounded(s, 0), 0); ok && n >= int64(1e17)/nanos && n <= int64(maxTime)/nanos {
			return time.Duration(n * nanos), f, ""
		}
		nanos *= 1000
	}
	return 0, 0, fmt.Sprintf("seconds from 0 to %d, or milliseconds, microseconds or nanoseconds since 1970", maxTime/time.Second)
}

// readDate reads a date with a time of day as programs write it: 2026-11-20T08:30:00Z, with a blank or T, with or without
// fractions of a second, seconds and time, and with an offset from UTC such as +01:00, +0100, +01, Z or UTC, or without (zoned is
// then false, and the date is read as if in UTC). For other text it returns what was expected.
func readDate(s string) (t time.Time, zoned bool, want string) {
	const days = len("2026-11-20")
	if len(s) < days {
		return t, false, notADate(s)
	}
	day, rest := strings.ReplaceAll(s[:days], "/", "-"), s[days:]
	if rest != "" && !strings.ContainsRune(" Tt", rune(rest[0])) {
		return t, false, notADate(s)
	}
	clock, zone := strings.TrimLeft(rest, " Tt"), ""
	if i := strings.IndexFunc(clock, func(c rune) bool { return c != ':' && c != '.' && c != ',' && (c < '0' || c > '9') }); i >= 0 {
		clock, zone = clock[:i], strings.TrimSpace(clock[i:])
	}
	if clock == "" {
		clock = "00:00"
	}
	offset, ok := readZone(zone)
	if !ok {
		return t, false, fmt.Sprintf("an offset from UTC, such as +01:00, Z or nothing, in place of %q", shorten(zone))
	}
	for _, layout := range []string{time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, day+" "+clock); err == nil {
			return t.Add(-offset), zone != "", ""
		}
	}
	return t, false, notADate(s)
}

// readZone reads an offset from UTC; nothing is none.
func readZone(s string) (time.Duration, bool) {
	switch strings.ToUpper(s) {
	case "", "Z", "UTC", "GMT":
		return 0, true
	}
	for _, layout := range []string{"Z07:00", "Z0700", "Z07"} {
		if t, err := time.Parse(layout, s); err == nil {
			_, seconds := t.Zone()
			return time.Duration(seconds) * time.Second, true
		}
	}
	return 0, false
}

// notADate says what was expected in place of text that is no date.
func notADate(s string) string {
	if strings.HasPrefix(s, "-") {
		return "a time that is not negative"
	}
	slashed := strings.ReplaceAll(s, ".", "/")
	if head, _, ok := strings.Cut(slashed, "/"); ok && strings.Count(slashed, "/") >= 2 && len(head) < 3 {
		return "a date that begins with the year, such as 2026-11-20 08:30:00: which of these is the day and which the month?"
	}
	if hasComma(s) {
		return noComma
	}
	return aTime
}

// clock remembers the form of the first time of a column.
type clock struct {
	form         form
	value, place string
}

// instant returns a time of a row. The result known is false if the row has none, or one that is wrong, which row.err then
// reports.
func (r *Reader) instant(row *row, column string) (at time.Duration, known bool) {
	s := row.get(column)
	if isMissing(s) {
		return 0, false
	}
	at, f, want := readTime(s)
	if want != "" {
		row.bad(column, s, want)
		return 0, false
	}
	first, ok := r.clocks[column]
	if !ok {
		first = clock{f, strings.Clone(s), r.rows.place()}
		r.clocks[column] = first
	}
	if first.form != f {
		row.bad(column, s, fmt.Sprintf("one form in all rows: this is %v, and the first (%q in line %s) %v", f, shorten(first.value),
			first.place, first.form))
		return 0, false
	}
	return at, true
}

// span returns the time from one column to another of the same form; known is false if one is missing or wrong.
func (r *Reader) span(row *row, start, end string) (d time.Duration, known bool) {
	from, ok := r.instant(row, start)
	to, okay := r.instant(row, end)
	if !ok || !okay {
		return 0, false
	}
	if a, b := r.clocks[start], r.clocks[end]; a.form != b.form {
		row.bad(end, row.get(end), fmt.Sprintf("the form of the start %s: this is %v, and the start is %v", shown(row.get(start)),
			b.form, a.form))
		return 0, false
	}
	if to < from {
		row.bad(end, row.get(end), "no earlier than the start "+shown(row.get(start)))
		return 0, false
	}
	return to - from, true
}

// noteForms says what was taken for granted of the form of the submit times. It reports whether they count from 1970.
func (r *Reader) noteForms() (dated bool) {
	first, ok := r.clocks[r.layout.submit]
	if !ok {
		first, ok = r.clocks["start_time"] // of a table that has no other
	}
	switch {
	case !ok || first.form == inSeconds:
		return false
	case first.form == localDate:
		r.note(fmt.Sprintf("submit times, such as %s, have no time zone: they are read as UTC, so an hour that clocks skip or repeat "+
			"shifts jobs", first.value), 0)
	case first.form != zonedDate:
		r.note(fmt.Sprintf("submit times, such as %s, are read as %v by their size, and durations as seconds", first.value,
			first.form), 0)
	}
	return true
}

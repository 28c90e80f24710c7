package trace

import (
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/clustergym/clustergym/internal/names"
)

// columnError reports a value that its column does not allow.
type columnError struct{ column, value, want string }

func (e columnError) Error() string {
	return fmt.Sprintf("column %q: value %q, want %s", e.column, shorten(e.value), e.want)
}

// row gives access to the values of one line by column. Its methods record the first invalid value in err and return zero for
// invalid values.
type row struct {
	header, fields []string
	err            error
}

// bad records a value that its column does not allow, unless an earlier one is recorded.
func (r *row) bad(column, value, want string) {
	if r.err == nil {
		r.err = columnError{column, value, want}
	}
}

// get returns the raw value, or "" if the header lacks the column.
func (r *row) get(column string) string {
	if i := slices.Index(r.header, column); i >= 0 {
		return r.fields[i]
	}
	return ""
}

// text returns the value as text, which must be printable and at most 256 bytes.
func (r *row) text(column string) string {
	s := r.get(column)
	if !utf8.ValidString(s) {
		r.bad(column, s, "UTF-8: if the file is Latin-1, convert it with iconv -f latin1 -t UTF-8")
	}
	if !names.OK(s) {
		r.bad(column, s, "at most 256 bytes of printable UTF-8")
		return ""
	}
	return s
}

// id returns the id of a job.
func (r *row) id(column string) string { return r.some(column, "a job id") }

// some returns text that must not be empty. The parameter want describes it in errors.
func (r *row) some(column, want string) string {
	s := r.text(column)
	if s == "" {
		r.bad(column, s, want)
	}
	return s
}

// seconds returns an exact time, at least 0.
func (r *row) seconds(column string) time.Duration {
	s := r.get(column)
	d, ok := parseSeconds(s)
	if !ok {
		r.bad(column, s, "seconds from 0 to "+strconv.Itoa(int(maxTime/time.Second))+" with at most 9 decimals")
		return 0
	}
	return d
}

// work returns an exact time, which must be above 0.
func (r *row) work(column string) time.Duration {
	d := r.seconds(column)
	if d == 0 {
		r.bad(column, r.get(column), "more than 0 seconds")
	}
	return d
}

// lasted returns a duration, which readSpan describes, or why the row is no job.
func (r *row) lasted(column string) (time.Duration, verdict) {
	s := r.get(column)
	if isMissing(s) {
		return 0, hasNoDuration
	}
	d, want := readSpan(s)
	switch {
	case want != "":
		r.bad(column, s, want)
	case d == 0:
		return 0, ranForNoTime
	}
	return d, isJob
}

// number returns a whole number from least to most; 12.0 counts as 12.
func (r *row) number(column string, least, most int64) int32 {
	return int32(r.scaled(column, 0, least, most))
}

// optional returns a whole number from least to most, or 0 if the value or the column is missing.
func (r *row) optional(column string, least, most int64) int32 {
	if isMissing(r.get(column)) {
		return 0
	}
	return r.number(column, least, most)
}

// milli returns a number with at most three decimals, in thousandths.
func (r *row) milli(column string, least, most int64) int64 {
	return r.scaled(column, 3, least, most)
}

func (r *row) scaled(column string, digits int, least, most int64) int64 {
	s := r.get(column)
	v, ok := parseDecimal(plain(s), digits)
	if !ok || v < least || v > most {
		unit := int64(1)
		want := "a whole number"
		if digits > 0 {
			unit, want = 1000, "a number of at most 3 decimals"
		}
		if want = fmt.Sprintf("%s from %d to %d", want, least/unit, most/unit); hasComma(s) {
			want = noComma
		}
		r.bad(column, s, want)
		return 0
	}
	return v
}

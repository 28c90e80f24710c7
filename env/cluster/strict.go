package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clustergym/clustergym/internal/names"
)

// parseStrict parses one JSON value and nothing after it. Unlike encoding/json it refuses a field given twice and text that
// is not UTF-8. Objects come back as map[string]any, arrays as []any, numbers as json.Number.
func parseStrict(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("text is not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := parseValue(dec, "", 8)
	if err == nil {
		if _, more := dec.Token(); more != io.EOF {
			err = fmt.Errorf("more text after the end, want one JSON object")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:dec.InputOffset()], []byte("\n")), err)
	}
	return v, nil
}

func parseValue(dec *json.Decoder, path string, depth int) (any, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := t.(json.Delim)
	switch {
	case !nested:
		return t, nil
	case depth == 0:
		return nil, fmt.Errorf("%s: nested too deeply", path)
	case delim == '[':
		list := []any{}
		for dec.More() {
			v, err := parseValue(dec, fmt.Sprintf("%s[%d]", path, len(list)), depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = dec.Token()
		return list, err
	}
	fields := map[string]any{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string)
		at := strings.TrimPrefix(path+"."+name, ".")
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("%s: given twice", at)
		}
		if fields[name], err = parseValue(dec, at, depth-1); err != nil {
			return nil, err
		}
	}
	_, err = dec.Token()
	return fields, err
}

// strict takes fields out of one JSON object. The first that is missing or not as wanted is kept in *err, with its path.
type strict struct {
	path   string
	fields map[string]any
	err    *error
}

// object begins an object at a path.
func object(v any, path string, err *error) *strict {
	o := &strict{path: path, err: err}
	fields, ok := v.(map[string]any)
	if !ok {
		o.bad("", v, "an object")
	}
	o.fields = fields
	return o
}

// end reports fields that nobody took.
func (o *strict) end() {
	unknown := make([]string, 0, len(o.fields))
	for name := range o.fields {
		unknown = append(unknown, name)
	}
	if len(unknown) > 0 && *o.err == nil {
		*o.err = fmt.Errorf("%s: unknown field", o.at(slices.Min(unknown)))
	}
}

func (o *strict) at(name string) string {
	if name == "" && o.path == "" {
		return "snapshot"
	}
	return strings.Trim(o.path+"."+name, ".")
}

func (o *strict) bad(name string, v any, want string) {
	if *o.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > 80 {
		text = append(text[:min(len(text), 77)], "..."...)
	}
	*o.err = fmt.Errorf("%s: %s, want %s", o.at(name), names.Escape(string(text)), want)
}

// take removes a field. One that is missing and must be there is an error.
func (o *strict) take(name string, must bool, want string) (v any, ok bool) {
	v, ok = o.fields[name]
	delete(o.fields, name)
	if !ok && must && *o.err == nil {
		*o.err = fmt.Errorf("%s: missing, want %s", o.at(name), want)
	}
	return v, ok
}

// text returns a name: printable, at most 256 bytes.
func (o *strict) text(name string, must bool) string {
	want := "at most 256 bytes of printable text"
	if must {
		want = "1 to 256 bytes of printable text"
	}
	v, ok := o.take(name, must, want)
	s, is := v.(string)
	if ok && (!is || !names.OK(s) || must && s == "") {
		o.bad(name, v, want)
	}
	return s
}

// oneOf returns the index of a word among words.
func (o *strict) oneOf(name string, must bool, words ...string) int {
	want := strings.Join(words, " or ")
	v, ok := o.take(name, must, want)
	s, _ := v.(string)
	i := slices.Index(words, s)
	if ok && i < 0 {
		o.bad(name, v, want)
	}
	return max(i, 0)
}

func (o *strict) flag(name string) bool {
	v, ok := o.take(name, false, "")
	b, is := v.(bool)
	if ok && !is {
		o.bad(name, v, "true or false")
	}
	return b
}

// list returns an array of at most most values.
func (o *strict) list(name string, must bool, most int) []any {
	want := fmt.Sprintf("a list of at most %d", most)
	v, ok := o.take(name, must, want)
	l, is := v.([]any)
	if ok && (!is || len(l) > most) {
		o.bad(name, len(l), want)
	}
	return l
}

// whole returns a whole number from least to most, or, where the field may be absent and is, otherwise.
func (o *strict) whole(name string, must bool, least, most, otherwise int64) int64 {
	want := fmt.Sprintf("a whole number from %d to %d", least, most)
	v, ok := o.take(name, must, want)
	if !ok {
		return otherwise
	}
	return o.number(name, v, want, least, most)
}

func (o *strict) number(name string, v any, want string, least, most int64) int64 {
	text, _ := v.(json.Number)
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < least || n > most {
		o.bad(name, v, want)
		return least
	}
	return n
}

// limit is a whole number, or null for Unlimited.
func (o *strict) limit(name string) int64 {
	want := fmt.Sprintf("null or a whole number from 0 to %d", int64(Unlimited)-1)
	v, ok := o.take(name, true, want)
	if ok && v == nil {
		return Unlimited
	}
	if !ok {
		return 0
	}
	return o.number(name, v, want, 0, Unlimited-1)
}

// seconds returns an exact time from 0 to most.
func (o *strict) seconds(name string, must bool, most time.Duration) time.Duration {
	want := fmt.Sprintf("seconds from 0 to %d with at most 9 decimals", most/time.Second)
	v, ok := o.take(name, must, want)
	if !ok {
		return 0
	}
	text, _ := v.(json.Number)
	d, exact := parseSeconds(string(text))
	if !exact || d > most {
		o.bad(name, v, want)
		return 0
	}
	return d
}

// parseSeconds reads decimal seconds exactly.
func parseSeconds(s string) (time.Duration, bool) {
	whole, part, _ := strings.Cut(s, ".")
	if whole == "" || len(part) > 9 {
		return 0, false
	}
	ns, err := strconv.ParseUint(whole+part+"000000000"[len(part):], 10, 63)
	return time.Duration(ns), err == nil
}

// appendSeconds writes a time so that parseSeconds gives it back.
func appendSeconds(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	if d %= time.Second; d != 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%09d", d), "0")...)
	}
	return b
}

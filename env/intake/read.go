package intake

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// File is an input.
type File struct {
	Name string // for errors
	io.Reader
}

// Result is what a cluster's tools report about it.
type Result struct {
	State *cluster.State
	Notes []Note
}

// Limits of the input, which hold while it is read. The length of the text is an argument.
const (
	mostObjects = 1 << 21 // nodes, pods and groups, or jobs
	mostEntries = 1 << 10 // of each list and map within one of them
	longestText = 1 << 16 // bytes of a text that is not a name
)

// read calls the function parse with a reader of the file's text, for the owner of the format's kinds. It returns an error for a
// text of more bytes than the parameter most or of another format than JSON, and the error of the reader. It reports bytes that
// are not UTF-8, which it replaces.
func (f *File) read(most int64, told *notes, format *strictjson.Format, owner any, parse func(r *strictjson.Reader)) error {
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name, err)
	}
	if int64(len(text)) > most {
		return fmt.Errorf("%s: more than %d bytes", f.Name, most)
	}
	if text, err = plain(text); err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	r := format.New(told.valid(f.Name, text), owner)
	parse(r)
	err = r.Err()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the text is cut off, want all that was printed", err)
	}
	if err != nil {
		return fmt.Errorf("%s: line %d: %w", f.Name, r.Line(), err)
	}
	return nil
}

// element is an element of a list: where its text is, and its path.
type element struct {
	path string
	at   strictjson.Place
}

// list reads a list, or null as an empty list.
func list(r *strictjson.Reader, take func(i int)) {
	if !r.Null() {
		r.List(mostEntries, take)
	}
}

// name reads printable text of at most names.Longest bytes, or null as "".
func name(r *strictjson.Reader) string {
	if r.Null() {
		return ""
	}
	s, ok := r.String(names.Longest)
	if !ok || !names.OK(s) {
		r.Refuse(fmt.Sprintf("at most %d bytes of printable text", names.Longest))
	}
	return s
}

// text reads text of at most longestText bytes that is not shown to anyone, or null as "".
func text(r *strictjson.Reader) string {
	if r.Null() {
		return ""
	}
	s, ok := r.String(longestText)
	if !ok {
		r.Refuse(fmt.Sprintf("a text of at most %d bytes", longestText))
	}
	return s
}

// wanted reads the texts of a map whose keys are wanted, and skips the others. Without want, none is.
func wanted(r *strictjson.Reader, want func(key string) bool) map[string]string {
	m := map[string]string{}
	r.Map(mostEntries, func(key string) {
		if want != nil && want(key) {
			m[key] = name(r)
		} else {
			r.Skip()
		}
	})
	return m
}

// moment reads a time such as 2026-11-24T08:00:00Z.
func moment(r *strictjson.Reader) time.Time {
	s := name(r)
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		r.Refuse("a time such as 2026-11-24T08:00:00Z")
	}
	return t
}

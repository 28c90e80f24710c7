package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const longest = 80 // most bytes of a value or a name in an error

// Refuse sets an error: the last requested value is not what was expected. It does nothing if there is an error already.
func (r *Reader) Refuse(want string) {
	if r.err != nil {
		return
	}
	if r.absent {
		r.err = fmt.Errorf("%s: missing, want %s", r.where(""), want)
		return
	}
	if r.broken {
		_, err := r.dec.ReadToken()
		r.syntax(err)
		return
	}
	r.err = fmt.Errorf("%s: %s, want %s", r.where(""), r.excerpt(), want)
}

// Located returns the first error after the line of its value.
func (r *Reader) Located() error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", r.Line(), r.err)
}

// Bad sets an error: a field of the last object read is not what was expected. It does nothing if there is an error already. If
// field is "", the error is about the object itself.
func (r *Reader) Bad(field, value, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s, want %s", r.where(field), printable([]byte(value), longest), want)
	}
}

// syntax stores an error of the decoder: the text is not valid JSON.
func (r *Reader) syntax(err error) {
	if r.err != nil {
		return
	}
	path := ""
	if s := new(jsontext.SyntacticError); errors.As(err, &s) {
		r.at, path, err = r.base+int(s.ByteOffset), pathOf(s.JSONPointer), s.Err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if r.err = err; path != "" {
		r.err = fmt.Errorf("%s: %w", path, err)
	}
}

// pathOf formats a pointer in the form of this package's paths.
func pathOf(p jsontext.Pointer) string {
	const most = 10 // most steps; no format is as deep
	var b strings.Builder
	n := 0
	for name := range p.Tokens() {
		if n++; n > most {
			return b.String() + "..."
		}
		if _, err := strconv.ParseUint(name, 10, 32); err == nil {
			fmt.Fprintf(&b, "[%s]", name)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(printable([]byte(name), longest))
	}
	return b.String()
}

// where returns the path of the current value, or of a field of it.
func (r *Reader) where(field string) string {
	var b strings.Builder
	for _, s := range r.path {
		if s.name == "" {
			fmt.Fprintf(&b, "[%d]", s.index)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.name)
	}
	if field != "" && b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString(field)
	if b.Len() == 0 {
		return "text"
	}
	return b.String()
}

// place returns the position at which the last requested value begins.
func (r *Reader) place() int {
	at := min(r.at, len(r.text))
	for at < len(r.text) && isDelimiter(r.text[at]) {
		at++
	}
	return at
}

func isDelimiter(c byte) bool { return bytes.IndexByte([]byte(",: \t\r\n"), c) >= 0 }

// excerpt returns the start of the last requested value, for errors.
func (r *Reader) excerpt() string {
	from := r.place()
	text := r.text[from:min(len(r.text), from+longest+1)]
	end := 0
	switch {
	case len(text) == 0:
		return "the end of the text"
	case text[0] == '"':
		for end = 1; end < len(text) && text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		end++
	case text[0] == '{' || text[0] == '[':
		if end = bytes.IndexByte(text, '\n'); end < 0 {
			end = len(text)
		}
	default:
		for end = 1; end < len(text) && bytes.IndexByte([]byte(",]} \t\r\n"), text[end]) < 0; end++ {
		}
	}
	return printable(text[:min(end, len(text))], longest)
}

// printable returns text for an error. It cuts a text of more bytes than the parameter most, and escapes characters that a
// terminal might act on.
func printable(text []byte, most int) string {
	cut := ""
	if len(text) > most {
		text, cut = text[:most-3], "..."
	}
	var b strings.Builder
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && size == 1:
			b.WriteByte('?')
		case strconv.IsPrint(c):
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "\\u%04x", c)
		}
		text = text[size:]
	}
	return b.String() + cut
}

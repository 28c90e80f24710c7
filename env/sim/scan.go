package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/clustergym/clustergym/internal/names"
)

// scanner takes one line of JSON apart, strictly and without reflection. The first thing that is not as wanted is kept in
// err, with the field it belongs to; everything after it reads as nothing.
type scanner struct {
	line   []byte
	at     int
	err    error
	path   string // of the object in hand, with a point at its end
	intern map[string]string
}

func (s *scanner) reset(line []byte) { *s = scanner{line: line, intern: s.intern} }

func (s *scanner) bad(field, value, want string) {
	if s.err != nil {
		return
	}
	if len(value) > 80 {
		value = value[:77] + "..."
	}
	if value == "" {
		value = "nothing"
	}
	s.err = fmt.Errorf("%s%s: %s, want %s", s.path, field, names.Escape(value), want)
}

// rest is what a value that was not understood looks like.
func (s *scanner) rest() string {
	if s.at >= len(s.line) {
		return "the end of the line"
	}
	end := min(len(s.line), s.at+1)
	for end < len(s.line) && end < s.at+90 && bytes.IndexByte([]byte(",]} "), s.line[end]) < 0 {
		end++
	}
	return string(bytes.ToValidUTF8(s.line[s.at:end], []byte("?")))
}

// peek returns the next byte that is not a space, 0 at the end and after an error.
func (s *scanner) peek() byte {
	for s.err == nil && s.at < len(s.line) {
		if c := s.line[s.at]; c != ' ' && c != '\t' {
			return c
		}
		s.at++
	}
	return 0
}

// expect steps over one byte.
func (s *scanner) expect(c byte, field string) bool {
	if s.peek() != c {
		s.bad(field, s.rest(), fmt.Sprintf("%q", c))
		return false
	}
	s.at++
	return true
}

// more reports whether the object or list in hand has an n-th member; if not, it steps over its end.
func (s *scanner) more(end byte, n int, field string) bool {
	switch c := s.peek(); {
	case c == end:
		s.at++
		return false
	case n > 0:
		return s.expect(',', field) && s.err == nil
	}
	return s.err == nil && s.at < len(s.line)
}

// key returns the index of the next field's name in names and steps over its colon; it may appear once in an object, which
// *seen remembers.
func (s *scanner) key(names []string, seen *uint32) int {
	name := s.text("field name")
	for i, n := range names {
		if n != name {
			continue
		}
		if *seen&(1<<i) != 0 {
			s.bad(name, "given twice", "it once")
		}
		*seen |= 1 << i
		s.expect(':', name)
		return i
	}
	s.bad(name, "unknown field", "one of this format's")
	return -1
}

// number returns a whole number from least to most.
func (s *scanner) number(field string, least, most int64) int64 {
	s.peek()
	start, i := s.at, s.at
	if i < len(s.line) && s.line[i] == '-' {
		i++
	}
	digits, n := i, uint64(0)
	for i < len(s.line) && i-digits < 19 && '0' <= s.line[i] && s.line[i] <= '9' {
		n = n*10 + uint64(s.line[i]-'0')
		i++
	}
	v := int64(n)
	if digits > start {
		v = -v
	}
	more := i < len(s.line) && bytes.IndexByte([]byte(",]} \t"), s.line[i]) < 0
	if s.err != nil || i == digits || more || s.line[digits] == '0' && i-digits > 1 || n > 1<<63-1 || v < least || v > most {
		s.bad(field, s.rest(), fmt.Sprintf("a whole number from %d to %d", least, most))
		return least
	}
	s.at = i
	return v
}

// flag returns true or false.
func (s *scanner) flag(field string) bool {
	s.peek()
	switch {
	case s.word("true"):
		return true
	case s.word("false"):
		return false
	}
	s.bad(field, s.rest(), "true or false")
	return false
}

// null steps over a null, if one comes next.
func (s *scanner) null() bool {
	s.peek()
	return s.word("null")
}

func (s *scanner) word(w string) bool {
	if s.err != nil || !bytes.HasPrefix(s.line[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

// text returns a string, the same copy for equal ones while they are few.
func (s *scanner) text(field string) string {
	if !s.expect('"', field) {
		return ""
	}
	from, plain := s.at, true
	for s.at < len(s.line) && s.line[s.at] != '"' {
		if c := s.line[s.at]; c == '\\' {
			s.at++
			plain = false
		} else if c < ' ' || c > '~' {
			plain = false
		}
		s.at++
	}
	if s.at >= len(s.line) {
		s.at = from - 1
		s.bad(field, s.rest(), "text that ends with a quote")
		return ""
	}
	s.at++
	if plain {
		return s.share(s.line[from : s.at-1])
	}
	var v string
	quoted := s.line[from-1 : s.at]
	if err := json.Unmarshal(quoted, &v); err != nil || !utf8.Valid(quoted) || !names.Clean(v) {
		s.bad(field, fmt.Sprintf("%q", quoted), "printable text in UTF-8")
		return ""
	}
	return v
}

func (s *scanner) share(b []byte) string {
	const few = 1 << 12
	if kept, ok := s.intern[string(b)]; ok {
		return kept
	}
	v := string(b)
	if len(s.intern) < few {
		s.intern[v] = v
	}
	return v
}

// end expects nothing but spaces.
func (s *scanner) end() {
	if s.peek() != 0 || s.err == nil && s.at < len(s.line) {
		s.bad("", s.rest(), "the end of the line")
	}
}

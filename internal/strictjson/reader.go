package strictjson

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Reader takes a text apart, value by value. The first thing that is not as wanted is kept as its error; from then on every
// value reads as nothing and every object and list as empty, so that callers need not check after each of them. It is not safe
// for concurrent use.
type Reader struct {
	dec    *jsontext.Decoder
	opts   []jsontext.Options
	buf    bytes.Buffer
	text   []byte // all of it
	base   int    // where the decoder began in the text
	at     int    // where the value that was asked for last stands, delimiters before it included
	path   []step
	absent bool // the value that is asked for is that of a field that is missing
	broken bool // where a value was asked for last there is none, as the text is no JSON
	err    error
	known  map[string]string
}

// step leads from an object or a list to the value in hand: the name of a field, or an index where there is no name.
type step struct {
	name  string
	index int
}

// New returns a reader of a text that nobody changes while it is read.
func New(text []byte) *Reader {
	// The names of an object's fields are few and known here: a set of those that were seen finds the ones that stand twice.
	opts := []jsontext.Options{jsontext.AllowDuplicateNames(true)}
	r := &Reader{dec: new(jsontext.Decoder), opts: opts, known: map[string]string{}}
	r.Reset(text)
	return r
}

// Reset makes the reader begin another text. It keeps the strings that it shares.
func (r *Reader) Reset(text []byte) {
	r.text, r.path, r.err = text, r.path[:0], nil
	r.start(0, len(text))
}

func (r *Reader) start(from, to int) {
	r.base, r.at, r.broken = from, from, false
	r.buf = *bytes.NewBuffer(r.text[from:to:to])
	r.dec.Reset(&r.buf, r.opts...)
}

// Err returns the first error. It has the path of the value, the value, cut if it is long, and what was expected.
func (r *Reader) Err() error { return r.err }

// Line returns the line of the value that was asked for last, from 1. It counts them, so ask only after an error.
func (r *Reader) Line() int { return 1 + bytes.Count(r.text[:r.place()], []byte("\n")) }

// Fail stops reading for a reason of the caller's, unless there is an error already.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Object reads an object. It calls take with the place in names of each field that it has; take reads the value. Names are at
// most 32. Fields whose bits are set in need must be there: for one that is not, take is called too, and whatever it asks for
// is refused. It returns the fields that the object has.
func (r *Reader) Object(names []string, need uint32, take func(field int)) (seen uint32) {
	if !r.open('{') {
		r.Refuse("an object")
		return 0
	}
	depth := len(r.path)
	r.path = append(r.path, step{})
	for r.more('}') {
		i := r.key(names, seen)
		if i < 0 {
			return seen
		}
		seen |= 1 << i
		r.path[depth].name = names[i]
		take(i)
	}
	if missing := need &^ seen; missing != 0 && r.err == nil {
		i := bits.TrailingZeros32(missing)
		r.path[depth].name, r.absent = names[i], true
		take(i)
		r.Refuse("this field")
		r.absent = false
	}
	r.path = r.path[:depth]
	return seen
}

// List reads a list. It calls take with the index of each element, from 0; take reads the element. The element after most of
// them is refused. It returns how many there are.
func (r *Reader) List(most int, take func(i int)) (n int) {
	if !r.open('[') {
		r.refuseList(most)
		return 0
	}
	depth := len(r.path)
	r.path = append(r.path, step{})
	for ; r.more(']'); n++ {
		r.path[depth].index = n
		if n == most {
			r.refuseList(most)
			break
		}
		take(n)
	}
	r.path = r.path[:depth]
	return n
}

// Bits returns the set of some names, as Object takes and returns it.
func Bits(names []string, some ...string) (set uint32) {
	for _, name := range some {
		set |= 1 << slices.Index(names, name)
	}
	return set
}

func (r *Reader) refuseList(most int) {
	if r.err == nil {
		r.Refuse(fmt.Sprintf("a list of at most %d", most))
	}
}

// Place is where a value stands in the text.
type Place struct {
	from, to int
	Elements int // of a list
}

// Skip steps over a value, whatever it is, as long as it is JSON, and returns its place.
func (r *Reader) Skip() (p Place) {
	kind := r.peek()
	p.from = r.at
	if kind != '[' {
		r.skip()
	} else if r.open('[') {
		for ; r.more(']'); p.Elements++ {
			r.skip()
		}
	}
	p.to = int(r.dec.InputOffset()) + r.base
	return p
}

func (r *Reader) skip() {
	if r.err != nil || r.absent {
		return
	}
	if err := r.dec.SkipValue(); err != nil {
		r.syntax(err)
	}
}

// Return goes back to a place that was skipped: the value there is read next, as that of a field of the text's outermost object.
// The rest of the text after it is not read again.
func (r *Reader) Return(field string, p Place) {
	if r.err != nil {
		return
	}
	for p.from < p.to && isDelimiter(r.text[p.from]) {
		p.from++
	}
	r.path = append(r.path[:0], step{name: field})
	r.start(p.from, p.to)
}

// End expects nothing but spaces.
func (r *Reader) End() {
	r.peek()
	if r.err != nil {
		return
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		r.err = fmt.Errorf("more text after the end: %s, want one JSON value", r.excerpt())
	}
}

// peek returns the kind of the next value, 0 if there is none.
func (r *Reader) peek() jsontext.Kind {
	if r.err != nil || r.absent {
		return 0
	}
	r.at = int(r.dec.InputOffset()) + r.base
	kind := r.dec.PeekKind()
	r.broken = kind == 0
	return kind
}

// open steps into an object or a list, if one comes next.
func (r *Reader) open(kind jsontext.Kind) bool {
	if r.peek() != kind {
		return false
	}
	if _, err := r.dec.ReadToken(); err != nil {
		r.syntax(err)
	}
	return r.err == nil
}

// more reports whether the object or list in hand goes on; if not, it steps over its end.
func (r *Reader) more(end jsontext.Kind) bool {
	switch r.peek() {
	case end, 0:
		if r.err == nil {
			if _, err := r.dec.ReadToken(); err != nil {
				r.syntax(err)
			}
		}
		return false
	}
	return r.err == nil
}

// key reads the name of a field that was not seen and returns its place in names, -1 with an error.
func (r *Reader) key(names []string, seen uint32) int {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		r.syntax(err)
		return -1
	}
	name := quoted[1 : len(quoted)-1]
	i := index(names, name, bits.Len32(seen))
	if i < 0 && bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, quoted) // it was read, so it is a string
		i = index(names, name, 0)
	}
	switch {
	case i < 0:
		r.path = r.path[:len(r.path)-1]
		r.err = fmt.Errorf("%s: unknown field, want one of this format's", r.where(cmp.Or(printable(name, longest), `""`)))
	case seen>>i&1 != 0:
		r.path[len(r.path)-1].name = names[i]
		r.err = fmt.Errorf("%s: given twice, want it once", r.where(""))
		return -1
	}
	return i
}

// index finds a name. It looks at first where most writers have it: after those that were there before.
func index(names []string, name []byte, first int) int {
	for i := first; i < len(names); i++ {
		if names[i] == string(name) {
			return i
		}
	}
	for i := range min(first, len(names)) {
		if names[i] == string(name) {
			return i
		}
	}
	return -1
}

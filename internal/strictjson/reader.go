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

// Reader reads the values of a text one after the other. It stores the first error; after that every value reads as zero, and
// every object and list as empty, so that callers need not check each call. It is not safe for concurrent use.
type Reader struct {
	Owner any // what the kinds of a Format may depend on

	format *Format
	dec    *jsontext.Decoder
	opts   []jsontext.Options
	buf    bytes.Buffer
	text   []byte // the whole text
	base   int    // position in the text at which the decoder began
	at     int    // position of the last requested value, including delimiters before it
	path   []step
	absent bool // the requested value belongs to a missing field
	broken bool // there is no valid JSON at the last requested value
	err    error
	known  map[string]string
}

// step leads from an object or a list to the current value: the name of a field, or an index if name is "".
type step struct {
	name  string
	index int
}

// New returns a reader of a text. Nobody may change the text while it is read.
func New(text []byte) *Reader {
	// Object itself finds repeated fields, with a set of the few names that an object may have.
	opts := []jsontext.Options{jsontext.AllowDuplicateNames(true)}
	r := &Reader{dec: new(jsontext.Decoder), opts: opts, known: map[string]string{}}
	r.Reset(text)
	return r
}

// Reset makes the reader read another text. The reader keeps its table of shared strings.
func (r *Reader) Reset(text []byte) {
	r.text, r.path, r.err = text, r.path[:0], nil
	r.start(0, len(text))
}

func (r *Reader) start(from, to int) {
	r.base, r.at, r.broken = from, from, false
	r.buf = *bytes.NewBuffer(r.text[from:to:to])
	r.dec.Reset(&r.buf, r.opts...)
}

// Err returns the first error. It contains the path of the value, the value (cut if long), and what was expected.
func (r *Reader) Err() error { return r.err }

// Line returns the line of the last requested value, from 1. It counts the lines on each call, so call it only after an error.
func (r *Reader) Line() int { return 1 + bytes.Count(r.text[:r.place()], []byte("\n")) }

// Fail sets an error of the caller and so stops the reading. It does nothing if there is an error already.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Object reads an object. For each field in the object it calls the function take with the field's index in names, and take must
// read the value. There may be at most 32 names. The bits of the parameter need mark the required fields. If a required field is
// missing, Object calls take for it too, and any read there sets an error. Object returns the set of fields that the object has.
func (r *Reader) Object(names []string, need uint32, take func(field int)) (seen uint32) {
	return r.object(names, need, false, take)
}

// Fields is like Object, but skips the fields that are not in names. It is for formats of which a caller reads only a part.
func (r *Reader) Fields(names []string, need uint32, take func(field int)) (seen uint32) {
	return r.object(names, need, true, take)
}

func (r *Reader) object(names []string, need uint32, lenient bool, take func(field int)) (seen uint32) {
	if !r.open('{') {
		r.Refuse("an object")
		return 0
	}
	depth := len(r.path)
	r.path = append(r.path, step{})
	for r.more('}') {
		i := r.key(names, seen, lenient)
		if i < 0 && lenient && r.err == nil {
			r.skip()
			continue
		}
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

// Map reads an object with any names. For each field it calls the function take with the field's name, and take must read the
// value. An object of more fields than the parameter most is an error; a field that occurs twice is not.
func (r *Reader) Map(most int, take func(name string)) {
	want := func() { r.Refuse(fmt.Sprintf("an object of at most %d fields", most)) }
	if !r.open('{') {
		want()
		return
	}
	depth := len(r.path)
	r.path = append(r.path, step{})
	for n := 0; r.more('}'); n++ {
		if n == most {
			r.path = r.path[:depth]
			want()
			return
		}
		quoted, err := r.dec.ReadValue()
		if err != nil {
			r.syntax(err)
			break
		}
		name, _ := jsontext.AppendUnquote(nil, quoted) // no error: it was read as a string
		r.path[depth].name = cmp.Or(printable(name, longest), `""`)
		take(r.share(name))
	}
	r.path = r.path[:depth]
}

// List reads a list. It calls the function take with the index of each element, from 0, and take must read the element. A list of
// more elements than the parameter most is an error. List returns the number of elements.
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

// Bits returns the set of some names as bits, in the form that Object takes and returns.
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

// Place is the position of a value in the text.
type Place struct {
	from, to int
	Elements int // number of elements, if it is a list
}

// Skip skips any JSON value and returns its place.
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

// Values skips all values up to the end of the text, of which there may be several one after the other, and returns their places.
// More of them than the parameter most are an error.
func (r *Reader) Values(most int) (all []Place) {
	for {
		r.peek()
		if rest := r.text[min(r.at, len(r.text)):]; r.err != nil || len(all) > 0 && len(bytes.TrimSpace(rest)) == 0 {
			return all
		}
		if len(all) == most {
			r.err = fmt.Errorf("more text after the end: %s, want at most %d JSON values", r.excerpt(), most)
			return all
		}
		all = append(all, r.Skip())
	}
}

// IsList reports whether the next value is a list.
func (r *Reader) IsList() bool { return r.peek() == '[' }

// Return goes back to a skipped place: the next read returns the value there, as the given field of the outermost object, or as a
// whole text if field is "". The reader does not continue with the text after it.
func (r *Reader) Return(field string, p Place) {
	if r.err != nil {
		return
	}
	for p.from < p.to && isDelimiter(r.text[p.from]) {
		p.from++
	}
	if r.path = r.path[:0]; field != "" {
		r.path = append(r.path, step{name: field})
	}
	r.start(p.from, p.to)
}

// At returns the text at a skipped place, which is part of the reader's text, and the number of the line on which it begins.
func (r *Reader) At(p Place) (text []byte, line int) {
	for p.from < p.to && isDelimiter(r.text[p.from]) {
		p.from++
	}
	return r.text[p.from:p.to], 1 + bytes.Count(r.text[:p.from], []byte{'\n'})
}

// End sets an error unless only white space follows.
func (r *Reader) End() {
	r.peek()
	if r.err != nil {
		return
	}
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		r.err = fmt.Errorf("more text after the end: %s, want one JSON value", r.excerpt())
	}
}

// peek returns the kind of the next value, or 0 if there is none.
func (r *Reader) peek() jsontext.Kind {
	if r.err != nil || r.absent {
		return 0
	}
	r.at = int(r.dec.InputOffset()) + r.base
	kind := r.dec.PeekKind()
	r.broken = kind == 0
	return kind
}

// open enters an object or a list, and reports whether one comes next.
func (r *Reader) open(kind jsontext.Kind) bool {
	if r.peek() != kind {
		return false
	}
	if _, err := r.dec.ReadToken(); err != nil {
		r.syntax(err)
	}
	return r.err == nil
}

// more reports whether the current object or list has another element; if not, it reads the end.
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

// key reads the name of a field that must be new, and returns its index in names. It returns -1 after an error, and for a name
// that is not in names, which is an error unless the object may have other fields.
func (r *Reader) key(names []string, seen uint32, lenient bool) int {
	quoted, err := r.dec.ReadValue()
	if err != nil {
		r.syntax(err)
		return -1
	}
	name := quoted[1 : len(quoted)-1]
	i := index(names, name, bits.Len32(seen))
	if i < 0 && bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, quoted) // no error: it was read as a string
		i = index(names, name, 0)
	}
	switch {
	case i < 0 && lenient:
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

// index returns the index of a name, or -1. It searches from first on and then before it, because most writers keep the order of
// names.
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

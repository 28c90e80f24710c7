package strictjson

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Format is a format whose objects are structs. The tag of a field with the format's key says how the field stands in the text:
//
//	Name    string  `log:"name,need,text"`                     // text is one of the format's Kinds
//	Workers int32   `log:"workers,1.."`                        // a whole number, here from 1 to the largest of the type
//	Noise   float64 `log:"noise,0..maxNoise"`                  // maxNoise is one of the format's Limits
//	GPUs    []int32 `log:"gpus,need,0..maxGPUs,most=maxGPUs"`  // the range of each element, and the most elements
//
// "need" requires the field; "say", "line" and "lines" are for Append. Fields without such a tag are not part of the format. The
// fields of an embedded struct without one, and those of a struct with the tag ",inline", are fields of the object. Numbers from
// 0 on, flags, structs, pointers to structs and lists need neither a range nor a kind; an array has exactly its number of
// elements. A format of another program is Partial: it may have more fields than are read, and null stands for one that is
// missing, unless it is needed.
//
// The decoder of structs in the JSON library checks neither ranges nor lengths, and for a line of an event log takes four times
// as long as this package.
type Format struct {
	Key     string // of the tags
	Kinds   map[string]Kind
	Limits  map[string]int64 // names of numbers in ranges
	Most    string           // elements of lists whose tag does not say it
	Partial bool

	plans sync.Map // by type
}

// Kind reads, and may write, the values of one type in its own way.
type Kind struct {
	of    reflect.Type
	read  func(r *Reader, to any)         // a pointer
	write func(b []byte, from any) []byte // a pointer; nil: as other values of the type
}

// As returns the kind that a function reads. It is written as other values of its type.
func As[T any](read func(r *Reader, to *T)) Kind { return Both(read, nil) }

// Both returns the kind that one function reads and another one writes.
func Both[T any](read func(r *Reader, to *T), write func(b []byte, from *T) []byte) Kind {
	k := Kind{of: reflect.TypeFor[T](), read: func(r *Reader, to any) { read(r, to.(*T)) }}
	if write != nil {
		k.write = func(b []byte, from any) []byte { return write(b, from.(*T)) }
	}
	return k
}

// Texts returns the kind of texts of at most most bytes for which ok is true.
func Texts(most int, ok func(string) bool, want string) Kind {
	return As(func(r *Reader, to *string) {
		s, short := r.String(most)
		if !short || !ok(s) {
			r.Refuse(want)
		}
		*to = s
	})
}

// Later is the kind of values that are skipped, to Return to their places.
var Later = As(func(r *Reader, to *Place) { *to = r.Skip() })

// Words returns the kind of values that have names: the first stands for 0, the next for 1, and so on.
func Words[T ~uint8 | ~int](words ...string) Kind {
	return Both(func(r *Reader, to *T) { *to = T(r.OneOf(words...)) }, func(b []byte, from *T) []byte {
		return AppendText(b, words[*from])
	})
}

// Checked is a struct with conditions between its fields. After its object was read without an error, Check refuses it with
// Reader.Bad if they do not hold. The bits of seen are the fields that were there; see Names.
type Checked interface{ Check(r *Reader, seen uint32) }

// Preset is a struct in a list whose fields have defaults, which it sets.
type Preset interface{ Preset() }

// New returns a reader of a text in the format. The owner is for the format's kinds; see Reader.Owner.
func (f *Format) New(text []byte, owner any) *Reader {
	r := New(text)
	r.format, r.Owner = f, owner
	return r
}

// Parse reads a whole text into the struct that v points to. Its error begins with the line.
func (f *Format) Parse(text []byte, owner, v any) error {
	r := f.New(text, owner)
	r.Struct(v)
	r.End()
	return r.Located()
}

// Struct reads the next value into the struct that v points to, and returns the fields that it has, as bits; see Names.
func (r *Reader) Struct(v any) (seen uint32) {
	to := reflect.ValueOf(v).Elem()
	return r.format.planOf(to.Type()).read(r, to)
}

// Fields reads single fields of a type of structs, for objects that a caller reads itself.
type Fields struct{ plan *plan }

// Fields returns the fields of the type of v.
func (f *Format) Fields(v any) Fields { return Fields{f.planOf(reflect.TypeOf(v))} }

// Read reads the field with the given index in Names, of the struct that v points to.
func (f Fields) Read(r *Reader, i int, v any) { f.plan.field(r, i, reflect.ValueOf(v).Elem()) }

// Names returns the names of the fields that a struct has in the format with that key, by bit.
func Names(key string, v any) (names []string) {
	each(key, reflect.TypeOf(v), nil, func(name string, _ []string, _ reflect.Type, _ []int) { names = append(names, name) })
	return names
}

// plan is how a struct is read.
type plan struct {
	names           []string
	need            uint32
	fields          []planned
	partial         bool
	checked, preset bool
}

type planned struct {
	index        []int
	read         func(r *Reader, to reflect.Value)
	write        func() writer
	always, line bool // see Append
}

func (p *plan) read(r *Reader, to reflect.Value) uint32 {
	if p.partial && r.Null() {
		return 0
	}
	void := uint32(0) // fields with null
	seen := r.object(p.names, p.need, p.partial, func(i int) {
		if p.partial && p.need>>i&1 == 0 && r.Null() {
			void |= 1 << i
			return
		}
		p.field(r, i, to)
	})
	seen &^= void
	if p.checked && r.err == nil {
		to.Addr().Interface().(Checked).Check(r, seen)
	}
	return seen
}

func (p *plan) field(r *Reader, i int, to reflect.Value) {
	f := &p.fields[i]
	v := to.Field(f.index[0])
	for _, k := range f.index[1:] {
		v = v.Field(k)
	}
	f.read(r, v)
}

func (f *Format) planOf(t reflect.Type) *plan {
	if p, ok := f.plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{
		partial: f.Partial, checked: reflect.PointerTo(t).Implements(reflect.TypeFor[Checked]()),
		preset: reflect.PointerTo(t).Implements(reflect.TypeFor[Preset]()),
	}
	each(f.Key, t, nil, func(name string, words []string, of reflect.Type, index []int) {
		if slices.Contains(words, "need") {
			p.need |= 1 << len(p.names)
		}
		p.names = append(p.names, name)
		p.fields = append(p.fields, planned{
			index, f.reader(of, words), sync.OnceValue(func() writer { return f.writer(of, words) }),
			slices.Contains(words, "need") || slices.Contains(words, "say"), slices.Contains(words, "line"),
		})
	})
	if len(p.names) == 0 || len(p.names) > 32 {
		panic(fmt.Sprintf("strictjson: %v has %d fields with tags %s, want 1 to 32", t, len(p.names), f.Key))
	}
	f.plans.Store(t, p)
	return p
}

// each calls the function take for each field of a struct that a format has, with its name, the other words of its tag, its type
// and its index. The struct begins at the given index of another.
func each(key string, t reflect.Type, at []int, take func(name string, words []string, of reflect.Type, index []int)) {
	for i := range t.NumField() {
		field := t.Field(i)
		index := append(slices.Clone(at), i)
		tag, ok := field.Tag.Lookup(key)
		switch {
		case tag == ",inline" || !ok && field.Anonymous && field.Type.Kind() == reflect.Struct:
			each(key, field.Type, index, take)
		case ok:
			words := strings.Split(tag, ",")
			for name := range strings.SplitSeq(words[0], "|") {
				take(name, words[1:], field.Type, index)
			}
		}
	}
}

// reader returns the function that reads a field of a type, as the words of its tag say.
func (f *Format) reader(t reflect.Type, words []string) func(r *Reader, to reflect.Value) {
	most, low, high := f.Most, "", ""
	for _, word := range words {
		if kind, ok := f.Kinds[word]; ok && kind.of == t {
			return func(r *Reader, to reflect.Value) { kind.read(r, to.Addr().Interface()) }
		}
		if limit, ok := strings.CutPrefix(word, "most="); ok {
			most = limit
		}
		if from, to, ok := strings.Cut(word, ".."); ok {
			low, high = from, to
		}
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(r *Reader, to reflect.Value) { to.SetBool(r.Flag()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		least, most := f.whole(low, 0), f.whole(high, math.MaxInt64>>(64-t.Bits()))
		return func(r *Reader, to reflect.Value) { to.SetInt(r.Number(least, most)) }
	case reflect.Uint64:
		return func(r *Reader, to reflect.Value) { to.SetUint(r.Unsigned()) }
	case reflect.Float32:
		return func(r *Reader, to reflect.Value) { to.SetFloat(r.Float32()) }
	case reflect.Float64:
		if low == "" && high == "" {
			return func(r *Reader, to reflect.Value) { to.SetFloat(r.Positive()) }
		}
		least, most := f.float(low, 0), f.float(high, math.MaxFloat64)
		return func(r *Reader, to reflect.Value) { to.SetFloat(r.Float(least, most)) }
	case reflect.Slice:
		return f.list(t, f.reader(t.Elem(), words), int(f.whole(most, 0)))
	case reflect.Array:
		element := f.reader(t.Elem(), words)
		return func(r *Reader, to reflect.Value) {
			if n := r.List(t.Len(), func(i int) { element(r, to.Index(i)) }); n < t.Len() {
				r.Bad("", fmt.Sprintf("a list of %d", n), strconv.Itoa(t.Len()))
			}
		}
	case reflect.Pointer:
		read := f.reader(t.Elem(), words)
		return func(r *Reader, to reflect.Value) {
			to.Set(reflect.New(t.Elem()))
			read(r, to.Elem())
		}
	case reflect.Struct:
		p := sync.OnceValue(func() *plan { return f.planOf(t) }) // not at once: a struct may contain its own type
		return func(r *Reader, to reflect.Value) { p().read(r, to) }
	}
	panic(fmt.Sprintf("strictjson: no way to read a %v as %s:%q", t, f.Key, words))
}

// list returns the function that reads a list.
func (f *Format) list(t reflect.Type, read func(r *Reader, to reflect.Value), most int) func(r *Reader, to reflect.Value) {
	if most == 0 {
		panic(fmt.Sprintf("strictjson: a list of %v of %s without its most elements", t.Elem(), f.Key))
	}
	preset := reflect.PointerTo(t.Elem()).Implements(reflect.TypeFor[Preset]())
	return func(r *Reader, to reflect.Value) {
		r.List(most, func(i int) {
			if f.Partial && r.Null() {
				return
			}
			n := to.Len()
			if n == to.Cap() {
				to.Grow(1)
			}
			to.SetLen(n + 1)
			last := to.Index(n)
			last.SetZero()
			if preset {
				last.Addr().Interface().(Preset).Preset()
			}
			read(r, last)
		})
	}
}

// whole returns the whole number that a bound of a range names, or otherwise if it is "".
func (f *Format) whole(bound string, otherwise int64) int64 {
	if bound == "" {
		return otherwise
	}
	if n, ok := f.Limits[strings.TrimPrefix(bound, "-")]; ok {
		if bound[0] == '-' {
			return -n
		}
		return n
	}
	n, err := strconv.ParseInt(bound, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("strictjson: %s is neither a number nor one of the limits of %s", bound, f.Key))
	}
	return n
}

// float is whole for numbers with a fraction.
func (f *Format) float(bound string, otherwise float64) float64 {
	if x, err := strconv.ParseFloat(bound, 64); err == nil {
		return x
	}
	if bound == "" {
		return otherwise
	}
	return float64(f.whole(bound, 0))
}

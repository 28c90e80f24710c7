package strictjson

import (
	"fmt"
	"reflect"
	"strconv"
)

// Append appends the struct that v points to as an object of the format, from which Struct reads an equal one. Fields are in the
// order of the struct. A field that is zero or empty is left out unless its tag says "need" or "say". Other words of a tag are
// for people who read the text: with "line" a field begins on a line of its own, and with "lines" each element of its list does.
func (f *Format) Append(b []byte, v any) []byte {
	of := reflect.ValueOf(v).Elem()
	return f.planOf(of.Type()).append(b, of)
}

// writer appends a value.
type writer func(b []byte, v reflect.Value) []byte

func (p *plan) append(b []byte, v reflect.Value) []byte {
	begin := byte('{')
	for i := range p.fields {
		f := &p.fields[i]
		of := v.FieldByIndex(f.index)
		if !f.always && (of.IsZero() || of.Kind() == reflect.Slice && of.Len() == 0) {
			continue
		}
		b, begin = append(b, begin), ','
		if f.line {
			b = append(b, '\n')
		}
		b = f.write()(append(AppendText(b, p.names[i]), ':'), of)
	}
	if begin == '{' {
		b = append(b, begin)
	}
	return append(b, '}')
}

// writer returns the function that writes a field of a type, as the words of its tag say.
func (f *Format) writer(t reflect.Type, words []string) writer {
	line := false
	for _, word := range words {
		if kind, ok := f.Kinds[word]; ok && kind.of == t && kind.write != nil {
			return func(b []byte, v reflect.Value) []byte { return kind.write(b, v.Addr().Interface()) }
		}
		line = line || word == "lines"
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Uint64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendUint(b, v.Uint(), 10) }
	case reflect.Float32, reflect.Float64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendFloat(b, v.Float(), 'g', -1, t.Bits()) }
	case reflect.String:
		return func(b []byte, v reflect.Value) []byte { return AppendText(b, v.String()) }
	case reflect.Slice, reflect.Array:
		element := f.writer(t.Elem(), words)
		return func(b []byte, v reflect.Value) []byte {
			b = append(b, '[')
			for i := range v.Len() {
				if i > 0 {
					b = append(b, ',')
				}
				if line {
					b = append(b, '\n')
				}
				b = element(b, v.Index(i))
			}
			return append(b, ']')
		}
	case reflect.Pointer:
		to := f.writer(t.Elem(), words)
		return func(b []byte, v reflect.Value) []byte { return to(b, v.Elem()) }
	case reflect.Struct:
		return func(b []byte, v reflect.Value) []byte { return f.planOf(t).append(b, v) }
	}
	panic(fmt.Sprintf("strictjson: no way to write a %v as %s:%q", t, f.Key, words))
}

package config

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// reader checks the layers one after the other and collects values and errors.
type reader struct {
	schema *schema
	name   string // of the layer that is being read
	found  map[string]found
	errs   []error
}

// found is the value of one key in the highest layer read so far.
type found struct {
	value  any
	source Source
	where  string
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", r.at(n), fmt.Errorf(format, args...)))
}

// at returns the place of a node: file:line:column, or the name alone for text without lines.
func (r *reader) at(n *yaml.Node) string {
	if n == nil || n.Line == 0 {
		return r.name
	}
	return fmt.Sprintf("%s:%d:%d", r.name, n.Line, n.Column)
}

// document reads the file layer.
func (r *reader) document(in io.Reader, name string) {
	r.name = name
	dec := yaml.NewDecoder(in)
	var doc, next yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return
	}
	if err != nil {
		r.fail(nil, "%w", err)
		return
	}
	if err := dec.Decode(&next); !errors.Is(err, io.EOF) {
		r.fail(nil, "more than one YAML document, want one")
		return
	}
	if len(doc.Content) == 1 {
		r.section(doc.Content[0], r.schema.root, "")
	}
}

// section reads a mapping whose keys are settings or further sections.
func (r *reader) section(n *yaml.Node, t reflect.Type, prefix string) {
	r.mapping(n, t, prefix, func(f field, v *yaml.Node) {
		key := prefix + f.name
		if f.typ.Kind() == reflect.Struct {
			r.section(v, f.typ, key+".")
			return
		}
		if value, ok := r.value(v, f.typ, key); ok {
			r.found[key] = found{value.Interface(), fromFile, r.at(v)}
		}
	})
}

// mapping checks the keys of n against the fields of t, and calls visit for each valid key. A section without a value counts as
// empty.
func (r *reader) mapping(n *yaml.Node, t reflect.Type, prefix string, visit func(field, *yaml.Node)) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fail(n, "%swant a section of keys, got %s", label(prefix), show(n))
		return
	}
	fields := fieldsOf(t)
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" {
			r.fail(k, "%swant a plain key, got %s", label(prefix), show(k))
			continue
		}
		if first, ok := seen[strings.ToLower(k.Value)]; ok {
			r.fail(k, "key %q stands twice, or differs only by case: see %q in line %d", prefix+k.Value, first.Value, first.Line)
			continue
		}
		seen[strings.ToLower(k.Value)] = k
		known := false
		for _, f := range fields {
			if f.name == k.Value {
				known = true
				visit(f, v)
			}
		}
		if !known {
			r.fail(k, "unknown key %q%s", prefix+k.Value, r.hint(prefix, k.Value, names))
		}
	}
}

// hint suggests a key of the same section with a similar spelling, or a key of the same name in another section.
func (r *reader) hint(prefix, name string, siblings []string) string {
	if instead := r.schema.gone[prefix+name]; instead != "" {
		return "; " + instead
	}
	if _, ok := r.schema.byKey[name]; ok && strings.Contains(name, ".") {
		return "; a file nests sections instead of dotting them"
	}
	if near, ok := Nearest(name, siblings); ok {
		return fmt.Sprintf("; did you mean %q?", prefix+near)
	}
	for _, key := range r.schema.keys() {
		if strings.HasSuffix("."+key, "."+name) {
			return fmt.Sprintf("; did you mean %q?", key)
		}
	}
	return ""
}

// value reads one setting of type t, or one element of a list.
func (r *reader) value(n *yaml.Node, t reflect.Type, key string) (reflect.Value, bool) {
	v := reflect.New(t).Elem()
	before := len(r.errs)
	switch {
	case n.Kind == yaml.AliasNode:
		r.fail(n, "%s: aliases are not supported; write the value out", key)
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		v.Set(reflect.MakeSlice(t, len(n.Content), len(n.Content)))
		for i, item := range n.Content {
			if part, ok := r.value(item, t.Elem(), fmt.Sprintf("%s[%d]", key, i)); ok {
				v.Index(i).Set(part)
			}
		}
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		r.mapping(n, t, key+".", func(f field, item *yaml.Node) {
			if part, ok := r.value(item, f.typ, key+"."+f.name); ok {
				v.Field(f.index).Set(part)
			}
		})
	case n.Kind != yaml.ScalarNode || !scalar(n, v):
		r.fail(n, "%s: want %s, got %s", key, describe(t), show(n))
	}
	return v, len(r.errs) == before
}

// scalar stores n in v and reports whether it fits. It checks the tag before it decodes the value, because YAML itself would
// accept 3.7 for an integer or a number for a string.
func scalar(n *yaml.Node, v reflect.Value) bool {
	tag := n.ShortTag()
	if v.Type() == durationType {
		d, err := time.ParseDuration(n.Value)
		v.SetInt(int64(d))
		return err == nil
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Struct:
		return false
	case reflect.Bool:
		return tag == "!!bool" && n.Decode(v.Addr().Interface()) == nil
	case reflect.String:
		v.SetString(n.Value)
		return tag == "!!str" || tag == "!!timestamp"
	case reflect.Float32, reflect.Float64:
		return (tag == "!!int" || tag == "!!float") && n.Decode(v.Addr().Interface()) == nil && !math.IsNaN(v.Float())
	default:
		return tag == "!!int" && n.Decode(v.Addr().Interface()) == nil
	}
}

// text reads a value from an environment variable or a --set.
func (r *reader) text(s string, t reflect.Type, key string) (reflect.Value, bool) {
	if t.Kind() == reflect.String {
		return reflect.ValueOf(s).Convert(t), true
	}
	var doc yaml.Node
	err := yaml.Unmarshal([]byte(s), &doc)
	if err != nil || len(doc.Content) != 1 {
		r.fail(nil, "%s: want %s, got %q", key, describe(t), s)
		return reflect.Value{}, false
	}
	forget(&doc)
	return r.value(doc.Content[0], t, key)
}

// forget removes the line numbers of a node that came from a single line of text.
func forget(n *yaml.Node) {
	n.Line = 0
	for _, c := range n.Content {
		forget(c)
	}
}

// environment checks the environment variables that are set, and binds the keys to them.
func (r *reader) environment(v *viper.Viper) {
	for _, l := range r.schema.leaves {
		text := os.Getenv(l.env)
		if l.env == "" || text == "" {
			continue
		}
		r.name = l.env
		value, ok := r.text(text, l.typ, l.key)
		if !ok {
			continue
		}
		r.found[l.key] = found{value.Interface(), fromEnv, l.env}
		if err := v.BindEnv(l.key, l.env); err != nil {
			r.fail(nil, "bind %s: %w", l.key, err)
		}
	}
}

// sets reads "key=value" settings.
func (r *reader) sets(v *viper.Viper, sets []string) {
	r.name = "--set"
	for _, set := range sets {
		key, text, ok := strings.Cut(set, "=")
		key = strings.TrimSpace(key)
		l, known := r.schema.byKey[key]
		switch {
		case !ok:
			r.fail(nil, "want key=value, got %q", set)
		case !known && r.isSection(key):
			r.fail(nil, "%q is a section; set one of its keys", key)
		case !known:
			r.fail(nil, "unknown key %q%s", key, r.hint("", key, r.schema.keys()))
		default:
			value, ok := r.text(text, l.typ, key)
			if !ok {
				continue
			}
			r.found[key] = found{value.Interface(), fromSet, "--set"}
			v.Set(key, value.Interface())
		}
	}
}

func (r *reader) isSection(key string) bool {
	for _, l := range r.schema.leaves {
		if strings.HasPrefix(l.key, key+".") {
			return true
		}
	}
	return false
}

// nested returns the values found so far as nested maps, the form that viper expects of a file.
func (r *reader) nested() map[string]any {
	root := map[string]any{}
	for _, l := range r.schema.leaves {
		f, ok := r.found[l.key]
		if !ok {
			continue
		}
		m := root
		parts := strings.Split(l.key, ".")
		for _, part := range parts[:len(parts)-1] {
			if _, ok := m[part]; !ok {
				m[part] = map[string]any{}
			}
			m = m[part].(map[string]any)
		}
		m[parts[len(parts)-1]] = f.value
	}
	return root
}

// label returns the prefix of an error about a section: the section's name and a colon.
func label(prefix string) string {
	if prefix == "" {
		return ""
	}
	return strings.TrimSuffix(prefix, ".") + ": "
}

// show returns a node in the form that errors quote.
func show(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	const most = 60
	if text := []rune(n.Value); len(text) > most {
		return fmt.Sprintf("%q...", string(text[:most]))
	}
	return fmt.Sprintf("%q", n.Value)
}

package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schema lists the settings of a struct.
type schema struct {
	root   reflect.Type
	leaves []leaf // in field order
	byKey  map[string]leaf
	gone   map[string]string // by dotted key: what replaces a setting that there was, from the tag gone of its field
}

// leaf is one setting: a field that is not itself a section.
type leaf struct {
	key   string // dotted
	env   string // environment variable; empty if the environment is not read
	typ   reflect.Type
	index []int // for reflect.Value.FieldByIndex
}

// field is one key of a struct.
type field struct {
	name  string
	typ   reflect.Type
	index int
}

var durationType = reflect.TypeFor[time.Duration]()

func newSchema(root reflect.Type, envPrefix string) *schema {
	s := &schema{root: root, byKey: map[string]leaf{}, gone: map[string]string{}}
	s.add(root, "", nil, envPrefix)
	variables := map[string]string{}
	for _, l := range s.leaves {
		if other, ok := variables[l.env]; ok && l.env != "" {
			panic(fmt.Sprintf("config: %s and %s share the variable %s", other, l.key, l.env))
		}
		variables[l.env] = l.key
		s.byKey[l.key] = l
	}
	return s
}

func (s *schema) add(t reflect.Type, prefix string, index []int, envPrefix string) {
	for f := range t.Fields() {
		if instead := f.Tag.Get("gone"); instead != "" {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			s.gone[prefix+name] = instead
		}
	}
	for _, f := range fieldsOf(t) {
		key := prefix + f.name
		at := append(slices.Clip(index), f.index)
		if f.typ.Kind() == reflect.Struct {
			s.add(f.typ, key+".", at, envPrefix)
			continue
		}
		checkType(f.typ, key)
		l := leaf{key: key, typ: f.typ, index: at}
		if envPrefix != "" {
			l.env = envPrefix + "_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
		}
		s.leaves = append(s.leaves, l)
	}
}

// fieldsOf returns the keys of a struct type.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	folded := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !f.IsExported() || name == "-" || f.Tag.Get("gone") != "" {
			continue
		}
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if strings.Contains(name, ".") {
			panic(fmt.Sprintf("config: key %q of %s holds a dot, which separates sections", name, t))
		}
		if folded[strings.ToLower(name)] {
			panic(fmt.Sprintf("config: two keys of %s are %q but for case", t, name))
		}
		folded[strings.ToLower(name)] = true
		fields = append(fields, field{name, f.Type, i})
	}
	return fields
}

func checkType(t reflect.Type, key string) {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	case reflect.Slice:
		checkType(t.Elem(), key+"[]")
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			checkType(f.typ, key+"."+f.name)
		}
	case reflect.Map:
		panic(fmt.Sprintf("config: %s is a map, whose keys lose their case; use a list of structs with a name", key))
	default:
		panic(fmt.Sprintf("config: %s has type %s, which no setting can have", key, t))
	}
}

// describe returns the values that a type accepts, as text for errors.
func describe(t reflect.Type) string {
	if t == durationType {
		return "a duration such as 90s or 1h30m"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "a section of keys"
	default:
		return "an integer that fits " + t.Kind().String()
	}
}

// keys returns the dotted keys of all settings.
func (s *schema) keys() []string {
	keys := make([]string, len(s.leaves))
	for i, l := range s.leaves {
		keys[i] = l.key
	}
	return keys
}

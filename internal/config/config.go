// Package config fills a struct from defaults, a YAML file, the environment and command-line settings; a later layer overrides an
// earlier one. It reports where each value came from. It is strict: anything invalid is an error that names its place, never
// silently a default. The struct alone defines the settings; this package contains none of any program.
//
// The package viper merges the layers. This package works around three of viper's habits: it ignores unknown keys, it folds keys
// to lower case so that keys that differ by case collapse, and its AutomaticEnv has no effect on Unmarshal. So this package
// checks the file key by key before viper reads it, does not allow maps as settings (use a list of structs with a name field),
// and binds each key to its variable by name.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// maxBytes is the largest size of a file that is read.
const maxBytes = 1 << 20

// Source is the layer that a value came from.
type Source string

// The layers, each of which overrides those before it.
const (
	Default  Source = "default"
	fromFile Source = "file"
	fromEnv  Source = "env"
	fromSet  Source = "set"
)

// Options are the layers above the file. The zero value adds none.
type Options struct {
	// EnvPrefix, for example "CLUSTERGYM", lets the variable CLUSTERGYM_TRAIN_LR set train.lr. An empty variable counts as unset. If
	// EnvPrefix is empty, the environment is not read.
	EnvPrefix string
	// Sets contains settings "key=value", as from repeated --set flags. If a key occurs twice, the later value wins. A value is
	// YAML, so a list is [1, 2]; but the value of a string key is the text itself.
	Sets []string
}

// Setting is one key with its final value and its origin.
type Setting struct {
	Key    string // dotted, for example "train.lr"
	Value  any    // has the type of the field
	Source Source
	Where  string // file:line:column, variable or "--set"; empty for a default
}

// Settings are all settings of a struct, in the order of its fields.
type Settings []Setting

// Get returns the setting with a dotted key.
func (s Settings) Get(key string) (Setting, bool) {
	for _, setting := range s {
		if setting.Key == key {
			return setting, true
		}
	}
	return Setting{}, false
}

// Load is Read for the file at path. If the path is empty, there is no file layer.
func Load(path string, dst any, opts Options) (Settings, error) {
	if path == "" {
		return Read(strings.NewReader(""), "", dst, opts)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer f.Close()
	return Read(f, path, dst, opts)
}

// Read fills dst, a pointer to a struct whose current values are the defaults, from one YAML document in r and from opts. The
// parameter name is the name of r in errors. Read returns one error that lists everything invalid, and then leaves dst unchanged.
//
// Keys are the yaml tags of the exported fields, or their names in lower case; the tag "-" leaves a field out. A field with
// the tag gone is no setting any more: the error for its key says what the tag does. Fields may be
// bool, integers, floats, string, time.Duration (written "90s", "1h30m"), structs, and lists of these. Elements of a list start
// from zero values. Read panics on any other type, and on keys that differ only by case, because these are errors in the struct.
func Read(r io.Reader, name string, dst any, opts Options) (Settings, error) {
	target := reflect.ValueOf(dst)
	if target.Kind() != reflect.Pointer || target.IsNil() || target.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: destination is %T, want a pointer to a struct", dst))
	}
	target = target.Elem()
	schema := newSchema(target.Type(), opts.EnvPrefix)

	in := reader{schema: schema, found: map[string]found{}}
	b, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(b) > maxBytes:
		return nil, fmt.Errorf("read %s: more than %d bytes, which is no configuration", name, maxBytes)
	}
	in.document(bytes.NewReader(b), name)

	v := viper.New()
	for _, l := range schema.leaves {
		v.SetDefault(l.key, target.FieldByIndex(l.index).Interface())
	}
	if err := v.MergeConfigMap(in.nested()); err != nil {
		return nil, fmt.Errorf("merge %s: %w", name, err)
	}
	in.environment(v)
	in.sets(v, opts.Sets)
	if len(in.errs) > 0 {
		return nil, errors.Join(in.errs...)
	}
	return assign(v, target, &in)
}

// assign decodes the merged layers into a new struct and copies the settings from it to target. So a shorter list replaces a
// default list completely, and fields that are no settings keep their values.
func assign(v *viper.Viper, target reflect.Value, in *reader) (Settings, error) {
	fresh := reflect.New(target.Type())
	err := v.UnmarshalExact(fresh.Interface(), func(c *mapstructure.DecoderConfig) {
		c.TagName = "yaml"
		c.WeaklyTypedInput = false
		c.DecodeHook = in.textHook
	})
	if err != nil {
		return nil, fmt.Errorf("decode configuration: %w", err)
	}
	settings := make(Settings, len(in.schema.leaves))
	for i, l := range in.schema.leaves {
		value := fresh.Elem().FieldByIndex(l.index)
		target.FieldByIndex(l.index).Set(value)
		settings[i] = Setting{Key: l.key, Value: value.Interface(), Source: Default}
		if f, ok := in.found[l.key]; ok {
			settings[i].Source, settings[i].Where = f.source, f.where
		}
	}
	return settings, nil
}

// textHook converts the text of an environment variable to the type of its field. The text is known to be valid.
func (r *reader) textHook(from, to reflect.Type, data any) (any, error) {
	if from != reflect.TypeFor[string]() || to.Kind() == reflect.String {
		return data, nil
	}
	value, ok := r.text(data.(string), to, "value")
	if !ok {
		return nil, errors.Join(r.errs...)
	}
	return value.Interface(), nil
}

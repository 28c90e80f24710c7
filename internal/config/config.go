// Package config fills a struct from defaults, a YAML file, the environment and command-line settings, in this order of
// rising rank, and remembers where each value came from. It is strict: what it does not understand is an error with its
// place, never a silent default. It knows no program's settings; the struct that it fills is their only description.
//
// viper merges the layers. Three of its habits are kept out: it ignores unknown keys, it folds keys to lower case so that
// two which differ by case collapse, and its AutomaticEnv does not reach Unmarshal. So the file is checked key by key before
// viper sees it, maps are not allowed as settings (use a list of structs with a name field), and each key is bound to its
// variable by name.
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

// maxBytes is the size above which a file is refused unread.
const maxBytes = 1 << 20

// Source names the layer that a value came from.
type Source string

// The layers, from the lowest rank to the highest.
const (
	Default  Source = "default"
	fromFile Source = "file"
	fromEnv  Source = "env"
	fromSet  Source = "set"
)

// Options are the layers above the file. The zero value has none.
type Options struct {
	// EnvPrefix, for example "CLUSTERGYM", lets the variable CLUSTERGYM_TRAIN_LR set train.lr. An empty variable counts as
	// unset. Without a prefix the environment is not read.
	EnvPrefix string
	// Sets are "key=value", as from repeated --set flags; of two for one key the later holds. A value is YAML, so lists are
	// [1, 2], except that text for a string key is taken as it stands.
	Sets []string
}

// Setting is one key with its final value and its origin.
type Setting struct {
	Key    string // dotted, for example "train.lr"
	Value  any    // of the field's type
	Source Source
	Where  string // file:line:column, variable or "--set"; empty for a default
}

// Settings are all the keys of a struct in the order of its fields.
type Settings []Setting

// Get returns the setting of a dotted key.
func (s Settings) Get(key string) (Setting, bool) {
	for _, setting := range s {
		if setting.Key == key {
			return setting, true
		}
	}
	return Setting{}, false
}

// Load is Read for the file at path. With an empty path there is no file layer.
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

// Read fills dst, a pointer to a struct whose present values are the defaults, from one YAML document on r and from opts.
// name stands for r in errors. On an error, which lists all that is wrong, dst is unchanged.
//
// Keys are the yaml tags of the exported fields, or their names in lower case; a tag of "-" leaves a field out. Fields are
// bool, integers, floats, string, time.Duration (written "90s", "1h30m"), structs, and lists of these; the elements of a
// list start from zero values. Any other type, and keys that differ only by case, panic: they are mistakes in the struct.
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

// assign decodes the merged layers into a fresh struct and copies the leaves from it, so that a shorter list replaces a
// default list whole and the fields outside the configuration stay.
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

// textHook gives the text of an environment variable the type of its field. The text was checked before.
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

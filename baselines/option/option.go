// Package option declares, lists and parses the options of a scheduler, as package flag does for a command. Each option is bound
// to a variable, whose value at the declaration is the default.
package option

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/config"
)

// FileExtension is the extension of the files of trained predictors, which options may refer to.
const FileExtension = ".predictor"

// Option describes an option.
type Option struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Values  string `json:"values"` // the values that are allowed
	About   string `json:"about"`
	Source  string `json:"source"` // where the default comes from: a paper's section, a reconstruction, or an own choice

	set func(value string) error
}

// Set is the set of options of one scheduler, in the order of declaration. The zero value is empty and ready to use.
type Set struct {
	all  []Option
	gone []string
}

// All returns the options declared so far.
func (s *Set) All() []Option { return slices.Clone(s.all) }

func (s *Set) add(o Option) { s.all = append(s.all, o) }

// Gone names options that the scheduler had, of which no experiment found another value useful.
func (s *Set) Gone(names ...string) { s.gone = append(s.gone, names...) }

// Float declares an option whose value is a number from low to high.
func (s *Set) Float(p *float64, name string, low, high float64, about, source string) {
	values := fmt.Sprintf("%g to %g", low, high)
	s.add(Option{name, fmt.Sprint(*p), values, about, source, func(text string) error {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= low && v <= high) {
			return fmt.Errorf("%q, want a number from %s", text, values)
		}
		*p = v
		return nil
	}})
}

// Int declares an option whose value is a whole number from low to high.
func (s *Set) Int(p *int, name string, low, high int, about, source string) {
	values := fmt.Sprintf("%d to %d", low, high)
	s.add(Option{name, strconv.Itoa(*p), values, about, source, func(text string) error {
		v, err := strconv.Atoi(text)
		if err != nil || v < low || v > high {
			return fmt.Errorf("%q, want a whole number from %s", text, values)
		}
		*p = v
		return nil
	}})
}

// Duration declares an option whose value is a time of 0 or more.
func (s *Set) Duration(p *time.Duration, name, about, source string) {
	s.add(Option{name, p.String(), "a time, for example 90s or 5m", about, source, func(text string) error {
		v, err := time.ParseDuration(text)
		if err != nil || v < 0 {
			return fmt.Errorf("%q, want a time of 0 or more, for example 90s or 5m", text)
		}
		*p = v
		return nil
	}})
}

// Bool declares an option whose value is true or false.
func (s *Set) Bool(p *bool, name, about, source string) {
	s.add(Option{name, strconv.FormatBool(*p), "true, false", about, source, func(text string) error {
		v, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q, want true or false", text)
		}
		*p = v
		return nil
	}})
}

// Choice declares an option whose value is one of the texts in the parameter of.
func Choice[T ~string](s *Set, p *T, name string, of []T, about, source string) {
	names := make([]string, len(of))
	for i, v := range of {
		names[i] = string(v)
	}
	values := strings.Join(names, ", ")
	s.add(Option{name, string(*p), values, about, source, func(text string) error {
		if !slices.Contains(of, T(text)) {
			return fmt.Errorf("%q, want one of %s", text, values)
		}
		*p = T(text)
		return nil
	}})
}

// Text declares an option whose value is any text for which check returns no error; values describes these texts.
func (s *Set) Text(p *string, name, values string, check func(string) error, about, source string) {
	s.add(Option{name, *p, values, about, source, func(text string) error {
		if err := check(text); err != nil {
			return err
		}
		*p = text
		return nil
	}})
}

// Unknown returns the error about a word that is none of those that are wanted.
func Unknown(what, word string, want []string) error {
	text := fmt.Sprintf("no %s %q, want one of %s", what, word, cmp.Or(strings.Join(want, ", "), "none"))
	if near, ok := config.Nearest(word, want); ok {
		text += fmt.Sprintf(": did you mean %q?", near)
	}
	return errors.New(text)
}

// Parse sets options from "name=value:name=value"; the empty text sets none. It returns an error for an unknown option, a bad
// value, or an option given twice, and the byte at which that option begins.
func (s *Set) Parse(text string) (at int, err error) {
	if text == "" {
		return 0, nil
	}
	var seen []string
	for part := range strings.SplitSeq(text, ":") {
		name, value, given := strings.Cut(part, "=")
		if err := s.parse(name, value, given, slices.Contains(seen, name)); err != nil {
			return at, err
		}
		seen = append(seen, name)
		at += len(part) + 1
	}
	return at, nil
}

func (s *Set) parse(name, value string, given, again bool) error {
	i := slices.IndexFunc(s.all, func(o Option) bool { return o.Name == name })
	names := make([]string, len(s.all))
	for k := range s.all {
		names[k] = s.all[k].Name
	}
	switch {
	case i < 0 && slices.Contains(s.gone, name):
		return fmt.Errorf("option %s is gone, because no other value of it was useful: leave it out; want one of %s", name,
			strings.Join(names, ", "))
	case i < 0:
		return Unknown("option", name, names)
	case !given:
		return fmt.Errorf("option %s has no value, want %s=%s", name, name, s.all[i].Default)
	case again:
		return fmt.Errorf("option %s comes twice", name)
	}
	if err := s.all[i].set(value); err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	return nil
}

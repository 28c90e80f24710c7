package objectives

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// keysOf returns the keys that a struct's fields are read from, in their order.
func keysOf(into any) (keys []string) {
	for f := range reflect.TypeOf(into).Elem().Fields() {
		if key := f.Tag.Get("yaml"); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// show describes a node for an error.
func show(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(shortened(n.Value))
}

// shortened returns the beginning of a text that is too long for an error.
func shortened(text string) string {
	if len(text) > 64 {
		return text[:61] + "..."
	}
	return text
}

// wrong returns the error for a value that is not what was expected.
func wrong(n *yaml.Node, want string) error {
	return fmt.Errorf("line %d: %s, want %s", n.Line, show(n), want)
}

// span is a length of time, such as 90s, 10m, 1.5h or 2d.
type span time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *span) UnmarshalYAML(n *yaml.Node) error {
	d, ok := duration(n.Value)
	if n.Kind != yaml.ScalarNode || !ok {
		return wrong(n, "a time from 0s to 3650d such as 90s, 10m, 1.5h or 2d")
	}
	*s = span(d)
	return nil
}

// UnmarshalYAML implements yaml.Unmarshaler. It reads a deadline.
func (f *deadlineFile) UnmarshalYAML(n *yaml.Node) error {
	type plain deadlineFile
	return strict(n, (*plain)(f))
}

// duration reads a length of time. Besides Go's units it knows d for days.
func duration(text string) (time.Duration, bool) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		x, err := strconv.ParseFloat(days, 64)
		if err != nil || !(x >= 0 && x <= mostTime.Hours()/24) {
			return 0, false
		}
		return time.Duration(x * 24 * float64(time.Hour)), true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0 && d <= mostTime
}

// units are those that a price may be per.
var units = []struct {
	name string
	unit time.Duration
}{{"s", time.Second}, {"min", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

// UnmarshalYAML implements yaml.Unmarshaler. It reads a price such as 1/min, 0.05/h or 30.
func (p *Price) UnmarshalYAML(n *yaml.Node) error {
	amount, unit, timed := strings.Cut(n.Value, "/")
	x, err := strconv.ParseFloat(strings.TrimSpace(amount), 64)
	if n.Kind != yaml.ScalarNode || err != nil || !finite(x) {
		return wrong(n, "a price such as 1/min, 0.05/h or 30")
	}
	*p = Price{Amount: x}
	for _, u := range units {
		if timed && strings.TrimSpace(unit) == u.name {
			p.Per = u.unit
			return nil
		}
	}
	if timed {
		return wrong(n, "a price per s, min, h or d")
	}
	return nil
}

// String returns the price as a file has it.
func (p Price) String() string {
	text := strconv.FormatFloat(p.Amount, 'g', -1, 64)
	for _, u := range units {
		if u.unit == p.Per {
			return text + "/" + u.name
		}
	}
	return text
}

// Range is the numbers from From to To, both included.
type Range struct{ From, To float64 }

// any is the range of all numbers.
var anyNumber = Range{math.Inf(-1), math.Inf(1)}

// bounds reads a range such as 4, 1-4, 8- or -4, with ends as read by parse. An empty end is open.
func bounds(text string, parse func(string) (float64, bool)) (Range, bool) {
	r := anyNumber
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	ok := from+to != ""
	if from != "" {
		x, fine := parse(from)
		r.From, ok = x, ok && fine
	}
	if to != "" {
		x, fine := parse(to)
		r.To, ok = x, ok && fine
	}
	return r, ok && r.From <= r.To
}

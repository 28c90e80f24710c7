package physics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// form describes the syntax of a part and how to make it.
type form struct {
	name string
	args []arg
	make func(v []float64) Part
}

// arg is a number between the parentheses and its bounds.
type arg struct {
	name      string
	low, high float64
}

var forms = []form{
	{"inter-server", []arg{{"P", 0, 1e6}}, func(v []float64) Part { return InterServer{Penalty: v[0]} }},
	{"gpu-type", nil, func([]float64) Part { return GPUType{} }},
	{"cpu-mem", nil, func([]float64) Part { return CPUMem{} }},
	{"sharing", []arg{{"S", 0, 10}}, func(v []float64) Part { return Sharing{Strength: v[0]} }},
	{"scaling", nil, func([]float64) Part { return Scaling{} }},
	{"diminishing", []arg{{"G", 0.01, 1}}, func(v []float64) Part { return Diminishing{Gain: v[0]} }},
	{"network", bandwidths, func(v []float64) Part { return NewNetwork(v[0], v[1], v[2]) }},
	{"interleaved", bandwidths, func(v []float64) Part { return NewInterleaved(v[0], v[1], v[2]) }},
	{"power", []arg{{"W", 1, 1e9}}, func(v []float64) Part { return Power{Watts: v[0]} }},
	{"jitter", []arg{{"S", 0, 1}}, func(v []float64) Part { return Jitter{Sigma: v[0]} }},
}

var bandwidths = []arg{{"I", 0.001, 1e6}, {"N", 0.001, 1e6}, {"U", 0.001, 1e6}}

// Parse returns the model with the given name: "ideal", or parts joined by "*", for example "sharing(0.3) * inter-server(0.5)".
func Parse(name string) (Model, error) {
	if name == "ideal" {
		return Ideal(), nil
	}
	var parts []Part
	seen := map[string]bool{}
	for text := range strings.SplitSeq(name, "*") {
		text = strings.TrimSpace(text)
		part, kind, err := parsePart(text)
		if err != nil {
			return nil, fmt.Errorf("physics %q: %w", name, err)
		}
		if seen[kind] {
			return nil, fmt.Errorf("physics %q: part %q comes twice", name, kind)
		}
		seen[kind] = true
		parts = append(parts, part)
	}
	return Compose(parts...), nil
}

func parsePart(text string) (p Part, kind string, err error) {
	kind, rest, called := strings.Cut(text, "(")
	for _, f := range forms {
		if f.name != kind {
			continue
		}
		inner, closed := strings.CutSuffix(rest, ")")
		if called != closed || called != (len(f.args) > 0) {
			return nil, kind, fmt.Errorf("part %q, want %s", text, f.usage())
		}
		values, err := f.parse(inner)
		if err != nil {
			return nil, kind, err
		}
		return f.make(values), kind, nil
	}
	return nil, kind, fmt.Errorf("part %q, want \"ideal\" alone or parts joined by \"*\" of %s", text, usages())
}

func (f *form) parse(inner string) ([]float64, error) {
	if len(f.args) == 0 {
		return nil, nil
	}
	texts := strings.Split(inner, ",")
	if len(texts) != len(f.args) {
		return nil, fmt.Errorf("part %q has %d numbers, want %s", f.name, len(texts), f.usage())
	}
	values := make([]float64, len(texts))
	for i, a := range f.args {
		v, err := strconv.ParseFloat(strings.TrimSpace(texts[i]), 64)
		if err != nil || !(v >= a.low && v <= a.high) {
			return nil, fmt.Errorf("part %q: %s %q, want a number from %g to %g", f.name, a.name, texts[i], a.low, a.high)
		}
		values[i] = math.Abs(v) // -0 is 0
	}
	return values, nil
}

func (f *form) usage() string {
	if len(f.args) == 0 {
		return f.name
	}
	names := make([]string, len(f.args))
	for i, a := range f.args {
		names[i] = a.name
	}
	return f.name + "(" + strings.Join(names, ",") + ")"
}

func usages() string {
	all := make([]string, len(forms))
	for i := range forms {
		all[i] = forms[i].usage()
	}
	return strings.Join(all, ", ")
}

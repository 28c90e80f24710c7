package sweep

import (
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/internal/rng"
	"github.com/clustergym/clustergym/train"
)

const (
	maxPoints = 1000 // of a sweep
	maxSeeds  = 100  // of a point
	// maxGrid is the largest grid from which points can be drawn.
	maxGrid = 1 << 20
	// longestName is the length at which names of points are cut.
	longestName = 80
)

// Point is a combination of values of the settings that vary.
type Point struct {
	Name   string // unique in the sweep; usable as the name of a folder and of a policy
	Values []string
	Config train.Config // with the first seed
}

// axis is a setting that varies, with its values as they were written.
type axis struct {
	key    string
	values []string
}

// patience says why a sweep refuses the setting.
const patience = "points are compared after equal numbers of updates, so no run may end early"

// fixed returns why a setting cannot vary, or "" if it can.
func fixed(key string, halving bool) string {
	switch key {
	case "train.seed":
		return "the sweep trains every point with several seeds already: see seeds"
	case "train.prior", "train.objective":
		return "validation is relative to the cost of the prior, so points with other values cannot be compared"
	case "train.validation":
		return "points that are validated on other windows cannot be compared"
	case "train.patience":
		return patience
	case "train.updates", "train.every":
		if halving {
			return "the rungs of halving must be at the same updates for all points"
		}
	}
	return ""
}

// axes reads Vary.
func (r *Request) axes() ([]axis, error) {
	if r.Train.Patience > 0 {
		return nil, fmt.Errorf("train.patience: %d, want 0: %s", r.Train.Patience, patience)
	}
	var known []string
	settings, err := config.Load("", &trained{r.Train}, config.Options{})
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		known = append(known, s.Key)
	}
	var all []axis
	for _, text := range r.Vary {
		key, list, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(list) == "" {
			return nil, fmt.Errorf("vary %q: want KEY=VALUE,VALUE,... such as train.rate=1e-3,3e-3", text)
		}
		key = strings.TrimSpace(key)
		switch why := fixed(key, r.Halving > 0); {
		case !slices.Contains(known, key):
			return nil, fmt.Errorf("vary: unknown setting %q%s", key, cmdline.DidYouMean(key, known))
		case why != "":
			return nil, fmt.Errorf("vary %s: %s", key, why)
		case slices.ContainsFunc(all, func(a axis) bool { return a.key == key }):
			return nil, fmt.Errorf("vary %s: the setting is listed twice, want all its values in one list", key)
		}
		values, err := csv.NewReader(strings.NewReader(list)).Read()
		if err != nil {
			return nil, fmt.Errorf("vary %s: values %q: %w", key, list, err)
		}
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
		a := axis{key, values}
		if err := r.checkValues(&a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// checkValues checks that every value of a setting can be read, and that no two are equal.
func (r *Request) checkValues(a *axis) error {
	configs := make([]train.Config, len(a.values))
	for i, v := range a.values {
		var err error
		if configs[i], err = r.with([]axis{*a}, []string{v}); err != nil {
			return fmt.Errorf("vary %w", err)
		}
		for k := range i {
			if reflect.DeepEqual(configs[i], configs[k]) {
				return fmt.Errorf("vary %s: %s and %s are the same value", a.key, a.values[k], v)
			}
		}
	}
	return nil
}

// trained is the form in which package config knows the settings.
type trained struct {
	Train train.Config `yaml:"train"`
}

// with returns the settings with the given values.
func (r *Request) with(axes []axis, values []string) (train.Config, error) {
	at := trained{r.Train}
	var sets []string
	for i, a := range axes {
		sets = append(sets, a.key+"="+values[i])
	}
	if _, err := config.Load("", &at, config.Options{Sets: sets}); err != nil {
		return at.Train, errors.New(strings.TrimPrefix(err.Error(), "--set: "))
	}
	return at.Train, nil
}

// points returns the points of the sweep in the order of the grid, in which the last setting varies fastest. All their settings
// are valid.
func (r *Request) points(axes []axis) ([]Point, error) {
	total := 1
	for _, a := range axes {
		if total *= len(a.values); total > maxGrid {
			return nil, fmt.Errorf("the grid has more than %d points: vary fewer settings, or give them fewer values", maxGrid)
		}
	}
	index, err := r.draw(total)
	if err != nil {
		return nil, err
	}
	points := make([]Point, len(index))
	for i, at := range index {
		p := &points[i]
		p.Values = make([]string, len(axes))
		for k := len(axes) - 1; k >= 0; k-- {
			n := len(axes[k].values)
			p.Values[k] = axes[k].values[at%n]
			at /= n
		}
		if p.Config, err = r.with(axes, p.Values); err == nil {
			err = p.Config.Validate()
		}
		if err == nil {
			_, err = agents.NewShape(1, 1, 1, 0, p.Config.Size)
		}
		p.Name = pointName(i, len(index), axes, p.Values)
		if err != nil {
			return nil, fmt.Errorf("point %s: %w", p.Name, err)
		}
	}
	return points, nil
}

// draw returns the indices in the grid of the points of the sweep, ascending.
func (r *Request) draw(total int) ([]int, error) {
	n := total
	if r.Random > 0 {
		n = r.Random
	}
	switch {
	case n > total:
		return nil, fmt.Errorf("random: %d points of a grid of %d, want at most as many as it has", n, total)
	case n > maxPoints && r.Random > 0:
		return nil, fmt.Errorf("random: %d points, want at most %d", n, maxPoints)
	case n > maxPoints:
		return nil, fmt.Errorf("the grid has %d points, want at most %d: draw some of them with random", n, maxPoints)
	}
	index := make([]int, total)
	for i := range index {
		index[i] = i
	}
	if n < total {
		random := rng.Stream(r.Train.Seed, "sweep", "points")
		random.Shuffle(total, func(i, k int) { index[i], index[k] = index[k], index[i] })
	}
	index = index[:n]
	slices.Sort(index)
	return index, nil
}

// pointName returns the name of the i-th of n points: its number, and its values with the last parts of their keys.
func pointName(i, n int, axes []axis, values []string) string {
	name := fmt.Sprintf("p%0*d", len(fmt.Sprint(n)), i+1)
	for k, a := range axes {
		name += "-" + a.key[strings.LastIndexByte(a.key, '.')+1:] + "-" + values[k]
	}
	name = strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_':
			return c
		}
		return '-'
	}, name)
	return strings.TrimRight(name[:min(len(name), longestName)], "-.")
}

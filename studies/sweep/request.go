// Package sweep searches over settings of training: it trains a run for every point of a grid of settings and for every seed, and
// compares the points by how well their runs do on validation windows. With successive halving (Jamieson and Talwalkar, 2016,
// "Non-stochastic best arm identification and hyperparameter optimization") most points stop early: all points train up to a
// first number of updates, the best part of them goes on to the next, and so on.
//
// Every run is an ordinary run of package train, so a sweep can be ended at any time and resumed. The result does not depend on
// the number of cores, on how many runs train at once, or on interruptions.
package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

// Name is the name of the file with the request in the folder of a sweep. The scenarios follow in it, each as a YAML document.
const Name = "sweep.yaml"

// ErrMismatch is wrapped by the error of a sweep in a folder that contains another sweep. That error lists the differences.
var ErrMismatch = errors.New("another sweep")

// Request contains all that the result of a sweep depends on, apart from the content of its scenarios.
type Request struct {
	// Scenario names built-in scenarios or YAML files, separated by commas. Every run trains on all of them.
	Scenario string `yaml:"scenario"`
	// Set changes the scenarios: elements are "KEY=VALUE".
	Set []string `yaml:"set,omitempty"`
	// Vary lists the settings to vary, each with its values: "train.KEY=VALUE,VALUE,...". The points of the grid are all
	// combinations. A value that contains a comma stands in double quotes.
	Vary []string `yaml:"vary"`
	// Seeds is the number of runs of each point. Their seeds are Train.Seed and the numbers after it.
	Seeds int `yaml:"seeds"`
	// Random, if above 0, is the number of points to draw from the grid, without repetition, by Train.Seed.
	Random int `yaml:"random,omitempty"`
	// Halving, if above 0, is the factor of successive halving: one point in so many goes on at each rung.
	Halving int `yaml:"halving,omitempty"`
	// Train contains the settings that do not vary.
	Train train.Config `yaml:"train"`
}

// DefaultRequest returns a request with the default settings of training. It names no scenario and varies nothing.
func DefaultRequest() Request { return Request{Seeds: 3, Train: train.DefaultConfig()} }

// Scenarios returns the names that Scenario lists.
func (r *Request) Scenarios() []string { return strings.Split(r.Scenario, ",") }

// Read returns the request of the sweep in dir, and its scenarios. The error wraps checkpoints.ErrNone if dir contains no sweep.
func Read(dir string) (r Request, scenarios []*scenario.Scenario, err error) {
	scenarios, err = recipe.ReadFile(filepath.Join(dir, Name), &r, true, func() (int, error) { return len(r.Scenarios()), nil })
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, fmt.Errorf("%s: no sweep: it has no %s: %w", dir, Name, checkpoints.ErrNone)
	}
	return r, scenarios, err
}

// put writes the request of a new sweep into its folder, or checks that the folder contains the same one. The folder must be
// locked.
func (r *Request) put(dir string, scenarios []*scenario.Scenario) error {
	text, err := recipe.Text(r, scenarios)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, Name)
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return atomicfile.WriteBytes(path, 0o666, text)
	}
	if err != nil {
		return fmt.Errorf("read sweep: %w", err)
	}
	if string(old) == string(text) {
		return nil
	}
	return fmt.Errorf("%s contains %w; choose another folder, or ask for what it contains:\n%s", path, ErrMismatch,
		strings.Join(differences(string(old), string(text)), "\n"))
}

// differences lists the keys whose values differ in two texts of YAML documents, in the order in which they occur.
func differences(old, now string) (list []string) {
	before, was := flatten(old)
	after, is := flatten(now)
	show := func(values map[string]string, key string) string {
		if v, ok := values[key]; ok {
			return fmt.Sprintf("%q", v)
		}
		return "nothing"
	}
	for _, key := range append(before, after...) {
		a, hadOld := was[key]
		b, hasNow := is[key]
		if a != b || hadOld != hasNow {
			list = append(list, fmt.Sprintf("  %s: the folder has %s, asked for %s", key, show(was, key), show(is, key)))
			delete(was, key)
			delete(is, key)
		}
	}
	return list
}

// flatten returns the scalars of YAML documents by dotted key, and the keys in order. Keys of documents after the first begin
// with the number of the scenario. Text that is no YAML is one scalar.
func flatten(text string) (keys []string, values map[string]string) {
	values = map[string]string{}
	var add func(key string, n *yaml.Node)
	add = func(key string, n *yaml.Node) {
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				add(strings.TrimPrefix(key+"."+n.Content[i].Value, "."), n.Content[i+1])
			}
		case yaml.SequenceNode:
			for i, c := range n.Content {
				add(fmt.Sprintf("%s[%d]", key, i), c)
			}
		case yaml.ScalarNode:
			keys = append(keys, key)
			values[key] = n.Value
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	for i := 0; ; i++ {
		var doc yaml.Node
		if dec.Decode(&doc) != nil || len(doc.Content) != 1 {
			return keys, values
		}
		key := ""
		if i > 0 {
			key = fmt.Sprintf("scenario %d", i)
		}
		add(key, doc.Content[0])
	}
}

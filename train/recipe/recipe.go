// Package recipe keeps, in the folder of a run, everything that the run's result depends on: a YAML document of settings,
// followed by the scenarios. A run can only be resumed with an equal recipe.
package recipe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
)

// Name is the name of the file in the folder of a run.
const Name = "run.yaml"

// ErrMismatch is wrapped by the error of a run that is resumed with another configuration or another scenario than it began with.
// That error lists the differences.
var ErrMismatch = errors.New("does not continue this run")

// Workload identifies the jobs of a scenario that a run learned from.
type Workload struct {
	Scenario string `yaml:"scenario"`
	Digest   string `yaml:"sha256"` // of the jobs
	// Seen lists the parts of the trace that the training and validation windows come from.
	Seen []scenario.Period `yaml:"seen"`
}

// Of returns the workload of a source whose jobs have the given digest.
func Of(src *scenario.Source, digest string) Workload {
	seen := append(src.Periods(scenario.Train), src.Periods(scenario.Validation)...)
	return Workload{src.Scenario().Name, digest, seen}
}

// Seen returns the distinct parts of traces that a run on the workloads learned from.
func Seen(workloads []Workload) []checkpoints.Period {
	var all []checkpoints.Period
	for _, w := range workloads {
		for _, p := range w.Seen {
			if p := checkpoints.Period(p); !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// folderKey is the key, behind those of a scenario, for the folder of the scenario's file: there are the files that it names.
const folderKey = "folder"

// Names returns what commands may name to get the scenarios of the run in dir: their own names if all are built in, as they are,
// or the folder of the run if it has one. It returns nil for several that are not all built in.
func Names(dir string, scenarios []*scenario.Scenario) (names []string) {
	for _, s := range scenarios {
		if !builtIn(s) {
			if len(scenarios) > 1 {
				return nil
			}
			return []string{dir}
		}
		names = append(names, s.Name)
	}
	return names
}

func builtIn(s *scenario.Scenario) bool {
	own, err := scenario.Load(s.Name)
	if err != nil || own.Folder() != "" {
		return false
	}
	var is, was strings.Builder
	return errors.Join(s.Write(&is), own.Write(&was)) == nil && is.String() == was.String()
}

// Text returns the recipe that consists of the settings and the scenarios.
func Text(settings any, scenarios []*scenario.Scenario) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(settings); err != nil {
		return nil, fmt.Errorf("write recipe: %w", err)
	}
	for _, s := range scenarios {
		b.WriteString("---\n")
		if err := s.Write(&b); err != nil {
			return nil, fmt.Errorf("write recipe: %w", err)
		}
		if folder := s.Folder(); folder != "" && folder != "." {
			line, err := yaml.Marshal(map[string]string{folderKey: folder})
			if err != nil {
				return nil, fmt.Errorf("write recipe: %w", err)
			}
			b.Write(line)
		}
	}
	return b.Bytes(), nil
}

// Read reads the recipe of the run in dir. It decodes the settings, and, after check has returned their number, the scenarios.
// With known, settings that the program does not know are an error. The error wraps checkpoints.ErrNone if dir contains no run.
func Read(dir string, settings any, known bool, check func() (scenarios int, err error)) ([]*scenario.Scenario, error) {
	all, err := ReadFile(filepath.Join(dir, Name), settings, known, check)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, None(dir)
	}
	return all, err
}

// ReadFile is Read for a file of any name. The error wraps fs.ErrNotExist if there is no such file.
func ReadFile(path string, settings any, known bool, check func() (scenarios int, err error)) ([]*scenario.Scenario, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return Parse(path, text, settings, known, check)
}

// Parse is Read for a text. Errors call it by the given name.
func Parse(
	name string, text []byte, settings any, known bool, check func() (scenarios int, err error),
) ([]*scenario.Scenario, error) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(known)
	n := 0
	err := dec.Decode(settings)
	if err == nil {
		n, err = check()
	}
	var all []*scenario.Scenario
	for range n {
		var s struct {
			scenario.Scenario `yaml:",inline"`
			Files             string `yaml:"folder"` // folderKey
		}
		if err == nil {
			err = dec.Decode(&s)
		}
		if err == nil {
			err = s.Validate()
		}
		s.In(s.Files)
		all = append(all, &s.Scenario)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// None returns the error about a folder that contains no run. It wraps checkpoints.ErrNone.
func None(dir string) error {
	return fmt.Errorf("%s: no run: it has no %s: %w", dir, Name, checkpoints.ErrNone)
}

// Lock locks the folder of a run until release is called, and removes what a killed run has left half written there. It creates
// the folder of a run that is not resumed.
func Lock(dir string, resume bool) (release func(), err error) {
	if !resume {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, fmt.Errorf("open run: %w", err)
		}
	}
	release, err = folderlock.Acquire(dir)
	if resume && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("resume %s: %w", dir, checkpoints.ErrNone)
	}
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Clean(dir); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// Put writes the recipe of a new run, or checks that a resumed run has an equal one. The folder must be locked.
func Put(dir string, settings any, scenarios []*scenario.Scenario, resume bool) error {
	text, err := Text(settings, scenarios)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, Name)
	old, err := os.ReadFile(path)
	switch {
	case err == nil && !resume:
		return fmt.Errorf("%s holds a run already: resume it, or choose another folder", dir)
	case err == nil:
		if diff := difference(string(old), string(text)); diff != "" {
			return fmt.Errorf("%s: %w:\n%s", path, ErrMismatch, diff)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open run: %w", err)
	case resume:
		return fmt.Errorf("resume %s: %w", dir, checkpoints.ErrNone)
	default:
		return replace(dir, text)
	}
	return nil
}

// Replace writes the recipe of a run, in place of an earlier one. The folder must be locked.
func Replace(dir string, settings any, scenarios []*scenario.Scenario) error {
	text, err := Text(settings, scenarios)
	if err != nil {
		return err
	}
	return replace(dir, text)
}

func replace(dir string, text []byte) error {
	if err := atomicfile.WriteBytes(filepath.Join(dir, Name), 0o666, text); err != nil {
		return fmt.Errorf("open run: %w", err)
	}
	return nil
}

// difference lists the lines in which two recipes differ.
func difference(old, now string) string {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	var out []string
	for i := range max(len(a), len(b)) {
		was, is := "", ""
		if i < len(a) {
			was = a[i]
		}
		if i < len(b) {
			is = b[i]
		}
		if was != is {
			out = append(out, fmt.Sprintf("  line %d: the run has %q, asked for %q", i+1, was, is))
		}
	}
	return strings.Join(out, "\n")
}

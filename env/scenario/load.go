package scenario

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/config"
)

//go:embed builtin/*.yaml builtin/family/*.yaml
var builtin embed.FS

// ErrUnknown is wrapped by errors about a name that is neither a built-in scenario nor a file.
var ErrUnknown = errors.New("no such scenario")

// Names returns the names of the built-in scenarios outside families, in alphabetical order. Families returns the others.
func Names() []string {
	files, err := fs.Glob(builtin, "builtin/*.yaml")
	if err != nil {
		panic("scenario: embedded folder: " + err.Error())
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return names
}

// All returns the names of all built-in scenarios: first those outside families, then those of the families.
func All() []string {
	all := Names()
	for _, f := range Families() {
		all = append(all, f.Names()...)
	}
	return all
}

// Load reads a built-in scenario by name, which may be one that Untold returns, or a file by path, applies the "key=value"
// settings and validates the result. It returns an error if a key is unknown. A validation error lists everything that is wrong,
// with its place.
func Load(nameOrPath string, sets ...string) (*Scenario, error) {
	if base, ok := tellNothing(nameOrPath); ok && slices.Contains(All(), base) {
		full, err := Load(base)
		if err != nil {
			return nil, err
		}
		own := append([]string{"name=" + nameOrPath, "about=" + full.About + "; schedulers are told nothing"}, nothingTold...)
		return Load(base, append(own, sets...)...)
	}
	if m, ok := parseMember(nameOrPath); ok {
		return m.read(sets)
	}
	switch {
	case slices.Contains(Names(), nameOrPath):
		return loadBuiltin(nameOrPath+".yaml", sets)
	case !isPath(nameOrPath):
		return nil, unknown(nameOrPath)
	}
	f, err := os.Open(nameOrPath)
	if err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	defer f.Close()
	s, err := read(f, nameOrPath, sets)
	if err != nil {
		return nil, err
	}
	s.dir = filepath.Dir(nameOrPath)
	return s, nil
}

// With returns a copy of the scenario with the "key=value" settings applied. If the overheads of a migration or of a resize equal
// that of a preemption, they follow it, unless they are among the settings, as in a file that does not name them.
func (s *Scenario) With(sets ...string) (*Scenario, error) {
	var text bytes.Buffer
	if err := s.Write(&text); err != nil {
		return nil, err
	}
	own := slices.Clone(sets)
	for _, set := range sets {
		value, ok := strings.CutPrefix(set, "preempt_overhead=")
		if ok && s.MigrateOverhead == s.PreemptOverhead {
			own = append([]string{"migrate_overhead=" + value}, own...)
		}
		if ok && s.ResizeOverhead == s.PreemptOverhead {
			own = append([]string{"resize_overhead=" + value}, own...)
		}
	}
	with, err := read(&text, s.Name, own)
	if err != nil {
		return nil, err
	}
	with.dir = s.dir
	return with, nil
}

// Folder returns the folder of the scenario's file, in which the scenario looks for files that it names; "" for a built-in
// scenario.
func (s *Scenario) Folder() string { return s.dir }

// In makes the scenario look in a folder for the files that it names. Write does not write the folder.
func (s *Scenario) In(folder string) { s.dir = folder }

func loadBuiltin(name string, sets []string) (*Scenario, error) {
	f, err := builtin.Open("builtin/" + name)
	if err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	defer f.Close()
	return read(f, name, sets)
}

func read(r io.Reader, name string, sets []string) (*Scenario, error) {
	s := defaults()
	settings, err := config.Read(r, name, &s, config.Options{Sets: sets})
	if err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	for _, d := range []struct {
		key   string
		value *time.Duration
	}{{"migrate_overhead", &s.MigrateOverhead}, {"resize_overhead", &s.ResizeOverhead}} {
		if given, _ := settings.Get(d.key); given.Source == config.Default {
			*d.value = s.PreemptOverhead
		}
	}
	if len(s.Workload.Mix.Classes) == 0 {
		s.Workload.Mix.Classes = nil // Write writes [] for none
	}
	s.Told.settle()
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return &s, nil
}

// isPath reports whether s is the path of a file rather than a mistyped name: it contains a folder, has a YAML extension, or
// exists.
func isPath(s string) bool {
	if strings.ContainsRune(s, filepath.Separator) || filepath.Ext(s) == ".yaml" || filepath.Ext(s) == ".yml" {
		return true
	}
	info, err := os.Stat(s)
	return err == nil && !info.IsDir()
}

func unknown(name string) error {
	hint := ""
	if near, ok := config.Nearest(name, All()); ok {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("scenario %q: %w: %swant a .yaml file, one of %s or of a family such as %s",
		name, ErrUnknown, hint, strings.Join(Names(), ", "), Families()[0].Names()[0])
}

package scenario

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/internal/config"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Names returns the names of the built-in scenarios, in alphabetical order.
func Names() []string {
	files, err := builtin.ReadDir("builtin")
	if err != nil {
		panic("scenario: embedded folder: " + err.Error())
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".yaml")
	}
	return names
}

// Load reads a built-in scenario by name or a file by path, changes it by the "key=value" settings and validates it. Unknown
// keys are errors; an error lists all that is wrong with its place.
func Load(nameOrPath string, sets ...string) (*Scenario, error) {
	var f fs.File
	var err error
	name, dir := nameOrPath, ""
	switch {
	case slices.Contains(Names(), nameOrPath):
		name += ".yaml"
		f, err = builtin.Open("builtin/" + name)
	case isPath(nameOrPath):
		dir = filepath.Dir(nameOrPath)
		f, err = os.Open(nameOrPath)
	default:
		return nil, unknown(nameOrPath)
	}
	if err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	defer f.Close()
	s, err := read(f, name, sets)
	if err != nil {
		return nil, err
	}
	s.dir = dir
	return s, nil
}

func read(r io.Reader, name string, sets []string) (*Scenario, error) {
	s := defaults()
	if _, err := config.Read(r, name, &s, config.Options{Sets: sets}); err != nil {
		return nil, fmt.Errorf("load scenario: %w", err)
	}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return &s, nil
}

// isPath tells a file from a mistyped name: it has a folder or an extension, or it is there.
func isPath(s string) bool {
	if strings.ContainsRune(s, filepath.Separator) || filepath.Ext(s) == ".yaml" || filepath.Ext(s) == ".yml" {
		return true
	}
	info, err := os.Stat(s)
	return err == nil && !info.IsDir()
}

func unknown(name string) error {
	hint := ""
	if near, ok := config.Nearest(name, Names()); ok {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return fmt.Errorf("scenario %q: %swant a .yaml file or one of %s", name, hint, strings.Join(Names(), ", "))
}

var namePattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*-v[0-9]+$`)

func isName(s string) bool { return len(s) <= 100 && namePattern.MatchString(s) }

// Overrides are the settings that users change most. A zero value leaves the scenario's.
type Overrides struct {
	Trace         string // workload.trace
	Format        string // workload.format
	Arrivals      int    // window.arrivals
	Servers       int    // cluster.servers
	GPUsPerServer int    // cluster.gpus_per_server
}

// Sets returns the overrides as settings for Load.
func (o Overrides) Sets() []string {
	var sets []string
	text := func(key, value string) {
		if value != "" {
			sets = append(sets, key+"="+value)
		}
	}
	number := func(key string, value int) {
		if value != 0 {
			text(key, strconv.Itoa(value))
		}
	}
	text("workload.trace", o.Trace)
	if o.Trace != "" {
		sets = append(sets, "workload.format=") // another file, another header
	}
	if o.Trace != "" && o.Trace != Embedded {
		sets = append(sets, "workload.jobs=0", "workload.load=0")
	}
	text("workload.format", o.Format)
	number("window.arrivals", o.Arrivals)
	number("cluster.servers", o.Servers)
	number("cluster.gpus_per_server", o.GPUsPerServer)
	return sets
}

// SharedVariable names the environment variable that says where the folder of shared traces is.
const SharedVariable = "CLUSTERGYM_SHARED"

// findTrace returns the file that the workload names: as it stands, beside the scenario's file, or below the traces folder
// of the shared folder.
func (s *Scenario) findTrace() (string, error) {
	name := s.Workload.Trace
	tried := []string{name}
	if !filepath.IsAbs(name) {
		if s.dir != "" && s.dir != "." {
			tried = append(tried, filepath.Join(s.dir, name))
		}
		for _, dir := range sharedDirs() {
			tried = append(tried, filepath.Join(dir, "traces", name))
		}
	}
	for _, path := range tried {
		info, err := os.Stat(path)
		if err == nil && !info.IsDir() {
			return path, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("workload.trace %q: %w", name, err)
		}
	}
	return "", fmt.Errorf("workload.trace %q: no such file (tried %s): set %s to the folder that holds traces/%s, "+
		"or workload.trace to a file", name, strings.Join(tried, ", "), SharedVariable, name)
}

// sharedDirs lists where the shared folder may be: where the variable says, else beside the module or the working folder.
func sharedDirs() []string {
	if dir := os.Getenv(SharedVariable); dir != "" {
		return []string{dir}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil
	}
	dirs := []string{filepath.Join(filepath.Dir(cwd), "shared")}
	for dir := cwd; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil && dir != cwd {
			dirs = append(dirs, filepath.Join(filepath.Dir(dir), "shared"))
		}
	}
	return dirs
}

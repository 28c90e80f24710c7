package objectives

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	library "github.com/clustergym/clustergym/objectives"
)

// Names returns the names of the library's objectives, in alphabetical order.
func Names() (names []string) {
	files, err := fs.Glob(library.Files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is correct
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	slices.Sort(names)
	return names
}

// Usual returns the objective of the library that minds completion times alone.
func Usual() *Objective {
	o, err := Open("completion")
	if err != nil {
		panic(err) // a test reads the library
	}
	return o
}

// Open returns the objective of a name of the library, or of a YAML file if the text contains a slash, a backslash or ends in
// .yaml or .yml, or of the YAML or JSON text itself if it begins with a brace or has several lines. The error of an unknown name
// lists those that there are. A file may name CSV files of prices, relative to itself, whose prices become part of its Text.
func Open(nameOrPath string) (*Objective, error) {
	if strings.HasPrefix(nameOrPath, "{") || strings.Contains(nameOrPath, "\n") {
		return Read(strings.NewReader(nameOrPath))
	}
	if strings.ContainsAny(nameOrPath, `/\`) || strings.HasSuffix(nameOrPath, ".yaml") || strings.HasSuffix(nameOrPath, ".yml") {
		f, err := os.Open(nameOrPath)
		if err != nil {
			return nil, fmt.Errorf("objective: %w", err)
		}
		defer f.Close()
		o, err := read(f, filepath.Dir(nameOrPath))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOrPath, err)
		}
		return o, nil
	}
	text, err := library.Files.ReadFile(nameOrPath + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("objective %q, want a YAML file or one of %s", nameOrPath, strings.Join(Names(), ", "))
	}
	return parse(text, "")
}

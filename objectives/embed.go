// Package objectives holds the library of objectives: YAML files that package env/objectives reads.
package objectives

import "embed"

// Files are the objectives of the library, one a file, by their names.
//
//go:embed *.yaml
var Files embed.FS

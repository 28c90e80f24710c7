// Package released contains the policy that comes with the program: the bundle in this folder, which `make release` replaces.
// README.md is its model card, and recipe.yaml contains the settings of its training. agents.LoadFS reads the policy.
package released

import (
	"embed"
	"io/fs"
)

// Name is the name of the policy on the command line.
const Name = "released"

//go:embed manifest.json weights.safetensors policy.onnx README.md
var files embed.FS

// FS returns a file system with the bundle: manifest.json, weights.safetensors, policy.onnx and README.md.
func FS() fs.FS { return files }

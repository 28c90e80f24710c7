// Package released holds the policy that comes with the program: the bundle in this folder, which `make release` replaces.
// README.md is its model card, recipe.yaml holds the settings that it is trained by. agents.LoadFS makes a policy of it.
package released

import (
	"embed"
	"io/fs"
)

// Name is what commands call the policy.
const Name = "released"

//go:embed manifest.json weights.safetensors policy.onnx README.md
var files embed.FS

// FS holds manifest.json, weights.safetensors and policy.onnx, as checkpoints.ReadBundleFS reads them, and README.md.
func FS() fs.FS { return files }

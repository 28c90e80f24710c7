// Package export writes policies as bundles, with their network as an ONNX model for other runtimes. Package agents reads
// bundles, so that a program that only decides links no writer of ONNX models.
package export

import (
	"crypto/ed25519"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
)

// Save writes a policy as a bundle: a folder with its weights, its network as an ONNX model, a manifest that says what every
// number means, and a model card for people. created and training are kept as given. A key signs the bundle, nil signs nothing.
func Save(dir string, p *agents.Policy, created string, training checkpoints.Provenance, key ed25519.PrivateKey) error {
	b, card, err := p.Bundle(created, training)
	if err != nil {
		return err
	}
	if b.ONNX, err = model(p, &b); err != nil {
		return err
	}
	return checkpoints.WriteBundle(dir, b.Manifest, b.Tensors, b.ONNX, card, key)
}

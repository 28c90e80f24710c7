// Package export writes policies as bundles, with their network as an ONNX model for other runtimes. It is separate from package
// agents, which reads bundles, so that a program that only decides does not link the ONNX writer.
package export

import (
	"crypto/ed25519"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
)

// Save writes a policy as a bundle to the folder dir: its weights, its network as an ONNX model, a manifest that explains every
// number, and a model card. It stores created and training unchanged. It signs the bundle with key, unless key is nil.
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

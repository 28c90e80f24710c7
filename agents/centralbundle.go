package agents

import (
	"crypto/ed25519"
	"fmt"
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
)

// centralNetwork identifies how the scores of a model decide. Change the name with any change after which old models no longer
// work.
const centralNetwork = "onnx-scores-1"

// IsCentral reports whether a manifest is that of a Central, for CentralFrom, and not that of a Policy.
func IsCentral(m *checkpoints.Manifest) bool {
	return m.Architecture.Choices["network"] == centralNetwork
}

// Save writes the policy as a bundle to the folder dir: its ONNX model, a manifest and a model card. It stores created and
// training unchanged. It signs the bundle with key, unless key is nil.
func (c *Central) Save(dir, created string, training checkpoints.Provenance, key ed25519.PrivateKey) error {
	m, err := c.manifest(c.Name, created, training)
	if err != nil {
		return err
	}
	m.Architecture.Choices = map[string]string{"network": centralNetwork}
	return checkpoints.WriteBundle(dir, m, nil, c.file, c.card(&training), key)
}

// CentralFrom returns the policy in a bundle that was read, with its prior from a table. It returns an error with the reason if
// the bundle was made for observations or a setting that this version does not have, or if its model cannot be computed.
func CentralFrom(b *checkpoints.Bundle, t baselines.Table) (*Central, error) {
	if !IsCentral(&b.Manifest) {
		return nil, fmt.Errorf("network %q, want %s: %w", b.Manifest.Architecture.Choices["network"], centralNetwork,
			checkpoints.ErrForeign)
	}
	s, err := settingFrom(&b.Manifest, t)
	if err != nil {
		return nil, err
	}
	if b.ONNX == nil {
		return nil, fmt.Errorf("no ONNX model, want one: %w", checkpoints.ErrForeign)
	}
	c, err := NewCentral(b.Manifest.Name, s, b.ONNX)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, checkpoints.ErrForeign)
	}
	return c, nil
}

// card returns the model card in Markdown.
func (c *Central) card(training *checkpoints.Provenance) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("# Policy %s\n", c.Name)
	say("%s", aboutCentral)
	say("* Prior: `%s`", c.Prior)
	lists := "narrow, about one start of the prior at a time"
	if c.Wide.Items > 0 {
		lists = fmt.Sprintf("wide, with %d candidates", c.Wide.Items)
		if len(c.Wide.Rivals) > 0 {
			lists += " and the proposals of `" + strings.Join(c.Wide.Rivals, "`, `") + "`"
		}
	}
	say("* Lists of candidates: %s", lists)
	say("* Jobs that it sees at once: %d, beside those that candidates are about", c.Window)
	say("* Operator set of the model: %d", c.model.Opset)
	for i := range c.inputs {
		say("* Input `%s`: %v %v", c.inputs[i].Name, c.inputs[i].Type, c.inputs[i].Dims)
	}
	say("* Output: `%s`", c.scores)
	if c.servers > 0 {
		say("* Clusters: only those of %d servers, for which the model is made", c.servers)
	} else {
		say("* Clusters: of any number of servers")
	}
	say("\n## Training\n")
	say("* Scenario: %s, as given to `clustergym export`. How it was trained is not recorded", scenarios(training.Scenario))
	sayObjective(say, training)
	saySeen(say, training)
	say("\n## Where it decides\n")
	say("Everywhere, also far from what it was trained on. Where the score of a number that may be named is infinite or no\n" +
		"number, the prior's own is taken.")
	say("\n"+limits, aim(training))
	say("\n%s", use(training.Scenario, c.prior.Needs()))
	say("A Go program finds it with the package `policy`. `manifest.json` lists every feature with its unit and range, and the\n" +
		"SHA-256 of `policy.onnx`.\n\n" + licences)
	return b.String()
}

const aboutCentral = `A scheduler of deep-learning jobs on GPU clusters that was trained with other software: a central controller
that reviews a baseline, its prior. At every decision the prior says what it would do. An ONNX model gives that and every
other candidate a score, and the one with the highest score is carried out.
`

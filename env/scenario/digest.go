package scenario

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/inference"
	"go.yaml.in/yaml/v3"
)

// Digest returns a hash of everything that determines the episodes: the settings, the quotas and the jobs as read.
func (s *Source) Digest() (string, error) {
	h := sha256.New()
	if err := s.scenario.writeDigested(h); err != nil {
		return "", fmt.Errorf("digest of scenario %s: %w", s.scenario.Name, err)
	}
	e := json.NewEncoder(h)
	if err := e.Encode(s.pool.workload.Jobs); err != nil {
		return "", fmt.Errorf("digest of scenario %s: %w", s.scenario.Name, err)
	}
	if err := e.Encode(s.config.Cluster.Quotas); err != nil {
		return "", fmt.Errorf("digest of scenario %s: %w", s.scenario.Name, err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// formerKeys are keys that scenarios had when the first digests were published, with the only value that each had. They stay in
// the digested text, each behind the key that it followed, because published digests must not change.
var formerKeys = []struct{ under, behind, key, value string }{
	{"workload.mix", "least", "most", "2"},
	{"workload.vary", "within", "seed", fmt.Sprint(varySeed)},
	{"inference", "demand", "peak", fmt.Sprint(peak)},
	{"inference", "predictor", "headroom", fmt.Sprint(inference.DefaultHeadroom)},
	{"inference", "headroom", "grace", demandStep.String()},
	{"estimates", "sigma", "bias", "0"},
	{"phases", "every", "slowest", fmt.Sprint(slowest)},
	{"readings", "interval", "noise", fmt.Sprint(noise)},
}

// writeDigested writes the scenario as Write does, with formerKeys.
func (s *Scenario) writeDigested(w io.Writer) error {
	var text strings.Builder
	if err := s.Write(&text); err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text.String()), &doc); err != nil {
		return err
	}
	for _, f := range formerKeys {
		section := doc.Content[0]
		for key := range strings.SplitSeq(f.under, ".") {
			if _, section = find(section, key); section == nil {
				break // the scenario does without
			}
		}
		at, before := find(section, f.behind)
		if before == nil {
			continue
		}
		value := f.value
		if f.key == "most" && before.Value == "0" {
			value = "0" // least and most were set together
		}
		section.Content = slices.Insert(section.Content, at+2,
			&yaml.Node{Kind: yaml.ScalarNode, Value: f.key}, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return err
	}
	return e.Close()
}

// find returns the value of a key of a YAML mapping and the index of the key in its content, or nil if there is none.
func find(mapping *yaml.Node, key string) (int, *yaml.Node) {
	for i := 0; mapping != nil && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i, mapping.Content[i+1]
		}
	}
	return 0, nil
}

package checkpoints

import (
	"fmt"
	"maps"
	"slices"

	"github.com/clustergym/clustergym/internal/names"
)

// checkTexts returns an error for the first text of a manifest that is not safe to print. Manifests are untrusted.
func (m *Manifest) checkTexts() error {
	texts := []struct{ field, value string }{
		{"created", m.Created}, {"prior.name", m.Prior.Name}, {"training.scenario", m.Training.Scenario},
		{"training.trace", m.Training.Trace}, {"training.git", m.Training.Git}, {"training.go", m.Training.Go},
	}
	add := func(value, field string, args ...any) {
		texts = append(texts, struct{ field, value string }{fmt.Sprintf(field, args...), value})
	}
	if from := m.Training.From; from != nil {
		add(from.Policy, "training.from.policy")
		add(from.SHA256, "training.from.sha256")
		add(from.Scenario, "training.from.scenario")
	}
	for i, p := range m.Training.Seen {
		add(p.Trace, "training.seen[%d].trace", i)
	}
	for _, group := range m.Features.groups() {
		for i, f := range group.list {
			add(f.Name, "features.%s[%d].name", group.name, i)
			add(f.Unit, "features.%s[%d].unit", group.name, i)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m.Architecture.Sizes)) {
		add(k, "architecture.sizes")
	}
	for _, k := range slices.Sorted(maps.Keys(m.Architecture.Choices)) {
		add(k, "architecture.choices")
		add(m.Architecture.Choices[k], "architecture.choices[%q]", k)
	}
	for i, t := range m.Tensors {
		add(t.Name, "tensors[%d].name", i)
		add(t.DType, "tensors[%d].dtype", i)
	}
	if !names.OK(m.Name) {
		return fmt.Errorf("name: %.300q, want at most %d bytes of printable UTF-8", m.Name, names.Longest)
	}
	for _, t := range texts {
		if !names.Clean(t.value) {
			return fmt.Errorf("%s: %.300q, want printable UTF-8", t.field, t.value)
		}
	}
	return nil
}

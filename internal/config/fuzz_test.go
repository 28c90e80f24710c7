package config

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/internal/must"
)

// FuzzRead checks that no input panics, that a rejected input changes nothing, and that an accepted input survives writing as
// YAML and reading again.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "name: x\nseed: 3\n", "train:\n  lr: 3e-4\n  timeout: 1h30m\n  hidden: [1, 2]\n", "jobs: [{name: a, gpus: 1}]",
		"a: &a [*a]", "? {a: b}\n: c", "seed: !!int \"3\"", "seed: 0x1F", "name: |\n  x\n", "%YAML 1.2\n---\n", "\xff\xfe", "tags: [~]",
	} {
		f.Add([]byte(seed), "train.lr=1")
	}
	f.Add([]byte(""), "tags=[a, b]")
	f.Add([]byte(""), "jobs={")
	f.Fuzz(func(t *testing.T, text []byte, set string) {
		got := defaults()
		if _, err := Read(bytes.NewReader(text), "f.yaml", &got, Options{Sets: []string{set}}); err != nil {
			if d := diff(defaults(), got); d != "" {
				t.Fatalf("refused input changed the destination (-want +got):\n%s", d)
			}
			return
		}
		again := must.Get(yaml.Marshal(got))(t)
		back := defaults()
		if _, err := Read(bytes.NewReader(again), "again.yaml", &back, Options{}); err != nil {
			t.Fatalf("the YAML of an accepted configuration is refused: %v\n%s", err, again)
		}
		if d := cmp.Diff(got, back, cmp.AllowUnexported(settings{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("round trip (-first +second):\n%s", d)
		}
	})
}

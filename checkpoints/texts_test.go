package checkpoints

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/names"
)

// acting lists texts that affect a terminal: they clear it or reverse the text around them.
var acting = []string{"\x1b[2J", "a\x07", "\u009b2J", "\u202egpj.exe", "\u2066x", "\u200f", "\u061c"}

// TestTextsThatActOnATerminal checks that manifests with such texts can be neither written nor read, and that the error shows the
// text escaped.
func TestTextsThatActOnATerminal(t *testing.T) {
	for _, text := range acting {
		for field, set := range map[string]func(*Manifest){
			"name":                    func(m *Manifest) { m.Name = text },
			"/created":                func(m *Manifest) { m.Created = text },
			"/prior/name":             func(m *Manifest) { m.Prior.Name = text },
			"/features/job/1/name":    func(m *Manifest) { m.Features.Job[1].Name = text },
			"/features/server/0/unit": func(m *Manifest) { m.Features.Server[0].Unit = text },
			"/architecture/sizes/" + names.Escape(text): func(m *Manifest) { m.Architecture.Sizes[text] = 1 },
			"/architecture/choices/mixer":               func(m *Manifest) { m.Architecture.Choices["mixer"] = text },
			"/training/scenario":                        func(m *Manifest) { m.Training.Scenario = text },
			"/training/trace":                           func(m *Manifest) { m.Training.Trace = text },
			"/training/objective":                       func(m *Manifest) { m.Training.Objective = text },
			"/training/git":                             func(m *Manifest) { m.Training.Git = text },
			"/training/go":                              func(m *Manifest) { m.Training.Go = text },
			"/training/from/policy":                     func(m *Manifest) { m.Training.From = &Origin{Policy: text} },
			"/training/from/sha256":                     func(m *Manifest) { m.Training.From = &Origin{SHA256: text} },
			"/training/from/scenario":                   func(m *Manifest) { m.Training.From = &Origin{Scenario: text} },
			"/training/seen/0/trace":                    func(m *Manifest) { m.Training.Seen = []Period{{Trace: text}} },
		} {
			m, tensors := policy()
			set(&m)
			want := fmt.Sprintf("%s: %q", field, text)
			if err := WriteBundle(filepath.Join(t.TempDir(), "p"), m, tensors, nil, "", nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: written, error %v", field, text, err)
			}
			// A bundle with a correct checksum from another writer must be rejected too.
			whole := files(t, writePolicy(t))
			b := must.Get(ReadBundleFS(whole, Limits{}))(t)
			set(&b.Manifest)
			sealed := must.Get(encodeManifest(&b.Manifest, bundleKind, BundleSchema))(t)
			whole[manifestName] = &fstest.MapFile{Data: sealed}
			if _, err := ReadBundleFS(whole, Limits{}); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %q: read, error %v", field, text, err)
			}
		}
	}
}

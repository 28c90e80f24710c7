package policy_test

import (
	"crypto/ed25519"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/onnx"
	"github.com/clustergym/clustergym/policy"
)

// TestCentralControllersAreFound checks that the folder of a policy that was trained with other software is found like that of a
// team, with its prior and what it was trained on.
func TestCentralControllersAreFound(t *testing.T) {
	var g onnx.Graph
	mask := g.Input("action_mask", onnx.Float, onnx.Dim{Name: "C"})
	g.Output(mask, onnx.Float, onnx.Dim{Name: "C"})
	c := must.Get(agents.NewCentral("mine", agents.Setting{Window: 8, Prior: "fifo+loan"}, g.Model("m", "", "", nil)))(t)
	dir := filepath.Join(t.TempDir(), "policy")
	training := checkpoints.Provenance{Seen: []checkpoints.Period{{Trace: "t", To: 1}}}
	must.Do(t, c.Save(dir, "", training, nil))
	for arg, name := range map[string]string{dir: "mine", "x=" + dir: "x", dir + "+know": "mine+know"} {
		p, err := new(policy.Finder).Load(arg)
		if err != nil {
			t.Fatalf("%s: %v", arg, err)
		}
		s, err := p.New()
		if err != nil {
			t.Fatalf("%s: %v", arg, err)
		}
		if p.Name != name || s.Name() != name || p.Digest != c.Digest() || !p.Trained() || p.Central == nil || p.Learned != nil ||
			p.Prior.Name != policy.Prior || len(p.Training.Seen) != 1 || p.Folder != dir {
			t.Errorf("%s: %+v makes %s", arg, p, s.Name())
		}
		if prior, err := p.Prior.New(); err != nil || prior.Name() != policy.Prior {
			t.Errorf("%s: prior %v, %v", arg, prior, err)
		}
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	from := &policy.Finder{Key: key.Public().(ed25519.PublicKey)}
	if _, err := from.Load(dir); !errors.Is(err, checkpoints.ErrUnsigned) {
		t.Errorf("unsigned: error %v", err)
	}
	must.Do(t, c.Save(dir, "", training, key))
	if _, err := from.Load(dir); err != nil {
		t.Errorf("signed: %v", err)
	}
	b := must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(t)
	b.Manifest.Features.Server[3].Name = "other"
	must.Do(t, checkpoints.WriteBundle(dir, b.Manifest, nil, b.ONNX, "", nil))
	_, err := new(policy.Finder).Load(dir)
	if !errors.Is(err, checkpoints.ErrForeign) || !strings.Contains(err.Error(), "read policy "+dir) {
		t.Errorf("made for other features: error %v", err)
	}
}

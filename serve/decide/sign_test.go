package decide_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// signed writes the released policy into a folder, under a name and signed with a key; nil for unsigned.
func signed(t testing.TB, dir, name string, key ed25519.PrivateKey) {
	t.Helper()
	p, m, err := agents.LoadFS(released.FS())
	must.Do(t, err)
	p.Name = name
	must.Do(t, export.Save(dir, p, m.Created, m.Training, key))
}

func keys(number byte) (*policy.Finder, ed25519.PrivateKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	return &policy.Finder{Key: key.Public().(ed25519.PublicKey)}, key
}

func TestFoldersMustBeSigned(t *testing.T) {
	from, key := keys(1)
	_, other := keys(2)
	from.Run = func(dir string) func() (*agents.Policy, checkpoints.Provenance, error) {
		if filepath.Base(dir) != "run" {
			return nil
		}
		return func() (*agents.Policy, checkpoints.Provenance, error) {
			p, m, err := agents.LoadFS(released.FS())
			return p, m.Training, err
		}
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	signed(t, at("mine"), "mine", key)
	signed(t, at("others"), "others", other)
	signed(t, at("nobodys"), "nobodys", nil)
	must.Do(t, os.Mkdir(at("run"), 0o777))
	for _, c := range []struct {
		arg string
		ok  bool
	}{
		{at("mine"), true}, {"x=" + at("mine"), true}, {at("mine") + "+loan", true}, {released.Name, true}, {"prior", true}, {"fifo", true},
		{at("others"), false}, {at("nobodys"), false}, {"x=" + at("nobodys"), false}, {at("nobodys") + "+loan", false}, {at("run"), false},
	} {
		for who, load := range map[string]func() (*policy.Policy, error){
			"policy":   func() (*policy.Policy, error) { return from.Load(c.arg) },
			"fallback": func() (*policy.Policy, error) { return from.Fallback(c.arg)(decidetest.Baseline("fifo")) },
		} {
			if _, err := load(); (err == nil) != c.ok || err != nil && !errors.Is(err, checkpoints.ErrUnsigned) {
				t.Errorf("%s as %s: %v, want it taken: %v", c.arg, who, err, c.ok)
			}
		}
		if _, err := (&policy.Finder{Run: from.Run}).Load(c.arg); err != nil {
			t.Errorf("%s without a key: %v", c.arg, err)
		}
	}
}

// TestAReloadedBundleMustBeSigned checks that a changed bundle is loaded only if the key has signed it, whatever else is wrong
// with it.
func TestAReloadedBundleMustBeSigned(t *testing.T) {
	from, key := keys(1)
	_, other := keys(2)
	dir := filepath.Join(t.TempDir(), "policy")
	signed(t, dir, "first", key)
	source := must.Get(from.Find(dir))(t)
	s := newSite(t, nil, func(c *decide.Config) { c.Source = source })
	decides := func(want string) {
		t.Helper()
		s.Reload(false)
		if got := s.Policy().Name; got != want {
			t.Errorf("%s decides, want %s", got, want)
		}
	}
	signed(t, dir, "unsigned", nil)
	decides("first")
	contains(t, s.log.String(), "the old one goes on", "no manifest.json.sig", "clustergym export --sign-key")
	signed(t, dir, "another's", other)
	decides("first")
	contains(t, s.log.String(), "another key has signed it")
	signed(t, dir, "second", key)
	decides("second")
	must.Do(t, os.Remove(filepath.Join(dir, "manifest.json.sig")))
	decides("second")
	contains(t, s.metrics(t), `clustergym_reloads_total{result="ok"} 1`, `clustergym_reloads_total{result="refused"} 3`)
}

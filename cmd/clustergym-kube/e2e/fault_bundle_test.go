package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

// bundle is the folder of a policy that a test damages.
type bundle struct {
	t    testing.TB
	dir  string
	good map[string][]byte
}

// newBundle returns a signed copy of the released policy.
func newBundle(t testing.TB, sign ed25519.PrivateKey) *bundle {
	t.Helper()
	b := &bundle{t: t, dir: t.TempDir(), good: map[string][]byte{}}
	for _, name := range []string{"manifest.json", "weights.safetensors", "policy.onnx", "README.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "checkpoints", "released", name))
		if err != nil {
			t.Fatal(err)
		}
		b.good[name] = text
	}
	b.good["manifest.json.sig"] = b.signature(sign)
	b.restore()
	return b
}

// signature returns the signature of the manifest with a key.
func (b *bundle) signature(key ed25519.PrivateKey) []byte {
	sig := ed25519.Sign(key, append([]byte("clustergym policy manifest 1\n"), b.good["manifest.json"]...))
	return []byte(base64.StdEncoding.EncodeToString(sig) + "\n")
}

func (b *bundle) write(name string, text []byte) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), text, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) remove(name string) {
	b.t.Helper()
	if err := os.Remove(filepath.Join(b.dir, name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) restore() {
	b.t.Helper()
	for name, text := range b.good {
		b.write(name, text)
	}
}

// TestFaultBundle checks that a bundle that is replaced by garbage is refused and counted, while the previous one keeps deciding.
func TestFaultBundle(t *testing.T) {
	t.Parallel()
	c := withNodes(t, 4)
	k := check(t, c)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	verify := filepath.Join(t.TempDir(), "verify.pem")
	if err := os.WriteFile(verify, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBundle(t, private)
	s := run(t, c, "scheduler", "--mode=live", "--policy="+b.dir, "--verify-key="+verify, "--poll=100ms", "--verbose", "--estimate=1m",
		"--gang-deadline="+gangDeadline.String())
	draw := rand.New(rand.NewPCG(6, 0))
	garbage := make([]byte, 100_000)
	for i := range garbage {
		garbage[i] = byte(draw.Uint32())
	}
	x := tally{name: "bundle replaced by garbage"}
	pods := 0
	for i, step := range []struct {
		what string
		do   func()
	}{
		{"weights cut short", func() { b.write("weights.safetensors", b.good["weights.safetensors"][:1000]) }},
		{"weights of random bytes", func() { b.write("weights.safetensors", garbage) }},
		{"one bit of the weights", func() {
			text := append([]byte(nil), b.good["weights.safetensors"]...)
			text[len(text)/2] ^= 1
			b.write("weights.safetensors", text)
		}},
		{"no weights", func() { b.remove("weights.safetensors") }},
		{"no manifest", func() { b.remove("manifest.json") }},
		{"a manifest of random bytes", func() { b.write("manifest.json", garbage) }},
		{"an empty manifest", func() { b.write("manifest.json", nil) }},
		{"a signature by another key", func() { b.write("manifest.json.sig", b.signature(other)) }},
		{"no signature", func() { b.remove("manifest.json.sig") }},
	} {
		refused := s.number(t, `clustergym_reloads_total{result="refused"}`)
		taken := s.number(t, `clustergym_reloads_total{result="ok"}`)
		step.do()
		c.Await(step.what+" to be refused", func(context.Context) error {
			if n := s.number(t, `clustergym_reloads_total{result="refused"}`); n <= refused {
				return fmt.Errorf("%d were", n)
			}
			return nil
		})
		g := kubetest.Gang{API: kubetest.Labelled, Name: fmt.Sprintf("g%d", i), Pods: 2, GPUs: 1}
		k.expect("default/"+g.Name, g.Pods)
		c.GangPods(g)
		c.AwaitPods("default", g.Selector(), g.Pods, "run", kubetest.Running)
		pods += g.Pods
		b.restore()
		c.Await("the good bundle to be taken up after "+step.what, func(context.Context) error {
			if n := s.number(t, `clustergym_reloads_total{result="ok"}`); n <= taken {
				return fmt.Errorf("%d were", n)
			}
			return nil
		})
		x.row(step.what, "refused, the old one bound a gang, the good one was taken up")
	}
	k.finish()
	x.row("reloads refused", s.metric(t, `clustergym_reloads_total{result="refused"}`))
	x.row("reloads done", s.metric(t, `clustergym_reloads_total{result="ok"}`))
	x.row("rounds that failed", s.metric(t, `clustergym_kube_rounds_total{result="failed"}`))
	x.rows = append(x.rows, k.rows(9, pods)...)
	x.log(t)
}

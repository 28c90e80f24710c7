package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// keyFiles writes a pair of keys in the format of openssl and returns their paths.
func keyFiles(t *testing.T, number byte) (private, public string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	secret := require.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	open := require.Get(x509.MarshalPKIXPublicKey(key.Public()))(t)
	private = file(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	if err := os.Chmod(private, 0o600); err != nil { // others could sign with it, and it would be refused
		t.Fatal(err)
	}
	return private, file(t, "pub.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: open})))
}

// TestSignedPolicies checks that commands with a key accept only policies signed with it.
func TestSignedPolicies(t *testing.T) {
	t.Setenv(tokenVariable, "")
	t.Chdir(t.TempDir())
	train2(t, "runs/one")
	private, public := keyFiles(t, 1)
	_, other := keyFiles(t, 2)
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	const policy = "runs/one/policy"
	must(t, "export", "--run", "runs/one", "--name", "signed", "--sign-key", private)
	must(t, "plan", "--snapshot", snapshot, "--policy", policy)
	plan := []string{"plan", "--snapshot", snapshot, "--verify-key", public, "--policy"}
	contains(t, must(t, append(plan, policy)...).out, "signed at")
	must(t, append(plan, "released")...)

	must(t, "export", "--run", "runs/one", "--name", "unsigned")
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"a policy that nobody has signed", append(plan, policy), cmdline.CodeMismatch, "sign it with clustergym export --sign-key"},
		{"a run", append(plan, "runs/one"), cmdline.CodeMismatch, "clustergym export --run runs/one --sign-key"},
		{"a server of it", []string{"serve", "--listen", "127.0.0.1:0", "--verify-key", public, "--policy", policy}, cmdline.CodeMismatch, "not signed"},
		{"as a fallback", []string{
			"serve", "--listen", "127.0.0.1:0", "--verify-key", public, "--policy", "fifo", "--fallback", policy,
		}, cmdline.CodeMismatch, "not signed"},
		{"no such key", []string{"plan", "--snapshot", snapshot, "--verify-key", "none.pem", "--policy", policy}, cmdline.CodeError, "none.pem"},
		{"a public key to sign with", []string{"export", "--run", "runs/one", "--sign-key", public}, cmdline.CodeError, "want a PRIVATE KEY"},
	} {
		if s := command(t, c.args...); s.code != c.code || !strings.Contains(s.talk, c.want) {
			t.Errorf("%s: exit code %d, want %d\n%s", c.name, s.code, c.code, s.talk)
		}
	}
	must(t, "export", "--run", "runs/one", "--name", "again", "--sign-key", private)
	if s := command(t, "plan", "--snapshot", snapshot, "--verify-key", other, "--policy", policy); s.code != cmdline.CodeMismatch ||
		!strings.Contains(s.talk, "another key has signed it") {
		t.Errorf("by another key: exit code %d\n%s", s.code, s.talk)
	}
}

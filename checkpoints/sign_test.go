package checkpoints

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/clustergym/clustergym/internal/must"
)

// keys returns a pair of keys that depends only on number.
func keys(number byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	return key.Public().(ed25519.PublicKey), key
}

func encoded(t testing.TB, kind string, key any) []byte {
	t.Helper()
	encode := x509.MarshalPKCS8PrivateKey
	if kind == "PUBLIC KEY" {
		encode = x509.MarshalPKIXPublicKey
	}
	der := must.Get(encode(key))(t)
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func writeSigned(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	m, tensors := policy()
	must.Do(t, WriteBundle(dir, m, tensors, []byte("a model"), "# Card\n", key))
	return dir
}

func TestSignedBundle(t *testing.T) {
	public, private := keys(1)
	dir := writeSigned(t, private)
	signed := must.Get(ReadSignedBundle(dir, public, Limits{}))(t)
	plain := must.Get(ReadBundle(dir, Limits{}))(t)
	if d := equalBundles(signed, plain); d != "" {
		t.Errorf("with a key (-) and without (+):\n%s", d)
	}

	// A reader without a key ignores the signature, and writing an unsigned bundle removes it.
	file := filepath.Join(dir, signatureName)
	must.Do(t, os.WriteFile(file, []byte("nonsense"), 0o666))
	if _, err := ReadBundle(dir, Limits{}); err != nil {
		t.Error(err)
	}
	m, tensors := policy()
	must.Do(t, WriteBundle(dir, m, tensors, nil, "", nil))
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unsigned bundle has %s: %v", signatureName, err)
	}
}

func TestBundlesThatTheKeyHasNotSigned(t *testing.T) {
	public, private := keys(1)
	_, other := keys(2)
	for _, c := range []struct {
		name   string
		key    ed25519.PrivateKey
		change func(dir string) error
		want   string
	}{
		{"without a signature", nil, nil, "no manifest.json.sig: not signed by the given key: sign it with clustergym export --sign-key"},
		{"by another key", other, nil, "another key has signed it"},
		{"with an empty signature", private, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, signatureName), nil, 0o666)
		}, "0 bytes, want 64"},
		{"with a signature that has no end", private, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, signatureName), bytes.Repeat([]byte("A"), 1<<20), 0o666)
		}, "1048576 bytes, at most 256"},
		{"with a signature of the bare manifest", private, func(dir string) error {
			text, err := os.ReadFile(filepath.Join(dir, manifestName))
			if err != nil {
				return err
			}
			bare := base64.StdEncoding.EncodeToString(ed25519.Sign(private, text))
			return os.WriteFile(filepath.Join(dir, signatureName), []byte(bare), 0o666)
		}, "another key has signed it"},
		{"with the signature of another bundle", private, func(dir string) error {
			m, tensors := policy()
			m.Name = "another"
			from := filepath.Join(dir, "..", "another")
			if err := WriteBundle(from, m, tensors, nil, "", private); err != nil {
				return err
			}
			text, err := os.ReadFile(filepath.Join(from, signatureName))
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, signatureName), text, 0o666)
		}, "manifest.json was changed since"},
	} {
		dir := writeSigned(t, c.key)
		if c.change != nil {
			must.Do(t, c.change(dir))
		}
		if _, err := ReadSignedBundle(dir, public, Limits{}); !errors.Is(err, ErrUnsigned) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := ReadBundle(dir, Limits{}); err != nil {
			t.Errorf("%s, read without a key: %v", c.name, err)
		}
	}
	for _, none := range []ed25519.PublicKey{nil, public[:31]} {
		if _, err := ReadSignedBundle(writeSigned(t, private), none, Limits{}); err == nil {
			t.Errorf("a key of %d bytes reads a bundle", len(none))
		}
	}
}

// TestNoBitOfASignedBundleChanges checks that the reader rejects any changed bit in the signature, the manifest or the files
// whose hashes the manifest contains.
func TestNoBitOfASignedBundleChanges(t *testing.T) {
	public, private := keys(1)
	dir := writeSigned(t, private)
	whole := files(t, dir)
	text := must.Get(os.ReadFile(filepath.Join(dir, signatureName)))(t)
	whole[signatureName] = &fstest.MapFile{Data: text}
	must.Get(readBundle(whole, public, Limits{}.withDefaults()))(t)
	for _, name := range []string{signatureName, manifestName, weightsName, modelName} {
		good := whole[name].Data
		for at := range 8 * len(good) {
			bad := bytes.Clone(good)
			bad[at/8] ^= 1 << (at % 8)
			whole[name].Data = bad
			if _, err := readBundle(whole, public, Limits{}.withDefaults()); !errors.Is(err, ErrUnsigned) && !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s with bit %d changed (%q): %v", name, at, bad, err)
			}
		}
		whole[name].Data = good
	}
}

// TestOpenSSL checks files written by openssl: a key of openssl genpkey, its public key, and a signature by openssl pkeyutl.
func TestOpenSSL(t *testing.T) {
	dir := filepath.Join("testdata", "openssl")
	public := must.Get(ReadVerifyKey(filepath.Join(dir, "pub.pem")))(t)
	manifest := must.Get(os.ReadFile(filepath.Join("testdata", "schema-2", manifestName)))(t)
	if err := verify(os.DirFS(dir), public, manifest); err != nil {
		t.Error(err)
	}
	if err := verify(os.DirFS(dir), public, manifest[1:]); !errors.Is(err, ErrUnsigned) {
		t.Errorf("another manifest: %v", err)
	}
}

func TestKeysAreRead(t *testing.T) {
	public, private := keys(7)
	other := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	secret, open := encoded(t, "PRIVATE KEY", private), encoded(t, "PUBLIC KEY", public)
	dir := t.TempDir()
	for _, c := range []struct {
		name         string
		text         []byte
		sign, verify string // parts of the errors, "" for no error
	}{
		{"a private key", secret, "", "want a PUBLIC KEY as `openssl pkey"},
		{"a public key", open, "want a PRIVATE KEY as `openssl genpkey", ""},
		{"a public key with a remark", append([]byte("of 2026\n"), open...), "want a PRIVATE KEY", ""},
		{"two keys", append(bytes.Clone(open), open...), "want a PRIVATE KEY", "more than one key"},
		{"a private key of another kind", encoded(t, "PRIVATE KEY", other), "want an Ed25519 private key", "want a PUBLIC KEY"},
		{"a public key of another kind", encoded(t, "PUBLIC KEY", other.Public()), "want a PRIVATE KEY", "want an Ed25519 public key"},
		{"a locked key", bytes.ReplaceAll(secret, []byte("PRIVATE"), []byte("ENCRYPTED PRIVATE")), `"ENCRYPTED PRIVATE KEY"`, "ENCRYPTED"},
		{"a cut key", append([]byte("-----BEGIN PUBLIC KEY-----\nMCow\n"), "-----END PUBLIC KEY-----\n"...), "want a PRIVATE KEY", "asn1"},
		{"nothing", nil, "no PEM", "no PEM"},
		{"far too much", bytes.Repeat(open, 1000), "at most 16384", "at most 16384"},
	} {
		path := filepath.Join(dir, "key.pem")
		must.Do(t, os.WriteFile(path, c.text, 0o600))
		gotSign, err := ReadSigningKey(path)
		if (err == nil) != (c.sign == "") || err != nil && !strings.Contains(err.Error(), c.sign) || err == nil && !gotSign.Equal(private) {
			t.Errorf("%s to sign with: %v, want %q", c.name, err, c.sign)
		}
		gotVerify, err := ReadVerifyKey(path)
		if (err == nil) != (c.verify == "") || err != nil && !strings.Contains(err.Error(), c.verify) || err == nil && !gotVerify.Equal(public) {
			t.Errorf("%s to verify by: %v, want %q", c.name, err, c.verify)
		}
	}
	if _, err := ReadVerifyKey(filepath.Join(dir, "none.pem")); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.pem") {
		t.Errorf("no file: %v", err)
	}
	if _, err := ReadSigningKey(dir); err == nil {
		t.Error("a folder is a key")
	}
}

// TestSigningKeysAreSecret checks that a signing key that everybody may read or change is refused with what to do, and that a public
// key is not.
func TestSigningKeysAreSecret(t *testing.T) {
	public, private := keys(8)
	dir := t.TempDir()
	secret, open := filepath.Join(dir, "key.pem"), filepath.Join(dir, "pub.pem")
	must.Do(t, errors.Join(os.WriteFile(secret, encoded(t, "PRIVATE KEY", private), 0o600), os.WriteFile(open, encoded(t, "PUBLIC KEY", public), 0o600)))
	for mode, want := range map[os.FileMode]string{
		0o400: "", 0o600: "", 0o640: "", 0o440: "", 0o644: "mode 0644", 0o604: "mode 0604", 0o602: "mode 0602", 0o666: "mode 0666", 0o777: "mode 0777",
	} {
		must.Do(t, errors.Join(os.Chmod(secret, mode), os.Chmod(open, mode|0o400)))
		_, err := ReadSigningKey(secret)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "chmod 600 "+secret)) {
			t.Errorf("%#o: %v, want %q", mode, err, want)
		}
		if _, err := ReadVerifyKey(open); err != nil {
			t.Errorf("a public key of mode %#o: %v", mode, err)
		}
	}
}

// FuzzSignatureFiles checks that a key or signature that was read is read back unchanged after writing, and that no input causes
// a panic.
func FuzzSignatureFiles(f *testing.F) {
	public, private := keys(3)
	f.Add(encoded(f, "PRIVATE KEY", private))
	f.Add(encoded(f, "PUBLIC KEY", public))
	f.Add(sign(private, []byte("{}")))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := parseVerifyKey(text); err == nil {
			if again, err := parseVerifyKey(encoded(t, "PUBLIC KEY", key)); err != nil || !again.Equal(key) {
				t.Fatalf("%x, again %x, %v", key, again, err)
			}
		}
		if key, err := parseSigningKey(text); err == nil {
			if again, err := parseSigningKey(encoded(t, "PRIVATE KEY", key)); err != nil || !again.Equal(key) {
				t.Fatalf("another key again: %v", err)
			}
			signed := fstest.MapFS{signatureName: {Data: sign(key, text)}}
			must.Do(t, verify(signed, key.Public().(ed25519.PublicKey), text))
		}
		if b, err := parseSignature(text); err == nil && len(b) != ed25519.SignatureSize {
			t.Fatalf("a signature of %d bytes", len(b))
		}
	})
}

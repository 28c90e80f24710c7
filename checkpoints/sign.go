package checkpoints

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// signatureName is the file of a bundle's signature. It contains, in base64 (RFC 4648), the Ed25519 signature (RFC 8032) of
// signedPrefix followed by the bytes of the manifest, which contains the hashes of the other files.
const signatureName = manifestName + ".sig"

// signedPrefix ensures that a signature made for another purpose is not valid for a bundle.
const signedPrefix = "clustergym policy manifest 1\n"

// ErrUnsigned is wrapped by the error of a reader whose key has not signed the bundle.
var ErrUnsigned = errors.New("not signed by the given key")

const (
	maxKey       = 16 << 10 // largest size of a key file, in bytes
	maxSignature = 256      // largest size of a signature file, in bytes
)

// ReadSigningKey reads an Ed25519 private key from a PEM file in PKCS #8, as `openssl genpkey -algorithm ed25519` writes it.
// It refuses a file that users other than its owner and group may read or change.
func ReadSigningKey(path string) (ed25519.PrivateKey, error) {
	text, err := readPath(path, maxKey)
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	key, err := parseSigningKey(text)
	if err == nil {
		err = isSecret(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read signing key: %s: %w", path, err)
	}
	return key, nil
}

// isSecret returns an error if all users of the system may read or change a file. Windows has no such modes.
func isSecret(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("its mode %#o lets every user of this computer use the key, want %#o: chmod 600 %s, and make a new key if "+
			"others were here", mode, 0o600, path)
	}
	return nil
}

// ReadVerifyKey reads an Ed25519 public key from a PEM file in PKIX, as `openssl pkey -pubout` writes it.
func ReadVerifyKey(path string) (ed25519.PublicKey, error) {
	text, err := readPath(path, maxKey)
	if err != nil {
		return nil, fmt.Errorf("read key to verify by: %w", err)
	}
	key, err := parseVerifyKey(text)
	if err != nil {
		return nil, fmt.Errorf("read key to verify by: %s: %w", path, err)
	}
	return key, nil
}

// readPath reads a regular file of at most limit bytes.
func readPath(path string, limit int64) ([]byte, error) {
	text, err := readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path), limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return text, nil
}

func parseSigningKey(text []byte) (ed25519.PrivateKey, error) {
	der, err := parsePEM(text, "PRIVATE KEY", "openssl genpkey -algorithm ed25519 -out key.pem")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	if key, ok := key.(ed25519.PrivateKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("%T, want an Ed25519 private key", key)
}

func parseVerifyKey(text []byte) (ed25519.PublicKey, error) {
	der, err := parsePEM(text, "PUBLIC KEY", "openssl pkey -in key.pem -pubout -out pub.pem")
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, err
	}
	if key, ok := key.(ed25519.PublicKey); ok {
		return key, nil
	}
	return nil, fmt.Errorf("%T, want an Ed25519 public key", key)
}

// parsePEM returns the content of the only block of a PEM file. command is the command that writes such a file, for errors.
func parsePEM(text []byte, kind, command string) ([]byte, error) {
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("no PEM, want a %s as `%s` writes it", kind, command)
	}
	if block.Type != kind {
		return nil, fmt.Errorf("%q, want a %s as `%s` writes it", block.Type, kind, command)
	}
	if len(strings.TrimSpace(string(rest))) > 0 {
		return nil, errors.New("more than one key, want one")
	}
	return block.Bytes, nil
}

// sign returns the content of the signature file of a manifest.
func sign(key ed25519.PrivateKey, manifest []byte) []byte {
	signature := ed25519.Sign(key, append([]byte(signedPrefix), manifest...))
	return append(base64.StdEncoding.AppendEncode(nil, signature), '\n')
}

// parseSignature parses the content of a signature file.
func parseSignature(text []byte) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return nil, err
	}
	if len(b) != ed25519.SignatureSize {
		return nil, fmt.Errorf("%d bytes, want %d", len(b), ed25519.SignatureSize)
	}
	return b, nil
}

// verify returns an error unless key has signed the bundle's manifest.
func verify(fsys fs.FS, key ed25519.PublicKey, manifest []byte) error {
	const remedy = "sign it with clustergym export --sign-key"
	text, err := readFile(fsys, signatureName, maxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no %s: %w: %s", signatureName, ErrUnsigned, remedy)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnsigned, err)
	}
	signature, err := parseSignature(text)
	if err != nil {
		return fmt.Errorf("%s: %w: %w: %s", signatureName, ErrUnsigned, err, remedy)
	}
	if !ed25519.Verify(key, append([]byte(signedPrefix), manifest...), signature) {
		return fmt.Errorf("%s: %w: %s was changed since, or another key has signed it: %s and the private half of the key given",
			signatureName, ErrUnsigned, manifestName, remedy)
	}
	return nil
}

package checkpoints

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
)

// envelope is the first part of every manifest. The checksum is the SHA-256 of the compact JSON of the manifest with an empty
// checksum, so it does not depend on layout.
type envelope struct {
	SchemaVersion int    `json:"schema_version"`
	Kind          string `json:"kind"`
	Checksum      string `json:"checksum"`
}

func (e *envelope) seal() *envelope { return e }

// sealed is a manifest: a struct that embeds envelope.
type sealed interface{ seal() *envelope }

// encodeManifest fills in m's envelope and returns the manifest's JSON.
func encodeManifest(m sealed, kind string, version int) ([]byte, error) {
	*m.seal() = envelope{SchemaVersion: version, Kind: kind}
	sum, err := checksum(m)
	if err != nil {
		return nil, err
	}
	m.seal().Checksum = sum
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// checksum returns the hash of m with an empty checksum. It leaves m unchanged.
func checksum(m sealed) (string, error) {
	e := m.seal()
	kept := e.Checksum
	e.Checksum = ""
	b, err := json.Marshal(m)
	e.Checksum = kept
	if err != nil {
		return "", err
	}
	return hash(b), nil
}

// decodeManifest parses b into m, or returns an error that wraps ErrDamaged, ErrForeign or ErrNewer. It checks kind and version
// first, since the rest of a foreign or newer manifest may have any form.
func decodeManifest(b []byte, m sealed, kind string, version int) error {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	switch {
	case e.Kind != kind:
		return fmt.Errorf("kind %q, want %q: %w", e.Kind, kind, ErrForeign)
	case e.SchemaVersion > version:
		return fmt.Errorf("schema version %d, at most %d: %w", e.SchemaVersion, version, ErrNewer)
	case e.SchemaVersion < 1:
		return fmt.Errorf("schema version %d: %w", e.SchemaVersion, ErrDamaged)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	sum, err := checksum(m)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if sum != m.seal().Checksum {
		return fmt.Errorf("checksum %s, want %s: edited or %w", sum, m.seal().Checksum, ErrDamaged)
	}
	return nil
}

// hash returns the SHA-256 of b in hexadecimal.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// readFile reads a regular file of at most limit bytes.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file: %w", name, ErrForeign)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, at most %d: %w: %w", name, info.Size(), limit, ErrDamaged, errTooBig)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s grew beyond %d bytes: %w", name, limit, errTooBig)
	}
	return b, nil
}

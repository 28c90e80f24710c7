package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Source is where a policy comes from. Load reads the policy.
type Source struct {
	Load func() (*Policy, error) // Load verifies the policy; the caller owns the result
	// Stamp returns a text that changes when Load would return another policy. It is nil for a policy that never changes.
	Stamp func() (string, error)
}

// folderStamp returns the stamp of a bundle's folder: a digest of the manifest, which has checksums of the other files, and of
// the size and modification time of every file. A bundle that was read while it was being copied therefore gets a new stamp
// later.
func folderStamp(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		return "", fmt.Errorf("read policy: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read policy: %w", err)
	}
	h := sha256.New()
	h.Write(text)
	for _, f := range files {
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody has just deleted the file: the next stamp differs
		}
		if err != nil {
			return "", fmt.Errorf("read policy: %w", err)
		}
		_, _ = fmt.Fprintf(h, "%q %d %d\n", f.Name(), info.Size(), info.ModTime().UnixNano()) // writing to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

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

// Source is where a policy comes from.
type Source struct {
	Load func() (*Policy, error) // verified; the caller's own
	// Stamp changes when Load would give something else; nil for a policy that stays.
	Stamp func() (string, error)
}

// with is the source with something done to what it loads.
func (s Source) with(change func(*Policy)) Source {
	load := s.Load
	s.Load = func() (*Policy, error) {
		p, err := load()
		if err == nil {
			change(p)
		}
		return p, err
	}
	return s
}

// folderStamp is the stamp of a bundle's folder: its manifest, which has checksums of the rest, and the size and age of every
// file, so that a bundle that was caught half copied is read again.
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
			continue // it has just gone: the next stamp is another
		}
		if err != nil {
			return "", fmt.Errorf("read policy: %w", err)
		}
		_, _ = fmt.Fprintf(h, "%q %d %d\n", f.Name(), info.Size(), info.ModTime().UnixNano()) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

package policy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/clustergym/clustergym/env/belief"
)

// withNetworks returns a source whose policies also record the networks of run times or speeds in the folders, which they read.
func (f *Finder) withNetworks(s Source, folders []string) Source {
	load := s.Load
	s.Load = func() (*Policy, error) {
		p, err := load()
		if err != nil {
			return nil, err
		}
		for _, dir := range folders {
			if err := f.record(p, dir); err != nil {
				return nil, fmt.Errorf("policy %s: %w", p.Name, err)
			}
		}
		return p, nil
	}
	return s
}

// record adds the network in a folder to the digest of the policy, and the jobs on which it was fitted to those of the policy.
func (f *Finder) record(p *Policy, dir string) error {
	file, err := os.Open(filepath.Join(dir, belief.NetworkFile))
	if errors.Is(err, fs.ErrNotExist) {
		file, err = os.Open(filepath.Join(dir, belief.SpeedNetworkFile))
	}
	if err != nil {
		return fmt.Errorf("read network of beliefs: %w", err)
	}
	defer file.Close()
	h := sha256.New()
	_, _ = io.WriteString(h, p.Digest) // writing to a hash never fails
	if _, err := io.Copy(h, file); err != nil {
		return fmt.Errorf("read network of beliefs: %w", err)
	}
	p.Digest = fmt.Sprintf("%x", h.Sum(nil))
	p.Networks = append(p.Networks, dir)
	if f.Seen == nil {
		return nil
	}
	seen, err := f.Seen(dir)
	p.Training.Seen = append(p.Training.Seen, seen...)
	return err
}

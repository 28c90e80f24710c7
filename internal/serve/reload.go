package serve

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Source is where the policy comes from.
type Source struct {
	Load func() (*Policy, error) // verified
	// Stamp changes when Load would give something else; nil for a policy that stays.
	Stamp func() (string, error)
}

// FolderStamp is the stamp of a bundle's folder: its manifest, which has checksums of the rest, and the size and age of every
// file, so that a bundle that was caught half copied is read again.
func FolderStamp(dir string) (string, error) {
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

// The results of a reload.
const (
	reloaded = "ok"
	refused  = "refused"
)

// load reads the policy and its fallback, and has each make a scheduler.
func (s *Server) load() (*loaded, error) {
	l := &loaded{since: time.Now()}
	for _, g := range []*guard{&l.first, &l.second} { // what an earlier policy has left behind does not count
		g.deadline, g.most, g.all = s.Deadline, int64(s.Parallel), &s.late
	}
	var err error
	if s.Source.Stamp != nil { // before the policy: a change in between is then seen the next time
		if l.stamp, err = s.Source.Stamp(); err != nil {
			return nil, err
		}
	}
	if l.policy, err = s.Source.Load(); err != nil {
		return nil, err
	}
	if l.fallback, err = s.Fallback(l.policy); err != nil {
		return nil, fmt.Errorf("fallback: %w", err)
	}
	for _, p := range []*Policy{l.policy, l.fallback} {
		if _, err := p.New(); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
	}
	return l, nil
}

// Reload takes up the policy anew if its source has changed since the last attempt, or in any case if forced. A policy that
// cannot be read leaves the one that decides; requests that are being decided keep theirs.
func (s *Server) Reload(force bool) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	was := s.loaded.Load()
	if s.Source.Stamp == nil {
		if force {
			s.Log.Info("nothing to reload", "policy", was.policy.Name)
		}
		return
	}
	stamp, err := s.Source.Stamp()
	if err != nil {
		stamp = err.Error()
	}
	if stamp == s.tried && !force {
		return
	}
	s.tried = stamp
	now, err := s.load()
	if err != nil {
		s.metrics.reloads.WithLabelValues(refused).Inc()
		s.Log.Error("policy not reloaded: the old one goes on", "policy", was.policy.Name, "digest", was.policy.Digest, "error", err)
		return
	}
	s.tried = now.stamp
	s.loaded.Store(now)
	s.metrics.reloads.WithLabelValues(reloaded).Inc()
	s.Log.Info("policy reloaded", "policy", now.policy.Name, "digest", now.policy.Digest, "fallback", now.fallback.Name,
		"before", was.policy.Digest)
}

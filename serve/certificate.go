package serve

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
)

// certificate is a pair of files that may be replaced while the server runs.
type certificate struct {
	cert, key string
	mu        sync.Mutex
	pair      *tls.Certificate
	stamp     [2]file
}

// file is what tells that one has changed.
type file struct{ size, written int64 }

func loadCertificate(cert, key string) (*certificate, error) {
	c := &certificate{cert: cert, key: key}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("read TLS certificate: %w", err)
	}
	return c, nil
}

// load reads the files if they have changed since they were last read. After an error the pair is as it was.
func (c *certificate) load() error {
	var stamp [2]file
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		stamp[i] = file{info.Size(), info.ModTime().UnixNano()}
	}
	if stamp == c.stamp {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.pair, c.stamp = &pair, stamp
	}
	return err
}

// get is tls.Config.GetCertificate: the files as they are now, or the last that were a pair while they are none.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.load() // half of it may have been replaced so far: the next connection looks again
	return c.pair, nil
}

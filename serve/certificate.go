package serve

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
)

// certificate is a TLS certificate and its key, from files that may be replaced while the server runs.
type certificate struct {
	cert, key string
	mu        sync.Mutex
	pair      *tls.Certificate
	stamp     [2]file
}

// file contains the attributes by which the certificate notices that a file has changed.
type file struct{ size, written int64 }

func loadCertificate(cert, key string) (*certificate, error) {
	c := &certificate{cert: cert, key: key}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("read TLS certificate: %w", err)
	}
	return c, nil
}

// load reads the files if they have changed since they were last read. After an error the pair is unchanged.
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

// get implements tls.Config.GetCertificate: it returns the pair in the files, or the last valid pair if the files do not form
// one.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.load() // only one file may have been replaced so far: the next connection tries again
	return c.pair, nil
}

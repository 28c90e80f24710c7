package checkpoints

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// writeHashed writes a new file and returns its size and the SHA-256 of the bytes written. A reader that compares them detects
// errors between memory and disk.
func writeHashed(path string, write func(io.Writer) error) (size int, sum string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return 0, "", err
	}
	h := sha256.New()
	n := &counter{w: io.MultiWriter(f, h)}
	err = errors.Join(write(n), f.Close())
	return n.size, hex.EncodeToString(h.Sum(nil)), err
}

// counter counts the bytes written to w.
type counter struct {
	w    io.Writer
	size int
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.size += n
	return n, err
}

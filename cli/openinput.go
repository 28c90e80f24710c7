package cli

import (
	"fmt"
	"io"
	"os"
)

// open opens a file to read, or standard input for the path -. The error about a file that cannot be opened begins with what the
// caller does, such as "read snapshot". The caller must call done.
func (a *app) open(path, does string) (in io.Reader, done func(), err error) {
	if path == "-" {
		return a.In, func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", does, err)
	}
	return f, func() { _ = f.Close() }, nil // it was only read
}

package cli

import (
	"fmt"
	"io"
	"os"
)

// open opens a file to read, or standard input for the path -. The error about a file that cannot be opened begins with what the
// caller does, such as "read snapshot". The caller must close the result, which does not close standard input.
func (a *app) open(path, does string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(a.In), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", does, err)
	}
	return f, nil
}

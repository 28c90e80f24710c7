//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

// duplicate opens the name, since this system has no copies of descriptors.
func duplicate(_ int, name string) (*os.File, error) { return os.OpenFile(name, os.O_WRONLY, 0) }

// keepOwner does nothing on this system.
func keepOwner(*os.File, fs.FileInfo) {}

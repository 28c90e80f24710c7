//go:build !linux

package atomicfile

import "errors"

// exchange cannot swap two paths in one step here.
func exchange(_, _ string) error { return errors.ErrUnsupported }

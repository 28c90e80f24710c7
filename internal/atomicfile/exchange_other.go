//go:build !linux

package atomicfile

import "errors"

// exchange returns errors.ErrUnsupported: this system cannot swap two paths in one step.
func exchange(_, _ string) error { return errors.ErrUnsupported }

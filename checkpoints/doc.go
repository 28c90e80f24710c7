// Package checkpoints stores the results of training: named tensors in the safetensors format, a Store of atomic training
// checkpoints, and policy bundles, which are folders that contain a trained policy. It does not interpret the tensors and never
// runs code from a file.
//
// All files are untrusted input: the package checks them against limits and hashes, and an error for a bad file gives the reason
// and wraps ErrDamaged, ErrForeign or ErrNewer. Hashes detect damage but not forgery; a signature of a bundle detects forgery.
package checkpoints

import "errors"

// The reasons for which a file is rejected.
var (
	ErrDamaged = errors.New("damaged")                      // truncated, altered or inconsistent
	ErrForeign = errors.New("foreign")                      // not the kind of file that was asked for
	ErrNewer   = errors.New("written by a newer version")   // a schema that this version does not know
	ErrNone    = errors.New("no usable checkpoint")         // a store has no checkpoint that can be loaded
	errTooBig  = errors.New("exceeds the limit to be read") // a reason that comes with ErrDamaged
)

// Limits are the largest sizes that a reader accepts; it checks them before it allocates. A zero field means its default.
type Limits struct {
	Bytes   int64 // of one tensor file; default 1 GiB
	Header  int   // bytes of a tensor file's header, and of a manifest or meta file; default 16 MiB
	Tensors int   // number of tensors in a file; default 65536
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 1 << 30
	}
	if l.Header == 0 {
		l.Header = 16 << 20
	}
	if l.Tensors == 0 {
		l.Tensors = 1 << 16
	}
	return l
}

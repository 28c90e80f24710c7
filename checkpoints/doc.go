// Package checkpoints keeps what training must not lose: named tensors in the safetensors format, a Store of atomic training
// checkpoints, and policy bundles, the folders in which a trained policy travels. It does not know what the tensors mean and
// never runs code from a file.
//
// All files are untrusted input: they are checked against limits and hashes, and a bad one gives an error that wraps
// ErrDamaged, ErrForeign or ErrNewer with the reason. Hashes find damage, not forgery; a
// bundle may be signed against that.
package checkpoints

import "errors"

// The ways in which a file can be refused.
var (
	ErrDamaged = errors.New("damaged")                      // truncated, altered or inconsistent
	ErrForeign = errors.New("foreign")                      // something else than what was asked for
	ErrNewer   = errors.New("written by a newer version")   // a schema that this version does not know
	ErrNone    = errors.New("no usable checkpoint")         // a store without a checkpoint that can be loaded
	errTooBig  = errors.New("exceeds the limit to be read") // part of ErrDamaged's reasons
)

// Limits bound what a reader accepts before it allocates. A zero field means its default.
type Limits struct {
	Bytes   int64 // of one tensor file; default 1 GiB
	Header  int   // bytes of its header, and of a manifest or meta file; default 16 MiB
	Tensors int   // in one file; default 65536
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

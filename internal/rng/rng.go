// Package rng derives independent random streams from one seed by name, so that a new consumer of randomness cannot change
// what the others draw. It holds no state of its own and never reads the clock or the system's entropy.
package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// domain keeps these streams apart from any other use of SHA-256 over a seed. A new value is a new set of streams.
const domain = "clustergym/rng/v1"

// Stream returns the generator of the stream that names spell under seed. Names are a path, for example
// ("rollout", "worker-3"); the order and the boundaries of the names count. Equal arguments give equal streams on every
// platform. It is not safe for concurrent use.
func Stream(seed uint64, names ...string) *rand.Rand {
	return rand.New(rand.NewChaCha8(digest(seed, names)))
}

// Derive returns the seed that names spell under seed, for consumers that take a seed instead of a stream.
func Derive(seed uint64, names ...string) uint64 {
	d := digest(seed, append([]string{"derive"}, names...))
	return binary.LittleEndian.Uint64(d[:])
}

// digest hashes each name with its length before it, so that ("ab", "c") and ("a", "bc") differ.
func digest(seed uint64, names []string) [sha256.Size]byte {
	b := []byte(domain)
	b = binary.LittleEndian.AppendUint64(b, seed)
	for _, name := range names {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(name)))
		b = append(b, name...)
	}
	return sha256.Sum256(b)
}

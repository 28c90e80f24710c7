// Package rng derives independent random streams from one seed by name, so that a new user of random numbers does not change the
// numbers of the others. It has no state of its own and never reads the clock or the system's entropy.
package rng

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// domain makes these streams differ from other uses of SHA-256 with a seed. A new value gives new streams.
const domain = "clustergym/rng/v1"

// Stream returns the generator of the stream that the seed and the names identify. The names are a path, for example ("forest",
// "tree-3"); their order and boundaries matter. Equal arguments give equal streams on every platform. The generator is not safe
// for concurrent use.
func Stream(seed uint64, names ...string) *rand.Rand {
	return rand.New(rand.NewChaCha8(digest(seed, names)))
}

// Derive returns a seed that the seed and the names determine, for users that need a seed instead of a stream.
func Derive(seed uint64, names ...string) uint64 {
	d := digest(seed, append([]string{"derive"}, names...))
	return binary.LittleEndian.Uint64(d[:])
}

// digest hashes each name after its length, so that ("ab", "c") and ("a", "bc") differ.
func digest(seed uint64, names []string) [sha256.Size]byte {
	b := []byte(domain)
	b = binary.LittleEndian.AppendUint64(b, seed)
	for _, name := range names {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(name)))
		b = append(b, name...)
	}
	return sha256.Sum256(b)
}

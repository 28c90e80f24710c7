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

// Source is a ChaCha8 generator with a state that can be saved and restored: it is a rand.Source, an
// encoding.BinaryMarshaler and an encoding.BinaryUnmarshaler. A *rand.Rand over it keeps no state beside the source's, so
// restoring the source continues the draws exactly. It is not safe for concurrent use.
type Source struct {
	chacha rand.ChaCha8
}

// NewSource returns the source of the stream that names spell under seed. Names are a path, for example
// ("rollout", "worker-3"); the order and the boundaries of the names count.
func NewSource(seed uint64, names ...string) *Source {
	s := new(Source)
	s.chacha.Seed(digest(seed, names))
	return s
}

// Stream returns a generator over NewSource(seed, names...). Equal arguments give equal streams on every platform.
func Stream(seed uint64, names ...string) *rand.Rand {
	return rand.New(NewSource(seed, names...))
}

// Derive returns the seed that names spell under seed, for consumers that take a seed instead of a stream.
func Derive(seed uint64, names ...string) uint64 {
	d := digest(seed, append([]string{"derive"}, names...))
	return binary.LittleEndian.Uint64(d[:])
}

// Uint64 returns the next 64 random bits.
func (s *Source) Uint64() uint64 { return s.chacha.Uint64() }

// MarshalBinary returns the state.
func (s *Source) MarshalBinary() ([]byte, error) { return s.chacha.MarshalBinary() }

// UnmarshalBinary restores a state that MarshalBinary returned; it refuses anything else and then leaves s unchanged.
func (s *Source) UnmarshalBinary(state []byte) error {
	var restored rand.ChaCha8
	if err := restored.UnmarshalBinary(state); err != nil {
		return err
	}
	s.chacha = restored
	return nil
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

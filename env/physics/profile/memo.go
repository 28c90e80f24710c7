package profile

import (
	"math"
	"sync/atomic"
)

// memo caches the results of a function of two numbers. Each entry keeps the first result stored in it and is never replaced.
// Many concurrent episodes ask for the same few results again and again. What a caller gets does not depend on what is cached.
type memo []atomic.Pointer[remembered]

type remembered struct{ a, b, result float64 }

// newMemo returns a memo with the given number of entries, a power of 2 up to 4,096.
func newMemo(entries int) memo { return make(memo, entries) }

func (m memo) of(a, b float64, compute func(a, b float64) float64) float64 {
	bits := math.Float64bits(a)*0x9e3779b97f4a7c15 ^ math.Float64bits(b)*0xc2b2ae3d27d4eb4f
	entry := &m[bits>>52&uint64(len(m)-1)]
	r := entry.Load()
	if r != nil && r.a == a && r.b == b {
		return r.result
	}
	result := compute(a, b)
	if r == nil {
		entry.Store(&remembered{a, b, result})
	}
	return result
}

// directory finds the families of the catalogue by their names: a family is in the first free place from that of its name on.
type directory [256]*Family

func (x *directory) add(f *Family) {
	i := place(f.name)
	for x[i] != nil {
		i++
	}
	x[i] = f
}

// find returns the family with the given name, nil if there is none.
func (x *directory) find(name string) *Family {
	i := place(name)
	for x[i] != nil && x[i].name != name {
		i++
	}
	return x[i]
}

// place returns where the search for a name begins. The names of the catalogue differ in their first and last letters and in
// their lengths.
func place(name string) uint8 {
	n := len(name)
	if n < 2 {
		return 0
	}
	return uint8(n) + name[n-1] + 29*name[n/2] + 31*name[0] + 29*name[n-2]
}

package envserve

import (
	"fmt"
	"unsafe"
)

// Array is an array in the shared memory.
type Array struct {
	Name   string `json:"name"`
	Type   string `json:"type"` // bool, uint8, int32, uint64, float32 or float64
	Shape  []int  `json:"shape"`
	Offset int    `json:"offset"` // in bytes, a multiple of 64
}

// MaxBytes is the most memory that a vector may share.
const MaxBytes = 1 << 34

// slots is how many time steps of each environment the memory holds.
const slots = 2

// alignment is that of arrays, in bytes: a line of a processor's cache.
const alignment = 64

// layout lists arrays one after the other in memory.
type layout struct {
	arrays []Array
	size   int
	place  []func(memory []byte)
	err    error
}

// element is a type of the arrays' elements. The parent never writes an array of bool, whose bytes must be 0 or 1.
type element interface {
	bool | uint8 | int32 | uint64 | float32 | float64
}

// add appends an array. place later points *to at it.
func add[T element](l *layout, to *[]T, name string, shape ...int) {
	var one T
	width, n := int(unsafe.Sizeof(one)), 1
	for _, d := range shape {
		if d > 0 && n > MaxBytes/d {
			l.err = fmt.Errorf("array %s of shape %v: want at most %d bytes in all", name, shape, MaxBytes)
			return
		}
		n *= d
	}
	if l.size+n*width > MaxBytes {
		l.err = fmt.Errorf("array %s of shape %v: want at most %d bytes in all", name, shape, MaxBytes)
		return
	}
	at := l.size
	l.arrays = append(l.arrays, Array{name, fmt.Sprintf("%T", one), shape, at})
	l.place = append(l.place, func(memory []byte) {
		if *to = nil; n > 0 {
			*to = unsafe.Slice((*T)(unsafe.Pointer(&memory[at])), n) //nolint:gosec // in bounds: memory has l.size bytes
		}
	})
	l.size = (at + n*width + alignment - 1) / alignment * alignment
}

// row returns row i of an array whose rows have the given width.
func row[T element](a []T, i, width int) []T { return a[i*width : (i+1)*width : (i+1)*width] }

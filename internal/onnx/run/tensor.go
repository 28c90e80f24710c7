package run

import (
	"fmt"
	"slices"
)

// Type is the element type of a tensor, with its number in TensorProto.
type Type int32

// The element types that are supported.
const (
	Float Type = 1
	Uint8 Type = 2
	Int8  Type = 3
	Int32 Type = 6
	Int64 Type = 7
	Bool  Type = 9
)

var typeNames = map[Type]string{
	Float: "float32", Uint8: "uint8", Int8: "int8", Int32: "int32", Int64: "int64", Bool: "bool",
	4: "uint16", 5: "int16", 8: "string", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 16: "bfloat16",
}

// String returns the type's name as NumPy spells it.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("type %d", int32(t))
}

func (t Type) supported() bool { return t == Float || t == Bool || t.integer() }

func (t Type) integer() bool { return t == Uint8 || t == Int8 || t == Int32 || t == Int64 }

// wrap returns the number that has the lowest bits of x in a type of integers.
func (t Type) wrap(x int64) int64 {
	switch t {
	case Uint8:
		return int64(uint8(x)) //nolint:gosec // the same below: overflow wraps, as in NumPy
	case Int8:
		return int64(int8(x)) //nolint:gosec // see above
	case Int32:
		return int64(int32(x)) //nolint:gosec // see above
	}
	return x
}

// Tensor is a dense array in row-major order. Operators share the elements of tensors, so nobody may change them.
type Tensor struct {
	Type   Type
	Shape  []int     // no dimensions: one number
	Floats []float32 // the elements of a tensor of Float
	Ints   []int64   // the elements of any other tensor; 0 or 1 in one of Bool
}

// Len returns how many elements the tensor has.
func (t *Tensor) Len() int { return len(t.Floats) + len(t.Ints) }

// view returns a tensor with the same elements in another shape.
func (t *Tensor) view(shape []int) *Tensor { return &Tensor{t.Type, shape, t.Floats, t.Ints} }

// String describes the tensor without its elements.
func (t *Tensor) String() string { return fmt.Sprintf("%v %v", t.Type, t.Shape) }

// The limits on a tensor.
const (
	maxRank     = 8
	maxElements = 1 << 26
)

// count returns the number of elements of a shape. It returns an error for a shape that is not allowed.
func count(shape []int) (int, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("shape %v has %d dimensions, want at most %d", shape[:maxRank], len(shape), maxRank)
	}
	n := 1
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
	}
	if slices.Contains(shape, 0) {
		return 0, nil
	}
	for _, d := range shape {
		if d > maxElements/n {
			return 0, fmt.Errorf("shape %v has more than %d elements", shape, maxElements)
		}
		n *= d
	}
	return n, nil
}

// strides returns the distances between neighbours along each dimension.
func strides(shape []int) []int {
	s, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// axis returns a dimension that may be counted from the end, for a tensor of the given rank.
func axis(i int64, rank int) (int, error) {
	if i < int64(-rank) || i >= int64(rank) {
		return 0, fmt.Errorf("axis %d of %d dimensions", i, rank)
	}
	if i < 0 {
		i += int64(rank)
	}
	return int(i), nil
}

package checkpoints

import (
	"fmt"
	"math/bits"
	"slices"
)

// Element is the type of a tensor's elements.
type Element interface {
	float32 | float64 | int64 | uint8
}

// Tensor is a named array of numbers.
type Tensor struct {
	Name  string
	Shape []int // empty for a scalar; with a zero the tensor has no elements
	Data  any   // []float32, []float64, []int64 or []uint8; row-major; its length is the product of Shape
}

// dType returns the safetensors name of the element type: F32, F64, I64 or U8, or "" for any other Data.
func (t Tensor) dType() string {
	switch t.Data.(type) {
	case []float32:
		return "F32"
	case []float64:
		return "F64"
	case []int64:
		return "I64"
	case []uint8:
		return "U8"
	}
	return ""
}

// Get returns the data of the tensor called name. It returns an error if there is no such tensor or it has another shape or
// element type. The result shares memory with the tensor.
func Get[E Element](tensors []Tensor, name string, shape ...int) ([]E, error) {
	i := slices.IndexFunc(tensors, func(t Tensor) bool { return t.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("find tensor %q: not among the %d", name, len(tensors))
	}
	t := tensors[i]
	data, ok := t.Data.([]E)
	if !ok {
		return nil, fmt.Errorf("find tensor %q: holds %T, want %T", name, t.Data, data)
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("find tensor %q: shape %v, want %v", name, t.Shape, shape)
	}
	return data, nil
}

// elementSize returns the size of one element in bytes, or 0 for an unknown type.
func elementSize(dtype string) int64 {
	switch dtype {
	case "F64", "I64":
		return 8
	case "F32":
		return 4
	case "U8":
		return 1
	}
	return 0
}

// byteSize returns the size of a tensor in bytes; ok is false for negative dimensions or an overflow.
func byteSize(dtype string, shape []int) (size int64, ok bool) {
	n := uint64(elementSize(dtype))
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		high, low := bits.Mul64(n, uint64(d))
		if high != 0 || low > 1<<62 {
			return 0, false
		}
		n = low
	}
	return int64(n), true
}

func length(data any) int {
	switch d := data.(type) {
	case []float32:
		return len(d)
	case []float64:
		return len(d)
	case []int64:
		return len(d)
	case []uint8:
		return len(d)
	}
	return -1
}

// check returns an error if t cannot be written.
func (t Tensor) check() error {
	size, ok := byteSize(t.dType(), t.Shape)
	switch {
	case t.Name == "" || t.Name == metadataKey:
		return fmt.Errorf("write tensor %q: reserved name", t.Name)
	case t.dType() == "":
		return fmt.Errorf("write tensor %q: no format for %T", t.Name, t.Data)
	case !ok || size != int64(length(t.Data))*elementSize(t.dType()):
		return fmt.Errorf("write tensor %q: %d numbers for shape %v", t.Name, length(t.Data), t.Shape)
	}
	return nil
}

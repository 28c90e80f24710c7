package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Value is an input or an output of a model.
type Value struct {
	Name string
	Type Type
	Dims []Dim // nil if the model does not say
}

// Dim is a dimension: a size, or -1 for one that may differ from run to run.
type Dim struct {
	Size int
	Name string
}

// String returns the size or the name of the dimension.
func (d Dim) String() string {
	switch {
	case d.Size >= 0:
		return fmt.Sprint(d.Size)
	case d.Name != "":
		return fmt.Sprintf("%.50q", d.Name)
	}
	return "?"
}

// typeOf returns an element type by its number. It returns an error for one that is not supported.
func typeOf(number int64) (Type, error) {
	t := Type(number) //nolint:gosec // a number that does not fit is none of the supported types either way
	if !t.supported() {
		return t, fmt.Errorf("elements of %v, want float32, integers or bool", t)
	}
	return t, nil
}

// parseValue reads a ValueInfoProto.
func parseValue(message []byte) (v Value, err error) {
	var kind, tensor, shape []byte
	var element int64
	err = decode(message, fields{1: &v.Name, 2: &kind})
	if err == nil {
		err = decode(kind, fields{1: &tensor})
	}
	if err == nil && tensor == nil {
		err = errors.New("no tensor, want one")
	}
	if err == nil {
		err = decode(tensor, fields{1: &element, 2: &shape})
	}
	if err == nil {
		v.Type, err = typeOf(element)
	}
	if err == nil && shape != nil {
		v.Dims = []Dim{}
		err = decode(shape, fields{1: func(b []byte) error { return v.addDim(b) }})
	}
	if err != nil {
		return v, fmt.Errorf("input or output %.100q: %w", v.Name, err)
	}
	return v, nil
}

// addDim reads a dimension of a TensorShapeProto.
func (v *Value) addDim(message []byte) error {
	if len(v.Dims) == maxRank {
		return fmt.Errorf("more than %d dimensions", maxRank)
	}
	size, d := int64(-1), Dim{}
	err := decode(message, fields{1: &size, 2: &d.Name})
	if size < 0 || size > maxElements {
		size = -1 // as exporters write it for a dimension that may differ
	}
	d.Size = int(size)
	v.Dims = append(v.Dims, d)
	return err
}

// errExternal is the error of a model whose weights are in files of their own, as torch.onnx.export writes them unless it is told
// otherwise.
var errExternal = errors.New("its elements are in a file beside the model, want them in it: export with external_data=False, or" +
	" read the model with onnx.load and use that")

// parseTensor reads a TensorProto. It returns an error for a tensor of more than most elements.
func parseTensor(message []byte, most int) (name string, t *Tensor, err error) {
	t = new(Tensor)
	var dims, whole []int64
	var numbers []float32
	var raw, external []byte
	var kind, location int64
	// Dimensions may follow the elements, whose number they give. So lists are read under the limit, and compared afterwards.
	err = decode(message, fields{
		1: ints{&dims, maxRank}, 2: &kind, 4: floats{&numbers, most}, 5: ints{&whole, most}, 7: ints{&whole, most}, 8: &name, 9: &raw,
		13: &external, 14: &location,
	})
	if err == nil && (external != nil || location == 1) {
		err = errExternal
	}
	if err == nil {
		t.Type, err = typeOf(kind)
	}
	if err == nil {
		err = t.fill(dims, whole, numbers, raw, most)
	}
	if err != nil {
		return name, nil, fmt.Errorf("tensor %.100q: %w", name, err)
	}
	return name, t, nil
}

// fill sets the shape and the elements of a tensor, which are given as a list or as raw bytes.
func (t *Tensor) fill(dims, whole []int64, numbers []float32, raw []byte, most int) error {
	t.Shape = make([]int, len(dims))
	for i, d := range dims {
		if t.Shape[i] = int(d); d < 0 || d > maxElements {
			return fmt.Errorf("dimension %d, want 0 to %d", d, maxElements)
		}
	}
	n, err := count(t.Shape)
	if err != nil {
		return err
	}
	if n > most {
		return fmt.Errorf("shape %v has %d elements, want at most %d in all", t.Shape, n, most)
	}
	if t.Type == Float {
		if raw != nil {
			numbers = nil
			err = set(floats{&numbers, most}, 0, raw, true)
		}
		t.Floats = numbers
	} else {
		if raw != nil {
			whole, err = t.Type.fromRaw(raw, n)
		}
		for i, x := range whole {
			if whole[i] = t.Type.wrap(x); t.Type == Bool && x != 0 {
				whole[i] = 1
			}
		}
		t.Ints = whole
	}
	if err == nil && (t.Len() != n || t.Type == Float && whole != nil) {
		err = fmt.Errorf("%d elements, want %d for the shape %v", t.Len(), n, t.Shape)
	}
	return err
}

// fromRaw reads n integers from little-endian bytes.
func (t Type) fromRaw(raw []byte, n int) ([]int64, error) {
	width := map[Type]int{Uint8: 1, Int8: 1, Bool: 1, Int32: 4, Int64: 8}[t]
	if len(raw) != n*width {
		return nil, fmt.Errorf("%d bytes, want %d", len(raw), n*width)
	}
	whole := make([]int64, n)
	for i := range whole {
		switch b := raw[i*width:]; width {
		case 1:
			whole[i] = int64(b[0])
		case 4:
			whole[i] = int64(int32(binary.LittleEndian.Uint32(b))) //nolint:gosec // two's complement; the same below
		default:
			whole[i] = int64(binary.LittleEndian.Uint64(b)) //nolint:gosec // see above
		}
	}
	return whole, nil
}

// attribute is one of a node. It holds the value that was given, in the field of its type.
type attribute struct {
	i      int64
	f      float32
	s      string
	t      *Tensor
	ints   []int64
	floats []float32
}

// parseAttribute reads an AttributeProto, whose tensor may have at most most elements.
func parseAttribute(message []byte, most int) (name string, a attribute, err error) {
	var tensor []byte
	err = decode(message, fields{
		1: &name, 2: &a.f, 3: &a.i, 4: &a.s, 5: &tensor, 7: floats{&a.floats, most}, 8: ints{&a.ints, most},
	})
	if err == nil && tensor != nil {
		_, a.t, err = parseTensor(tensor, most)
	}
	if err == nil && math.IsNaN(float64(a.f)) {
		err = errors.New("is no number")
	}
	if err != nil {
		return name, a, fmt.Errorf("attribute %.100q: %w", name, err)
	}
	return name, a, nil
}

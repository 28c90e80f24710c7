package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// errExternal is the error of a model whose weights are in files of their own, as torch.onnx.export writes them unless it is told
// otherwise.
var errExternal = errors.New("its elements are in a file beside the model, want them in it: export with external_data=False, or" +
	" read the model with onnx.load and use that")

// parseTensor reads a TensorProto. It returns an error for a tensor of more than most elements.
func parseTensor(message []byte, most int) (name string, t *Tensor, err error) {
	t = new(Tensor)
	var dims, ints []int64
	var floats []float32
	var raw []byte
	external := false
	// Dimensions may follow the elements, whose number they give. So lists are read under the limit, and compared afterwards.
	err = fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			dims, err = f.ints(dims, maxRank)
		case 2:
			t.Type = Type(f.int()) //nolint:gosec // a number that does not fit is none of the supported types either way
		case 4:
			floats, err = f.floats(floats, most)
		case 5, 7: // int32_data and int64_data
			ints, err = f.ints(ints, most)
		case 8:
			name = f.text()
		case 9:
			raw = f.bytes
		case 13, 14: // external_data, and data_location, which is 1 for it
			external = external || f.number == 13 || f.int() == 1
		}
		return err
	})
	if err != nil {
		return name, nil, fmt.Errorf("tensor %.100q: %w", name, err)
	}
	switch {
	case external:
		err = errExternal
	case !t.Type.supported():
		err = fmt.Errorf("elements of %v, want float32, integers or bool", t.Type)
	default:
		err = t.fill(dims, ints, floats, raw, most)
	}
	if err != nil {
		return name, nil, fmt.Errorf("tensor %.100q: %w", name, err)
	}
	return name, t, nil
}

// fill sets the shape and the elements of a tensor, which are given as a list or as raw bytes.
func (t *Tensor) fill(dims, ints []int64, floats []float32, raw []byte, most int) error {
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
			if floats, err = (field{bytes: raw, wire: 2}).floats(nil, most); err != nil {
				return err
			}
		}
		t.Floats = floats
	} else {
		if raw != nil {
			if ints, err = t.Type.fromRaw(raw, n); err != nil {
				return err
			}
		}
		for i, x := range ints {
			if ints[i] = t.Type.wrap(x); t.Type == Bool && x != 0 {
				ints[i] = 1
			}
		}
		t.Ints = ints
	}
	if t.Len() != n || t.Type == Float && ints != nil {
		return fmt.Errorf("%d elements, want %d for the shape %v", t.Len(), n, t.Shape)
	}
	return nil
}

// fromRaw reads n integers from little-endian bytes.
func (t Type) fromRaw(raw []byte, n int) ([]int64, error) {
	width := map[Type]int{Uint8: 1, Int8: 1, Bool: 1, Int32: 4, Int64: 8}[t]
	if len(raw) != n*width {
		return nil, fmt.Errorf("%d bytes, want %d", len(raw), n*width)
	}
	ints := make([]int64, n)
	for i := range ints {
		switch b := raw[i*width:]; width {
		case 1:
			ints[i] = int64(b[0])
		case 4:
			ints[i] = int64(int32(binary.LittleEndian.Uint32(b))) //nolint:gosec // two's complement; the same below
		default:
			ints[i] = int64(binary.LittleEndian.Uint64(b)) //nolint:gosec // see above
		}
	}
	return ints, nil
}

// attributes are those of a node, by name.
type attributes map[string]attribute

// attribute holds the value that was given, in the field of its type.
type attribute struct {
	i      int64
	f      float32
	s      string
	t      *Tensor
	ints   []int64
	floats []float32
	kind   int64 // in AttributeProto
}

// parseAttribute reads an AttributeProto, whose tensor may have at most most elements.
func parseAttribute(message []byte, most int) (name string, a attribute, err error) {
	err = fields(message, func(f field) (err error) {
		switch f.number {
		case 1:
			name = f.text()
		case 2:
			a.f = f.float()
		case 3:
			a.i = f.int()
		case 4:
			a.s = f.text()
		case 5:
			_, a.t, err = parseTensor(f.bytes, most)
		case 7:
			a.floats, err = f.floats(a.floats, most)
		case 8:
			a.ints, err = f.ints(a.ints, most)
		case 20:
			a.kind = f.int()
		}
		return err
	})
	if err == nil && math.IsNaN(float64(a.f)) {
		err = errors.New("is no number")
	}
	if err != nil {
		return name, a, fmt.Errorf("attribute %.100q: %w", name, err)
	}
	return name, a, nil
}

package run

import (
	"errors"
	"fmt"
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

// parseValue reads a ValueInfoProto.
func parseValue(message []byte) (v Value, err error) {
	var tensor []byte
	err = fields(message, func(f field) error {
		switch f.number {
		case 1:
			v.Name = f.text()
		case 2:
			return fields(f.bytes, func(f field) error {
				if f.number == 1 {
					tensor = f.bytes
				}
				return nil
			})
		}
		return nil
	})
	if err == nil && tensor == nil {
		err = errors.New("no tensor, want one")
	}
	if err == nil {
		err = fields(tensor, func(f field) error {
			switch f.number {
			case 1:
				v.Type = Type(f.int()) //nolint:gosec // a number that does not fit is none of the supported types either way
			case 2:
				v.Dims, err = parseDims(f.bytes)
				return err
			}
			return nil
		})
	}
	if err == nil && !v.Type.supported() {
		err = fmt.Errorf("elements of %v, want float32, integers or bool", v.Type)
	}
	if err != nil {
		return v, fmt.Errorf("input or output %.100q: %w", v.Name, err)
	}
	return v, nil
}

// parseDims reads a TensorShapeProto.
func parseDims(message []byte) ([]Dim, error) {
	dims := []Dim{}
	err := fields(message, func(f field) error {
		if f.number != 1 {
			return nil
		}
		if len(dims) == maxRank {
			return fmt.Errorf("more than %d dimensions", maxRank)
		}
		d := Dim{Size: -1}
		err := fields(f.bytes, func(f field) error {
			switch f.number {
			case 1:
				if d.Size = int(f.int()); d.Size < 0 || d.Size > maxElements {
					d.Size = -1 // as exporters write it for a dimension that may differ
				}
			case 2:
				d.Name = f.text()
			}
			return nil
		})
		dims = append(dims, d)
		return err
	})
	return dims, err
}

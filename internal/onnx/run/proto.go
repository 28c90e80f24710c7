package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

var errCut = errors.New("not a model of ONNX, or truncated")

// fields says, by number, where decode puts the fields of a message of protocol buffers: into *int64, *float32, *string, *[]byte,
// ints or floats, or a function is called for every field of that number with its bytes. Other fields are passed over.
type fields map[protowire.Number]any

// ints is a list of at most most integers, and floats is one of numbers.
type (
	ints struct {
		to   *[]int64
		most int
	}
	floats struct {
		to   *[]float32
		most int
	}
)

// decode reads a message, field by field, in order.
func decode(message []byte, to fields) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errCut
		}
		message = message[n:]
		var x uint64
		var bytes []byte
		switch wire {
		case protowire.VarintType:
			x, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var short uint32
			short, n = protowire.ConsumeFixed32(message)
			x = uint64(short)
		case protowire.Fixed64Type:
			x, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(message)
		default:
			return errCut // groups, which ONNX does not have
		}
		if n < 0 {
			return errCut
		}
		message = message[n:]
		if err := set(to[number], x, bytes, wire == protowire.BytesType); err != nil {
			return err
		}
	}
	return nil
}

// set stores a field that is a number, or bytes, which are a message, a text, or a packed list.
func set(to any, x uint64, bytes []byte, packed bool) error {
	switch to := to.(type) {
	case *int64:
		*to = int64(x) //nolint:gosec // integers of protocol buffers are in two's complement
	case *float32:
		*to = math.Float32frombits(uint32(x)) //nolint:gosec // of 32 bits
	case *string:
		*to = string(bytes)
	case *[]byte:
		*to = bytes
	case func([]byte) error:
		return to(bytes)
	case ints:
		if !packed {
			*to.to = append(*to.to, int64(x)) //nolint:gosec // see above
		}
		for len(bytes) > 0 && len(*to.to) <= to.most {
			x, n := protowire.ConsumeVarint(bytes)
			if n < 0 {
				return errCut
			}
			bytes = bytes[n:]
			*to.to = append(*to.to, int64(x)) //nolint:gosec // see above
		}
		if len(*to.to) > to.most {
			return fmt.Errorf("a list of more than %d integers", to.most)
		}
	case floats:
		if !packed {
			*to.to = append(*to.to, math.Float32frombits(uint32(x))) //nolint:gosec // see above
		}
		if n := len(*to.to) + len(bytes)/4; len(bytes)%4 != 0 || n > to.most {
			return fmt.Errorf("a list of %d floats, want at most %d", n, to.most)
		}
		for ; len(bytes) > 0; bytes = bytes[4:] {
			*to.to = append(*to.to, math.Float32frombits(binary.LittleEndian.Uint32(bytes)))
		}
	}
	return nil
}

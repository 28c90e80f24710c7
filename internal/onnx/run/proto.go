package run

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is a field of a message of protocol buffers. Only the part that its wire type calls for is set.
type field struct {
	number   protowire.Number
	wire     protowire.Type
	number64 uint64
	bytes    []byte
}

var errCut = errors.New("not a model of ONNX, or truncated")

// fields calls visit for every field of a message, in order.
func fields(message []byte, visit func(f field) error) error {
	for len(message) > 0 {
		number, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errCut
		}
		message = message[n:]
		f := field{number: number, wire: wire}
		switch wire {
		case protowire.VarintType:
			f.number64, n = protowire.ConsumeVarint(message)
		case protowire.Fixed32Type:
			var x uint32
			x, n = protowire.ConsumeFixed32(message)
			f.number64 = uint64(x)
		case protowire.Fixed64Type:
			f.number64, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(message)
		default:
			return errCut // groups, which ONNX does not have
		}
		if n < 0 {
			return errCut
		}
		message = message[n:]
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// int returns a field that is an integer.
func (f field) int() int64 { return int64(f.number64) } //nolint:gosec // integers of protocol buffers are in two's complement

// float returns a field that is a float.
func (f field) float() float32 { return math.Float32frombits(uint32(f.number64)) } //nolint:gosec // of 32 bits

// text returns a field that is a string.
func (f field) text() string { return string(f.bytes) }

// ints appends a field of repeated integers, packed or not. It returns an error if there are more than most.
func (f field) ints(to []int64, most int) ([]int64, error) {
	if f.wire != protowire.BytesType {
		to = append(to, f.int())
	}
	for b := f.bytes; len(b) > 0; {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return nil, errCut
		}
		b = b[n:]
		if to = append(to, int64(x)); len(to) > most { //nolint:gosec // see int
			break
		}
	}
	if len(to) > most {
		return nil, fmt.Errorf("a list of more than %d integers", most)
	}
	return to, nil
}

// floats appends a field of repeated floats, packed or not. It returns an error if there are more than most.
func (f field) floats(to []float32, most int) ([]float32, error) {
	b := f.bytes
	if f.wire != protowire.BytesType {
		to = append(to, f.float())
	}
	if len(b)%4 != 0 || len(to)+len(b)/4 > most {
		return nil, fmt.Errorf("a list of %d floats, want at most %d", len(to)+len(b)/4, most)
	}
	for ; len(b) > 0; b = b[4:] {
		to = append(to, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return to, nil
}

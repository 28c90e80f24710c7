package tbevent

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"
)

// The types of fields in protocol buffers.
const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
	fixed32 = 5
)

func appendKey(b []byte, field, kind uint64) []byte { return binary.AppendUvarint(b, field<<3|kind) }

// appendInt and appendDouble omit a zero, because readers read a missing field as zero.
func appendInt(b []byte, field, x uint64) []byte {
	if x == 0 {
		return b
	}
	return binary.AppendUvarint(appendKey(b, field, varint), x)
}

func appendDouble(b []byte, field uint64, x float64) []byte {
	if math.Float64bits(x) == 0 {
		return b
	}
	return binary.LittleEndian.AppendUint64(appendKey(b, field, fixed64), math.Float64bits(x))
}

// appendFloat keeps a zero. Its only use is a field of a oneof, and a missing field would leave the oneof unset.
func appendFloat(b []byte, field uint64, x float32) []byte {
	return binary.LittleEndian.AppendUint32(appendKey(b, field, fixed32), math.Float32bits(x))
}

// appendText appends a string or a message.
func appendText[T string | []byte](b []byte, field uint64, text T) []byte {
	b = binary.AppendUvarint(appendKey(b, field, bytes), uint64(len(text)))
	return append(b, text...)
}

// appendDoubles appends a packed field of numbers.
func appendDoubles(b []byte, field uint64, xs []float64) []byte {
	b = binary.AppendUvarint(appendKey(b, field, bytes), uint64(8*len(xs)))
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// header returns the first fields of an Event.
func header(now time.Time, step int64) []byte {
	const wallTime, stepField = 1, 2
	return appendInt(appendDouble(nil, wallTime, float64(now.UnixNano())/1e9), stepField, uint64(step))
}

// frame returns an event as a TFRecord: its length and its bytes, each with a checksum.
func frame(event []byte) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, len(event)+16), uint64(len(event)))
	b = binary.LittleEndian.AppendUint32(b, checksum(b))
	return binary.LittleEndian.AppendUint32(append(b, event...), checksum(event))
}

// checksum returns the masked CRC-32C of TensorFlow. The mask makes the checksum safe for bytes that contain checksums
// themselves.
func checksum(b []byte) uint32 {
	crc := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (crc>>15 | crc<<17) + 0xa282ead8
}

package tbevent

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendInt and appendDouble omit a zero, because readers read a missing field as zero.
func appendInt(b []byte, field protowire.Number, x uint64) []byte {
	if x == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), x)
}

func appendDouble(b []byte, field protowire.Number, x float64) []byte {
	if math.Float64bits(x) == 0 {
		return b
	}
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(x))
}

// appendText appends a string or a message.
func appendText[T string | []byte](b []byte, field protowire.Number, text T) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), string(text))
}

// appendDoubles appends a packed field of numbers.
func appendDoubles(b []byte, field protowire.Number, xs []float64) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(8*len(xs)))
	for _, x := range xs {
		b = protowire.AppendFixed64(b, math.Float64bits(x))
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

package checkpoints

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// metadataKey is the header entry that contains text instead of a tensor.
const metadataKey = "__metadata__"

// WriteTensors writes tensors in the safetensors format: eight bytes of little-endian header length, a JSON header, the data.
// Equal input gives equal bytes. The header lists the tensors in the given order. The data of wider elements comes first, so that
// every tensor is aligned to its element size. Names must be unique UTF-8.
func WriteTensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	header, order, err := encodeHeader(tensors, metadata)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 1<<16)
	if err := binary.Write(buf, binary.LittleEndian, uint64(len(header))); err != nil {
		return fmt.Errorf("write tensors: %w", err)
	}
	if _, err := buf.Write(header); err != nil {
		return fmt.Errorf("write tensors: %w", err)
	}
	for _, i := range order {
		if err := binary.Write(buf, binary.LittleEndian, tensors[i].Data); err != nil {
			return fmt.Errorf("write tensor %q: %w", tensors[i].Name, err)
		}
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write tensors: %w", err)
	}
	return nil
}

// encodeHeader returns the header, padded with spaces to a multiple of eight bytes, and the order in which to write the tensors'
// data.
func encodeHeader(tensors []Tensor, metadata map[string]string) (header []byte, order []int, err error) {
	names := map[string]bool{}
	for i, t := range tensors {
		if err := t.check(); err != nil {
			return nil, nil, err
		}
		if names[t.Name] {
			return nil, nil, fmt.Errorf("write tensor %q: name stands twice", t.Name)
		}
		names[t.Name] = true
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(elementSize(tensors[b].dType()) - elementSize(tensors[a].dType()))
	})
	offsets := make([][]int64, len(tensors))
	end := int64(0)
	for _, i := range order {
		size, _ := byteSize(tensors[i].dType(), tensors[i].Shape)
		offsets[i] = []int64{end, end + size}
		end += size
	}

	var b bytes.Buffer
	b.WriteByte('{')
	put := func(name string, value any) error {
		if !utf8.ValidString(name) {
			return fmt.Errorf("write tensor %q: name is not UTF-8", name)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		return appendJSON(&b, name, value)
	}
	if len(metadata) > 0 {
		if err := put(metadataKey, metadata); err != nil {
			return nil, nil, err
		}
	}
	for i, t := range tensors {
		shape := append([]int{}, t.Shape...) // [] for a scalar, not null
		if err := put(t.Name, headerEntry{t.dType(), shape, offsets[i]}); err != nil {
			return nil, nil, err
		}
	}
	b.WriteByte('}')
	b.WriteString(strings.Repeat(" ", -b.Len()&7))
	return b.Bytes(), order, nil
}

func appendJSON(b *bytes.Buffer, name string, value any) error {
	key, err := json.Marshal(name)
	if err != nil {
		return fmt.Errorf("write tensor %q: %w", name, err)
	}
	entry, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write tensor %q: %w", name, err)
	}
	b.Write(key)
	b.WriteByte(':')
	b.Write(entry)
	return nil
}

// ReadTensors parses a complete safetensors file and returns its tensors in the order of the header. Before it decodes any
// number, it checks that the tensors lie in the file, without gaps or overlap, and that each is as long as its shape requires.
// The result does not share memory with file. Errors wrap ErrDamaged.
func ReadTensors(file []byte, limits Limits) (tensors []Tensor, metadata map[string]string, err error) {
	limits = limits.withDefaults()
	header, data, err := splitHeader(file, limits)
	if err != nil {
		return nil, nil, damaged("read tensors", err)
	}
	entries, metadata, err := parseHeader(header, limits.Tensors)
	if err != nil {
		return nil, nil, damaged("read tensors: header", err)
	}
	if err := checkEntries(entries, int64(len(data))); err != nil {
		return nil, nil, damaged("read tensors", err)
	}
	tensors = make([]Tensor, len(entries))
	for i, e := range entries {
		numbers, err := decodeNumbers(e.DType, data[e.Offsets[0]:e.Offsets[1]])
		if err != nil {
			return nil, nil, damaged(fmt.Sprintf("read tensor %q", e.name), err)
		}
		tensors[i] = Tensor{Name: e.name, Shape: e.Shape, Data: numbers}
	}
	return tensors, metadata, nil
}

func damaged(what string, reason error) error {
	return fmt.Errorf("%s: %w: %w", what, ErrDamaged, reason)
}

func splitHeader(file []byte, limits Limits) (header, data []byte, err error) {
	if int64(len(file)) > limits.Bytes {
		return nil, nil, fmt.Errorf("%d bytes, at most %d: %w", len(file), limits.Bytes, errTooBig)
	}
	if len(file) < 8 {
		return nil, nil, fmt.Errorf("%d bytes, want at least 8: %w", len(file), io.ErrUnexpectedEOF)
	}
	n := binary.LittleEndian.Uint64(file)
	if n > uint64(limits.Header) {
		return nil, nil, fmt.Errorf("header of %d bytes, at most %d: %w", n, limits.Header, errTooBig)
	}
	if n > uint64(len(file)-8) {
		return nil, nil, fmt.Errorf("header of %d bytes in a file of %d: %w", n, len(file), io.ErrUnexpectedEOF)
	}
	return file[8 : 8+n], file[8+n:], nil
}

// checkEntries verifies that the tensors cover the size bytes of data exactly, without gaps or overlap.
func checkEntries(entries []entry, size int64) error {
	byOffset := slices.Clone(entries)
	slices.SortFunc(byOffset, func(a, b entry) int {
		return slices.Compare(a.Offsets, b.Offsets)
	})
	end := int64(0)
	for _, e := range byOffset {
		want, ok := byteSize(e.DType, e.Shape)
		lo, hi := e.Offsets[0], e.Offsets[1]
		switch {
		case elementSize(e.DType) == 0:
			return fmt.Errorf("tensor %q: unknown element type %q, want F32, F64, I64 or U8", e.name, e.DType)
		case !ok || lo > hi || hi-lo != want:
			return fmt.Errorf("tensor %q: offsets %d to %d for shape %v of %s", e.name, lo, hi, e.Shape, e.DType)
		case lo != end:
			return fmt.Errorf("tensor %q: starts at %d, want %d: a hole or an overlap", e.name, lo, end)
		case hi > size:
			return fmt.Errorf("tensor %q: ends at %d of %d bytes: %w", e.name, hi, size, io.ErrUnexpectedEOF)
		}
		end = hi
	}
	if end != size {
		return fmt.Errorf("%d bytes belong to no tensor", size-end)
	}
	return nil
}

func decodeNumbers(dtype string, b []byte) (any, error) {
	switch dtype {
	case "F64":
		return decodeSlice[float64](b, 8)
	case "I64":
		return decodeSlice[int64](b, 8)
	case "F32":
		return decodeSlice[float32](b, 4)
	default:
		return bytes.Clone(b), nil
	}
}

func decodeSlice[E Element](b []byte, size int) ([]E, error) {
	numbers := make([]E, len(b)/size)
	_, err := binary.Decode(b, binary.LittleEndian, numbers)
	return numbers, err
}

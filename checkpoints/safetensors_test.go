package checkpoints

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clustergym/clustergym/internal/must"
)

// file assembles a safetensors file from a header and data.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// TestWriteTensorsBytes checks the bytes against the format's description: length, header padded to a multiple of 8, data.
func TestWriteTensorsBytes(t *testing.T) {
	var b bytes.Buffer
	err := WriteTensors(&b, []Tensor{
		{"mask", []int{3}, []uint8{1, 0, 1}},
		{"w", []int{1, 2}, []float32{1, -2}},
		{"step", nil, []int64{-1}},
	}, map[string]string{"format": "x"})
	must.Do(t, err)
	header := `{"__metadata__":{"format":"x"},` +
		`"mask":{"dtype":"U8","shape":[3],"data_offsets":[16,19]},` +
		`"w":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},` +
		`"step":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}`
	header += strings.Repeat(" ", -len(header)&7)
	want := file(header,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0,
		1, 0, 1)
	if d := cmp.Diff(want, b.Bytes()); d != "" {
		t.Errorf("bytes (-want +got):\n%s", d)
	}
}

func TestWriteTensorsRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		tensors []Tensor
	}{
		{"no name", []Tensor{{"", nil, []uint8{1}}}},
		{"the reserved name", []Tensor{{"__metadata__", nil, []uint8{1}}}},
		{"a name that is not UTF-8", []Tensor{{"\xff", nil, []uint8{1}}}},
		{"a name twice", []Tensor{{"a", nil, []uint8{1}}, {"a", nil, []uint8{1}}}},
		{"numbers without a format", []Tensor{{"a", []int{1}, []int{1}}}},
		{"no numbers at all", []Tensor{{"a", []int{1}, nil}}},
		{"fewer numbers than the shape", []Tensor{{"a", []int{2}, []uint8{1}}}},
		{"a negative dimension", []Tensor{{"a", []int{-1, -1}, []uint8{1}}}},
		{"a shape that overflows", []Tensor{{"a", []int{1 << 40, 1 << 40}, []float64{}}}},
	} {
		var b bytes.Buffer
		if err := WriteTensors(&b, c.tensors, nil); err == nil || b.Len() > 0 {
			t.Errorf("%s: error %v after %d bytes", c.name, err, b.Len())
		}
	}
}

func TestReadTensorsRefuses(t *testing.T) {
	entry := func(name, dtype, shape, offsets string) string {
		return fmt.Sprintf(`"%s":{"dtype":"%s","shape":%s,"data_offsets":%s}`, name, dtype, shape, offsets)
	}
	u8 := func(offsets string, n int) string { return entry("a", "U8", fmt.Sprintf("[%d]", n), offsets) }
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "0 bytes"},
		{"half a length", []byte{1, 0, 0}, "3 bytes"},
		{"a header beyond the file", file("{}")[:9], "header of 2 bytes in a file of 9"},
		{"a huge header", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, '{'}, "at most"},
		{"an empty header", file(""), "does not begin with {"},
		{"space before the header", file(" {}"), "does not begin with {"},
		{"a header that is no object", file("[]"), "does not begin with {"},
		{"a header cut off", file(`{"a":`), "unexpected EOF"},
		{"a header without its end", file(`{`), "unexpected EOF"},
		{"text after the header", file(`{}x`), "more text after the end"},
		{"a second header", file(`{}{}`), "more text after the end"},
		{"a header that is not UTF-8", file("{\"\xff\":1}"), "invalid UTF-8"},
		{"a trailing comma", file(`{"__metadata__":{},}`), "header"},
		{"a number for an entry", file(`{"a":1}`), `a: 1, want an object`},
		{"metadata that is no text", file(`{"__metadata__":{"a":1}}`), "__metadata__.a: 1, want text"},
		{"metadata twice", file(`{"__metadata__":{},"__metadata__":{}}`), "stands twice"},
		{"a tensor twice", file("{"+u8("[0,1]", 1)+","+u8("[0,1]", 1)+"}", 0), `key "a" stands twice`},
		{"the same name in another spelling", file("{" + u8("[0,0]", 0) + `,"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`), "stands twice"},
		{"a key twice", file(`{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}`), "a.dtype: given twice"},
		{"a key in another case", file(`{"a":{"DType":"U8","shape":[0],"data_offsets":[0,0]}}`), "a.DType: unknown field"},
		{"an unknown key", file(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":1}}`), "a.x: unknown field"},
		{"a missing key", file(`{"a":{"dtype":"U8","shape":[0]}}`), "a.data_offsets: missing"},
		{"one offset", file("{" + u8("[0]", 0) + "}"), "a.data_offsets: 1 numbers, want 2"},
		{"three offsets", file("{" + u8("[0,0,0]", 0) + "}"), "want a list of at most 2"},
		{"a negative offset", file("{"+u8("[-1,0]", 1)+"}", 0), "-1, want a whole number"},
		{"a fraction", file("{"+u8("[0,1.0]", 1)+"}", 0), "1.0, want a whole number"},
		{"a quoted number", file("{"+u8(`[0,"1"]`, 1)+"}", 0), "want a whole number"},
		{"an offset beyond 63 bits", file("{" + u8("[0,18446744073709551615]", 1) + "}"), "want a whole number"},
		{"offsets in reverse", file("{"+u8("[1,0]", 1)+"}", 0), "offsets 1 to 0"},
		{"fewer bytes than the shape", file("{"+u8("[0,1]", 2)+"}", 0), "for shape [2]"},
		{"more bytes than the shape", file("{"+u8("[0,2]", 1)+"}", 0, 0), "for shape [1]"},
		{"a tensor beyond the file", file("{"+u8("[0,4]", 4)+"}", 0), "ends at 4 of 1 bytes"},
		{"a huge tensor", file("{" + u8("[0,4611686018427387904]", 1<<62) + "}"), "ends at"},
		{"a shape that overflows to its size",
			file("{"+entry("a", "U8", "[4294967296,4294967296]", "[0,0]")+"}", 0), "for shape"},
		{"a hole at the start", file("{"+u8("[1,2]", 1)+"}", 0, 0), "a hole or an overlap"},
		{"a hole between", file("{"+u8("[0,1]", 1)+","+entry("b", "U8", "[1]", "[2,3]")+"}", 0, 0, 0), "a hole or an overlap"},
		{"an overlap", file("{"+u8("[0,2]", 2)+","+entry("b", "U8", "[2]", "[1,3]")+"}", 0, 0, 0), "a hole or an overlap"},
		{"bytes of no tensor", file("{"+u8("[0,1]", 1)+"}", 0, 0), "1 bytes belong to no tensor"},
		{"an unknown element type", file("{"+entry("a", "BF16", "[1]", "[0,2]")+"}", 0, 0), `unknown element type "BF16"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := ReadTensors(c.file, Limits{})
			if !errors.Is(err, ErrDamaged) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error %v, want damaged with %q", err, c.want)
			}
		})
	}
}

func TestReadTensorsHoldsItsLimits(t *testing.T) {
	var b bytes.Buffer
	err := WriteTensors(&b, []Tensor{{"a", []int{2}, []float32{1, 2}}, {"b", []int{1}, []uint8{3}}}, nil)
	must.Do(t, err)
	size := b.Len()
	for _, c := range []struct {
		name   string
		limits Limits
		ok     bool
	}{
		{"all fit exactly", Limits{Bytes: int64(size), Header: size - 8 - 9, Tensors: 2}, true},
		{"a byte too many", Limits{Bytes: int64(size) - 1}, false},
		{"a header too long", Limits{Header: size - 8 - 9 - 1}, false},
		{"a tensor too many", Limits{Tensors: 1}, false},
	} {
		if _, _, err := ReadTensors(b.Bytes(), c.limits); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestTensorsRoundTrip checks that tensors of any type, order, shape and bit pattern are read back unchanged, and that every
// truncation is rejected.
func TestTensorsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensors := rapid.SliceOfNDistinct(tensorGen(), 0, 6, func(t Tensor) string { return t.Name }).Draw(t, "tensors")
		metadata := rapid.MapOfN(rapid.String(), rapid.String(), 0, 3).Draw(t, "metadata")
		var b bytes.Buffer
		must.Do(t, WriteTensors(&b, tensors, metadata))
		got, gotMetadata, err := ReadTensors(b.Bytes(), Limits{})
		must.Do(t, err)
		if d := cmp.Diff(bitsOf(tensors), bitsOf(got)); d != "" {
			t.Fatalf("tensors (-want +got):\n%s", d)
		}
		if len(metadata)+len(gotMetadata) > 0 && !cmp.Equal(metadata, gotMetadata) {
			t.Fatalf("metadata %q, want %q", gotMetadata, metadata)
		}
		cut := rapid.IntRange(0, b.Len()-1).Draw(t, "cut")
		if _, _, err := ReadTensors(b.Bytes()[:cut], Limits{}); !errors.Is(err, ErrDamaged) {
			t.Fatalf("the first %d of %d bytes: %v, want damaged", cut, b.Len(), err)
		}
	})
}

func tensorGen() *rapid.Generator[Tensor] {
	return rapid.Custom(func(t *rapid.T) Tensor {
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")
		n := 1
		for _, d := range shape {
			n *= d
		}
		words := rapid.SliceOfN(rapid.Uint64(), n, n).Draw(t, "bits")
		name := rapid.StringMatching(`[a-z0-9."<é]{1,4}`).Draw(t, "name")
		var data any
		switch rapid.IntRange(0, 3).Draw(t, "type") {
		case 0:
			data = convert(words, func(w uint64) float32 { return math.Float32frombits(uint32(w)) })
		case 1:
			data = convert(words, math.Float64frombits)
		case 2:
			data = convert(words, func(w uint64) int64 { return int64(w) })
		case 3:
			data = convert(words, func(w uint64) uint8 { return uint8(w) })
		}
		return Tensor{name, shape, data}
	})
}

func convert[T any](words []uint64, f func(uint64) T) []T {
	out := make([]T, len(words))
	for i, w := range words {
		out[i] = f(w)
	}
	return out
}

// bitsOf formats tensors so that they can be compared, including NaNs.
func bitsOf(tensors []Tensor) []string {
	var out []string
	for _, t := range tensors {
		var b bytes.Buffer
		if err := binary.Write(&b, binary.LittleEndian, t.Data); err != nil {
			panic(err)
		}
		out = append(out, fmt.Sprintf("%q %s %v %x", t.Name, t.dType(), t.Shape, b.Bytes()))
	}
	return out
}

func TestGet(t *testing.T) {
	tensors := []Tensor{{"a", []int{1, 2}, []float32{1, 2}}}
	if got, err := Get[float32](tensors, "a", 1, 2); err != nil || got[1] != 2 {
		t.Errorf("a: %v, %v", got, err)
	}
	for name, err := range map[string]error{
		"another name":  second(Get[float32](tensors, "b", 1, 2)),
		"another type":  second(Get[float64](tensors, "a", 1, 2)),
		"another shape": second(Get[float32](tensors, "a", 2, 1)),
	} {
		if err == nil {
			t.Errorf("%s was found", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// FuzzReadTensors checks that no input causes a panic or allocations beyond the size of the file, and that accepted tensors are
// written back to the same tensors.
func FuzzReadTensors(f *testing.F) {
	var b bytes.Buffer
	must.Do(f, WriteTensors(&b, []Tensor{{"w", []int{2, 1}, []float32{1, 2}}, {"s", nil, []int64{3}}}, map[string]string{"k": "v"}))
	f.Add(b.Bytes())
	f.Add(file("{}"))
	f.Add(file(`{"a":{"dtype":"U8","shape":[2,0,9],"data_offsets":[0,0]}}  `))
	f.Add(file(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`, 7))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, metadata, err := ReadTensors(file, Limits{Bytes: 1 << 16})
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("%v is not marked as damage", err)
			}
			return
		}
		for _, tensor := range tensors {
			if tensor.Name == "" {
				return // it can be read, not written
			}
		}
		var b bytes.Buffer
		must.Do(t, WriteTensors(&b, tensors, metadata))
		again, _, err := ReadTensors(b.Bytes(), Limits{})
		must.Do(t, err)
		if d := cmp.Diff(bitsOf(tensors), bitsOf(again)); d != "" {
			t.Fatalf("round trip (-first +second):\n%s", d)
		}
	})
}

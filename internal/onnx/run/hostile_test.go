package run

import (
	"encoding/binary"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/clustergym/clustergym/internal/must"
)

// message writes fields of protocol buffers: numbers as varints, strings and bytes with their lengths.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch x := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(x))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), x)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), x)
		}
	}
	return b
}

// value is an input or an output of float32 with the given dimensions.
func value(name string, dims ...int) []byte {
	var shape []byte
	for _, d := range dims {
		shape = append(shape, message(1, message(1, d))...)
	}
	return message(1, name, 2, message(1, message(1, 1, 2, shape)))
}

// modelOf returns a model with the fields of a graph, and operator set 18.
func modelOf(graph ...any) []byte { return message(7, message(graph...), 8, message(2, 18)) }

func stored(name string, kind int, raw []byte, dims ...int) []byte {
	b := message(2, kind, 8, name, 9, raw)
	for _, d := range dims {
		b = append(b, message(1, d)...)
	}
	return b
}

// integers returns the raw elements of a tensor of int64.
func integers(xs ...int64) []byte {
	var b []byte
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint64(b, uint64(x)) //nolint:gosec // two's complement
	}
	return b
}

// TestModelsAreRefused checks that models that cannot be computed are refused when they are read, with the reason.
func TestModelsAreRefused(t *testing.T) {
	x, y := value("x", 2), value("y", 2)
	relu := message(1, "x", 2, "y", 4, "Relu")
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "not a model of ONNX"},
		{"text", []byte("a text"), "not a model of ONNX"},
		{"truncated", modelOf(11, x, 12, y, 1, relu)[:20], "not a model of ONNX"},
		{"old", message(7, message(11, x), 8, message(2, 9)), "operator set 9, want 13 to 22"},
		{"functions", append(modelOf(11, x, 12, y, 1, relu), message(25, "f")...), "it defines functions"},
		{"operator", modelOf(11, x, 12, y, 1, message(1, "x", 2, "y", 3, "n", 4, "Conv")), `operator Conv (node "n") of the domain ""`},
		{"domain", modelOf(11, x, 12, y, 1, message(1, "x", 2, "y", 4, "Relu", 7, "mine")), `domain "mine"`},
		{"order", modelOf(11, x, 12, y, 1, message(1, "z", 2, "y", 4, "Relu"), 1, message(1, "x", 2, "z", 4, "Relu")),
			`reads "z", which nothing computes before it`},
		{"output", modelOf(11, x, 12, value("z", 2), 1, relu), `no node computes the output "z"`},
		{"twice", modelOf(11, x, 12, y, 1, relu, 1, relu), `two values are named "y"`},
		{"inputs", modelOf(11, x, 12, y, 1, message(1, "x", 2, "y", 4, "Add")), "1 inputs, want those of"},
		{"outputs", modelOf(11, x, 12, y, 1, message(1, "x", 2, "y", 2, "z", 4, "Relu")), "2 outputs, want at most 1"},
		{"double", modelOf(11, message(1, "x", 2, message(1, message(1, 11)))), "elements of float64"},
		{"weights elsewhere", modelOf(5, message(8, "w", 1, 2, 2, 1, 14, 1)), "export with external_data=False"},
		{"few elements", modelOf(5, stored("w", 1, make([]byte, 8), 3)), `tensor "w": 2 elements, want 3`},
		{"many elements", modelOf(5, stored("w", 1, make([]byte, 8), 1<<25)), "33554432 elements, want at most 16777216"},
		{"huge", modelOf(5, stored("w", 1, nil, 1<<26, 1<<26)), "more than 67108864 elements"},
		{"negative", modelOf(5, stored("w", 1, nil, -1)), "dimension -1"},
		{"many dimensions", modelOf(5, stored("w", 1, make([]byte, 4), 1, 1, 1, 1, 1, 1, 1, 1, 1)), "more than 8 integers"},
		{"sparse", modelOf(15, ""), "sparse"},
	} {
		if _, err := Parse(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestRunsAreBounded checks that a run ends with an error where a model would hold or compute too much, or breaks a rule.
func TestRunsAreBounded(t *testing.T) {
	y := value("y")
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"one result", modelOf(5, stored("n", 7, integers(1<<14, 1<<14), 2), 12, y, 1, message(1, "n", 2, "y", 4, "ConstantOfShape")),
			"more than 67108864 elements"},
		{"several results", modelOf(5, stored("n", 7, integers(1<<13, 3<<11), 2), 12, y, 1, message(1, "n", 2, "a", 4, "ConstantOfShape"),
			1, message(1, "n", 2, "b", 4, "ConstantOfShape"), 1, message(1, "n", 2, "c", 4, "ConstantOfShape"),
			1, message(1, "a", 1, "b", 2, "d", 4, "Max"), 1, message(1, "c", 1, "d", 2, "y", 4, "Max")), "holds more than 128 MiB at a time"},
		{"products", modelOf(5, stored("n", 7, integers(1<<12, 1<<12), 2), 12, y, 1, message(1, "n", 2, "a", 4, "ConstantOfShape"),
			1, message(1, "a", 1, "a", 2, "y", 4, "MatMul")), "computes too much"},
		{"division", modelOf(5, stored("n", 7, integers(0), 1), 12, y, 1, message(1, "n", 1, "n", 2, "y", 4, "Div")), "divided by 0"},
		{"index", modelOf(5, stored("n", 7, integers(1), 1), 12, y, 1, message(1, "n", 1, "n", 2, "y", 4, "Gather")), "index 1 of 1"},
		{"shape", modelOf(5, stored("n", 7, integers(3), 1), 12, y, 1, message(1, "n", 1, "n", 2, "y", 4, "Reshape")), "in the shape [3]"},
		{"type", modelOf(5, stored("n", 7, integers(3), 1), 12, y, 1, message(1, "n", 2, "y", 4, "Relu")), "int64 [1], want float32"},
		{"step", modelOf(5, stored("n", 7, integers(0), 1), 5, stored("e", 7, integers(1), 1), 12, y,
			1, message(1, "e", 1, "n", 1, "e", 1, "n", 1, "n", 2, "y", 4, "Slice")), "step 0"},
	} {
		m, err := Parse(c.file)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err := m.Run(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// TestInputsMustFit checks that inputs of other types or shapes than the model's are refused.
func TestInputsMustFit(t *testing.T) {
	m := must.Get(Parse(modelOf(11, value("x", 2), 12, value("y", 2), 1, message(1, "x", 2, "y", 4, "Relu"))))(t)
	for want, x := range map[string]*Tensor{
		"is missing":          nil,
		"shape [3], want [2]": {Type: Float, Shape: []int{3}, Floats: make([]float32, 3)},
		"shape [], want [2]":  {Type: Float, Floats: make([]float32, 1)},
		"want float32":        {Type: Bool, Shape: []int{2}, Ints: make([]int64, 2)},
		"with 1 elements":     {Type: Float, Shape: []int{2}, Floats: make([]float32, 1)},
	} {
		if _, err := m.Run(t.Context(), map[string]*Tensor{"x": x}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzParse reads and runs models. Neither may panic, whatever the bytes are.
func FuzzParse(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c.file(f))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Parse(file)
		if err != nil {
			return
		}
		inputs := map[string]*Tensor{}
		for _, v := range m.Inputs {
			shape := make([]int, len(v.Dims))
			for i, d := range v.Dims {
				if shape[i] = d.Size; d.Size < 0 {
					shape[i] = 2
				}
			}
			n, err := count(shape)
			if err != nil || n > 1<<16 {
				return
			}
			x := &Tensor{Type: v.Type, Shape: shape}
			if v.Type == Float {
				x.Floats = make([]float32, n)
			} else {
				x.Ints = make([]int64, n)
			}
			inputs[v.Name] = x
		}
		// Small limits leave time for more models.
		if out, err := m.run(t.Context(), inputs, limits{bytes: 1 << 18, work: 1 << 22}); err == nil && len(out) > len(m.Outputs) {
			t.Errorf("%d outputs, want %d", len(out), len(m.Outputs))
		}
	})
}

// Package onnx writes ONNX models: a graph of operators with its weights, in the protocol buffer format of onnx.proto. It
// supports what a feed-forward network needs, and defines no networks itself. It cannot read models.
package onnx

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Type is the element type of a tensor.
type Type int

// The supported element types, with their numbers in TensorProto.
const (
	Float  Type = 1
	Int64  Type = 7
	Bool   Type = 9
	Uint64 Type = 13
)

// irVersion and opset are those of ONNX 1.13. Runtimes from 2023 on can read them.
const (
	irVersion = 8
	opset     = 18
)

// Graph builds the graph of a model. Values have names. Nodes must be added in such an order that each reads only values that
// exist already, because ONNX requires that order. The zero value is an empty graph.
type Graph struct {
	nodes, weights  [][]byte
	inputs, outputs [][]byte
	known           map[string]bool
	count           int
}

// Dim is one dimension of an input or an output: a size, or a name if the size may differ from run to run.
type Dim struct {
	Size int
	Name string
}

// Attr is a named attribute of a node in its encoded form.
type Attr []byte

// The kinds of attributes, with their numbers in AttributeProto.
const (
	attrFloat  = 1
	attrInt    = 2
	attrText   = 3
	attrTensor = 4
	attrInts   = 7
)

// IntAttr returns an attribute that is an integer.
func IntAttr(name string, x int) Attr {
	return attr(name, attrInt, appendInt(nil, 3, uint64(x)))
}

// FloatAttr returns an attribute that is a float.
func FloatAttr(name string, x float32) Attr {
	return attr(name, attrFloat, protowire.AppendFixed32(protowire.AppendTag(nil, 2, protowire.Fixed32Type), math.Float32bits(x)))
}

// TextAttr returns an attribute that is a string.
func TextAttr(name, x string) Attr {
	return attr(name, attrText, appendBytes(nil, 4, x))
}

// IntsAttr returns an attribute that is a list of integers.
func IntsAttr(name string, xs ...int) Attr {
	var b []byte
	for _, x := range xs {
		b = appendInt(b, 8, uint64(x))
	}
	return attr(name, attrInts, b)
}

// ScalarAttr returns an attribute that is a tensor of one float.
func ScalarAttr(name string, x float32) Attr {
	return attr(name, attrTensor, appendBytes(nil, 5, tensor("", Float, []int{1}, floats([]float32{x}))))
}

func attr(name string, kind uint64, value []byte) Attr {
	b := appendBytes(nil, 1, name)
	b = append(b, value...)
	return appendInt(b, 20, kind)
}

// Input declares an input and returns its name.
func (g *Graph) Input(name string, t Type, dims ...Dim) string {
	g.inputs = append(g.inputs, valueInfo(name, t, dims))
	return g.add(name)
}

// Output declares a value as an output of the model.
func (g *Graph) Output(name string, t Type, dims ...Dim) {
	g.want(name)
	g.outputs = append(g.outputs, valueInfo(name, t, dims))
}

// Floats stores a tensor of floats, row by row, and returns its name. Without dims it is a scalar.
func (g *Graph) Floats(name string, data []float32, dims ...int) string {
	g.weights = append(g.weights, tensor(name, Float, checked(name, len(data), dims), floats(data)))
	return g.add(name)
}

// Ints stores a tensor of integers and returns its name. Without dims it is a scalar.
func (g *Graph) Ints(name string, data []int64, dims ...int) string {
	var raw []byte
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
	}
	g.weights = append(g.weights, tensor(name, Int64, checked(name, len(data), dims), raw))
	return g.add(name)
}

// Has reports whether a value with that name exists.
func (g *Graph) Has(name string) bool { return g.known[name] }

// Node adds an operator with one result and returns the result's name.
func (g *Graph) Node(op string, inputs []string, attrs ...Attr) string {
	return g.NodeOf(op, 1, inputs, attrs...)[0]
}

// NodeOf is Node for an operator with several results. It panics if an input does not exist.
func (g *Graph) NodeOf(op string, results int, inputs []string, attrs ...Attr) []string {
	var b []byte
	for _, in := range inputs {
		g.want(in)
		b = appendBytes(b, 1, in)
	}
	g.count++
	name := fmt.Sprintf("%s_%d", op, g.count)
	names := make([]string, results)
	for i := range names {
		names[i] = g.add(fmt.Sprintf("%s_%d", name, i))
		b = appendBytes(b, 2, names[i])
	}
	b = appendBytes(b, 3, name)
	b = appendBytes(b, 4, op)
	for _, a := range attrs {
		b = appendBytes(b, 5, a)
	}
	g.nodes = append(g.nodes, b)
	return names
}

// Rename gives a value a second name, for example that of an output, and returns the name.
func (g *Graph) Rename(value, name string) string {
	g.want(value)
	b := appendBytes(nil, 1, value)
	b = appendBytes(b, 2, name)
	b = appendBytes(b, 3, name)
	g.nodes = append(g.nodes, appendBytes(b, 4, "Identity"))
	return g.add(name)
}

// Meta is an entry of a model's metadata.
type Meta struct{ Key, Value string }

// Model returns the content of the model's file. Equal arguments give equal bytes.
func (g *Graph) Model(name, doc, producer string, meta []Meta) []byte {
	var graph []byte
	for _, n := range g.nodes {
		graph = appendBytes(graph, 1, n)
	}
	graph = appendBytes(graph, 2, name)
	for _, w := range g.weights {
		graph = appendBytes(graph, 5, w)
	}
	graph = appendBytes(graph, 10, doc)
	for _, in := range g.inputs {
		graph = appendBytes(graph, 11, in)
	}
	for _, out := range g.outputs {
		graph = appendBytes(graph, 12, out)
	}
	b := appendInt(nil, 1, irVersion)
	b = appendBytes(b, 2, producer)
	b = appendBytes(b, 7, graph)
	b = appendBytes(b, 8, appendInt(nil, 2, opset))
	for _, m := range meta {
		b = appendBytes(b, 14, appendBytes(appendBytes(nil, 1, m.Key), 2, m.Value))
	}
	return b
}

func (g *Graph) add(name string) string {
	if g.known[name] {
		panic("onnx: two values named " + name)
	}
	if g.known == nil {
		g.known = map[string]bool{}
	}
	g.known[name] = true
	return name
}

func (g *Graph) want(name string) {
	if !g.known[name] {
		panic("onnx: no value named " + name)
	}
}

func checked(name string, n int, dims []int) []int {
	want := 1
	for _, d := range dims {
		want *= d
	}
	if n != want {
		panic(fmt.Sprintf("onnx: %s has %d numbers, want %v", name, n, dims))
	}
	return dims
}

func tensor(name string, t Type, dims []int, raw []byte) []byte {
	var b []byte
	for _, d := range dims {
		b = appendInt(b, 1, uint64(d))
	}
	b = appendInt(b, 2, uint64(t))
	if name != "" {
		b = appendBytes(b, 8, name)
	}
	return appendBytes(b, 9, raw)
}

func floats(data []float32) []byte {
	raw := make([]byte, 0, 4*len(data))
	for _, x := range data {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return raw
}

func valueInfo(name string, t Type, dims []Dim) []byte {
	var shape []byte
	for _, d := range dims {
		if d.Name != "" {
			shape = appendBytes(shape, 1, appendBytes(nil, 2, d.Name))
		} else {
			shape = appendBytes(shape, 1, appendInt(nil, 1, uint64(d.Size)))
		}
	}
	of := appendBytes(appendInt(nil, 1, uint64(t)), 2, shape)
	return appendBytes(appendBytes(nil, 1, name), 2, appendBytes(nil, 1, of))
}

func appendInt(b []byte, field protowire.Number, x uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), x)
}

// appendBytes appends a field that is a string or a message.
func appendBytes[T ~string | ~[]byte](b []byte, field protowire.Number, x T) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), string(x))
}

// Package graphop turns pure kernels into Gorgonia operations with symbolic gradients. The packages attention/graph,
// coordgraph/graph, agents/learn and train use it. No other package may import it, because it links Gorgonia.
package graphop

import (
	"fmt"
	"hash"
	"hash/fnv"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/internal/kernel"
)

// op is a Gorgonia operation that computes a pure function of contiguous dense tensors. Its shapes are fixed when it is created.
type op struct {
	id    string // what it computes: kind, all parameters, all shapes
	types []hm.Type
	in    []tensor.Shape
	out   tensor.Shape
	f32   Body[float32]
	f64   Body[float64]
	wrt   []bool // inputs that have a Gradient
	grad  Gradient
}

// Body computes out from in. It may keep scratch memory, because Gorgonia runs a graph on one machine at a time.
type Body[T kernel.Float] func(out []T, in [][]T)

// Gradient builds the gradient nodes of the inputs, nil for inputs without a gradient.
type Gradient func(in G.Nodes, out, grad *G.Node) (G.Nodes, error)

// Apply adds a node to the graph that applies a kernel to the nodes in. Gorgonia merges nodes whose operations have the same
// hash, so the hashed id contains the kind, params and all shapes.
func Apply(kind string, params any, out tensor.Shape, f32 Body[float32], f64 Body[float64], grad Gradient, wrt []bool,
	in ...*G.Node) (*G.Node, error) {
	o := &op{out: out, f32: f32, f64: f64, grad: grad, wrt: wrt}
	if wrt == nil {
		o.wrt = make([]bool, len(in))
	}
	for _, n := range in {
		o.in = append(o.in, n.Shape().Clone())
		o.types = append(o.types, tensorType(n.Dims()))
	}
	o.types = append(o.types, tensorType(len(out)))
	o.id = fmt.Sprintf("%s{%+v}%v->%v", kind, params, o.in, o.out)
	return G.ApplyOp(o, in...)
}

func tensorType(dims int) hm.Type {
	return G.TensorType{Dims: dims, Of: hm.TypeVariable('a')}
}

func (o *op) Arity() int                { return len(o.in) }
func (o *op) Type() hm.Type             { return hm.NewFnType(o.types...) }
func (o *op) ReturnsPtr() bool          { return true }
func (o *op) CallsExtern() bool         { return false }
func (o *op) OverwritesInput() int      { return -1 }
func (o *op) WriteHash(h hash.Hash)     { fmt.Fprint(h, o.id) }
func (o *op) String() string            { return o.id }
func (o *op) DiffWRT(inputs int) []bool { return o.wrt }

func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *op) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	for i, d := range in {
		if s, ok := d.(tensor.Shape); !ok || !s.Eq(o.in[i]) {
			return nil, fmt.Errorf("infer shape of %s: input %d is %v", o.id, i, d)
		}
	}
	return o.out.Clone(), nil
}

func (o *op) SymDiff(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
	if o.grad == nil {
		return nil, fmt.Errorf("differentiate %s: not differentiable", o.id)
	}
	return o.grad(in, out, grad)
}

func (o *op) Do(in ...G.Value) (G.Value, error) {
	if len(in) != len(o.in) {
		return nil, fmt.Errorf("run %s: %d inputs", o.id, len(in))
	}
	return o.UsePreallocDo(tensor.New(tensor.WithShape(o.out...), tensor.Of(in[0].Dtype())), in...)
}

// UsePreallocDo computes the result into pre, the output tensor of an earlier run.
func (o *op) UsePreallocDo(pre G.Value, in ...G.Value) (G.Value, error) {
	if len(in) != len(o.in) {
		return nil, fmt.Errorf("run %s: %d inputs", o.id, len(in))
	}
	var err error
	switch pre.Dtype() {
	case tensor.Float32:
		err = run(o, o.f32, pre, in)
	case tensor.Float64:
		err = run(o, o.f64, pre, in)
	default:
		err = fmt.Errorf("run %s: element type %v, want float32 or float64", o.id, pre.Dtype())
	}
	return pre, err
}

func run[T kernel.Float](o *op, f Body[T], out G.Value, in []G.Value) error {
	var buf [8][]T
	for i, v := range in {
		x, err := elements[T](v, o.in[i])
		if err != nil {
			return fmt.Errorf("run %s: input %d: %w", o.id, i, err)
		}
		buf[i] = x
	}
	y, err := elements[T](out, o.out)
	if err != nil {
		return fmt.Errorf("run %s: output: %w", o.id, err)
	}
	f(y, buf[:len(in)])
	return nil
}

// elements returns the backing slice of a contiguous dense tensor. It returns an error if the tensor does not have the type T and
// the size of the shape want.
func elements[T kernel.Float](v G.Value, want tensor.Shape) ([]T, error) {
	d, ok := v.(*tensor.Dense)
	if !ok || d.RequiresIterator() {
		return nil, fmt.Errorf("got %T, want a contiguous dense tensor", v)
	}
	x, ok := d.Data().([]T)
	if !ok || len(x) != want.TotalSize() {
		return nil, fmt.Errorf("got %v of %v, want %v", d.Shape(), d.Dtype(), want)
	}
	return x, nil
}

// Like returns a node that computes a gradient with the shape of wrt from the nodes in.
func Like(kind string, params any, wrt *G.Node, f32 Body[float32], f64 Body[float64], in ...*G.Node) (*G.Node, error) {
	return Apply(kind, params, wrt.Shape().Clone(), f32, f64, nil, nil, in...)
}

// Packed computes the gradients of wrt together in one vector, which saves work that they share, and then splits the vector into
// one node for each.
func Packed(kind string, params any, wrt G.Nodes, f32 Body[float32], f64 Body[float64], in ...*G.Node) (G.Nodes, error) {
	size := 0
	for _, n := range wrt {
		size += n.Shape().TotalSize()
	}
	all, err := Apply(kind, params, tensor.Shape{size}, f32, f64, nil, nil, in...)
	if err != nil {
		return nil, err
	}
	parts, from := make(G.Nodes, len(wrt)), 0
	for i, n := range wrt {
		if parts[i], err = Like("part", from, n, part[float32](from), part[float64](from), all); err != nil {
			return nil, err
		}
		from += n.Shape().TotalSize()
	}
	return parts, nil
}

func part[T kernel.Float](from int) Body[T] {
	return func(out []T, in [][]T) { copy(out, in[0][from:]) }
}

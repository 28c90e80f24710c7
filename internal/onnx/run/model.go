package run

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The limits on models, beside those on tensors.
const (
	MaxBytes   = 1 << 27 // of a file
	maxNodes   = 1 << 14
	maxValues  = 1 << 16 // names of values
	maxWeights = 1 << 24 // elements of all stored tensors
)

// The operator sets that are supported.
const firstOpset, lastOpset = 13, 22

// Model is a model that was read. It never changes; several goroutines may run it at a time.
type Model struct {
	Inputs, Outputs []Value
	Opset           int

	nodes   []node
	names   map[string]int // from a name to the index of its value
	weights []*Tensor      // by index; nil for values that are not stored
	ends    [][]int        // for each node, the values that nothing reads after it
}

// node is an operation.
type node struct {
	name, operator string
	in, out        []int // values; -1 for an input or an output that is left out
	attributes     map[string]attribute
}

// String names the node in errors.
func (n *node) String() string {
	return fmt.Sprintf("operator %.50s (node %.100q)", n.operator, n.name)
}

// Parse reads a model, checks that this package has all of its operators, and that every value is computed before it is read.
func Parse(file []byte) (*Model, error) {
	if len(file) > MaxBytes {
		return nil, fmt.Errorf("read ONNX model: %d bytes, want at most %d", len(file), MaxBytes)
	}
	m := &Model{names: map[string]int{}}
	p := parser{m: m, left: maxWeights}
	if err := p.model(file); err != nil {
		return nil, fmt.Errorf("read ONNX model: %w", err)
	}
	return m, nil
}

// parser reads a model.
type parser struct {
	m     *Model
	left  int // elements that stored tensors may still have
	known int // nodes that were read
}

func (p *parser) model(file []byte) error {
	var graph []byte
	err := decode(file, fields{7: &graph, 8: p.opset, 25: func([]byte) error {
		return errors.New("it defines functions, want a graph of operators only: export it with torch.onnx.export of PyTorch 2.5" +
			" or later, or with dynamo=False")
	}})
	if err != nil {
		return err
	}
	if graph == nil {
		return errCut
	}
	if v := p.m.Opset; v < firstOpset || v > lastOpset {
		return fmt.Errorf("operator set %d, want %d to %d: export it with opset_version=18", v, firstOpset, lastOpset)
	}
	return p.graph(graph)
}

// opset reads an OperatorSetIdProto.
func (p *parser) opset(message []byte) error {
	domain, version := "", int64(0)
	err := decode(message, fields{1: &domain, 2: &version})
	if domain == "" || domain == "ai.onnx" {
		p.m.Opset = int(version)
	}
	return err
}

// graph reads a GraphProto. The nodes may stand before the tensors and inputs that they read, so they are read last.
func (p *parser) graph(message []byte) error {
	m := p.m
	add := func(to *[]Value) func([]byte) error {
		return func(message []byte) error {
			v, err := parseValue(message)
			if *to = append(*to, v); len(*to) > maxValues {
				return fmt.Errorf("more than %d inputs or outputs", maxValues)
			}
			return err
		}
	}
	err := decode(message, fields{
		5: p.stored, 11: add(&m.Inputs), 12: add(&m.Outputs),
		15: func([]byte) error { return errors.New("it stores sparse tensors, want dense ones") },
	})
	if err != nil {
		return err
	}
	// Models of old exporters list stored tensors as inputs, too.
	m.Inputs = slices.DeleteFunc(m.Inputs, func(v Value) bool { _, stored := m.names[v.Name]; return stored })
	for _, v := range m.Inputs {
		if err := p.add(v.Name, nil); err != nil {
			return err
		}
	}
	if err := decode(message, fields{1: p.node}); err != nil {
		return err
	}
	for _, v := range m.Outputs {
		if _, ok := m.names[v.Name]; !ok {
			return fmt.Errorf("no node computes the output %.100q", v.Name)
		}
	}
	m.findEnds()
	return nil
}

// add gives a name to a new value, which is stored or nil.
func (p *parser) add(name string, stored *Tensor) error {
	if _, twice := p.m.names[name]; twice {
		return fmt.Errorf("two values are named %.100q", name)
	}
	if len(p.m.weights) >= maxValues {
		return fmt.Errorf("more than %d values", maxValues)
	}
	p.m.names[name] = len(p.m.weights)
	p.m.weights = append(p.m.weights, stored)
	return nil
}

// stored reads a tensor that the graph stores.
func (p *parser) stored(message []byte) error {
	name, t, err := parseTensor(message, p.left)
	if err != nil {
		return err
	}
	p.left -= t.Len()
	return p.add(name, t)
}

// node reads a NodeProto.
func (p *parser) node(message []byte) error {
	if p.known++; p.known > maxNodes {
		return fmt.Errorf("more than %d nodes", maxNodes)
	}
	n := node{attributes: map[string]attribute{}}
	var in, out []string
	domain := ""
	names := func(to *[]string) func([]byte) error {
		return func(name []byte) error {
			if *to = append(*to, string(name)); len(*to) > maxValues {
				return fmt.Errorf("more than %d inputs or outputs", maxValues)
			}
			return nil
		}
	}
	err := decode(message, fields{1: names(&in), 2: names(&out), 3: &n.name, 4: &n.operator, 5: func(message []byte) error {
		name, a, err := parseAttribute(message, p.left)
		if err == nil && a.t != nil {
			p.left -= a.t.Len()
		}
		p.left -= len(a.ints) + len(a.floats)
		n.attributes[name] = a
		return err
	}, 7: &domain})
	if err != nil {
		return fmt.Errorf("%v: %w", &n, err)
	}
	if _, ok := operators[n.operator]; !ok || domain != "" && domain != "ai.onnx" {
		return fmt.Errorf("%v of the domain %.50q is none of those that are supported, %s", &n, domain,
			strings.Join(slices.Sorted(maps.Keys(operators)), ", "))
	}
	return p.link(&n, in, out)
}

// link finds the values that a node reads, and names those that it computes.
func (p *parser) link(n *node, in, out []string) error {
	for _, name := range in {
		i, ok := p.m.names[name]
		switch {
		case name == "":
			i = -1
		case !ok:
			return fmt.Errorf("%v reads %.100q, which nothing computes before it", n, name)
		}
		n.in = append(n.in, i)
	}
	for _, name := range out {
		if name == "" {
			n.out = append(n.out, -1)
			continue
		}
		n.out = append(n.out, len(p.m.weights))
		if err := p.add(name, nil); err != nil {
			return fmt.Errorf("%v: %w", n, err)
		}
	}
	if err := operators[n.operator].fits(n); err != nil {
		return fmt.Errorf("%v: %w", n, err)
	}
	p.m.nodes = append(p.m.nodes, *n)
	return nil
}

// findEnds finds the values that a run can drop after each node.
func (m *Model) findEnds() {
	last := make([]int, len(m.weights)) // 1 + the last node that computes or reads a value
	for k := range m.nodes {
		for _, i := range append(slices.Clone(m.nodes[k].in), m.nodes[k].out...) {
			if i >= 0 {
				last[i] = k + 1
			}
		}
	}
	for _, v := range m.Outputs {
		last[m.names[v.Name]] = 0
	}
	m.ends = make([][]int, len(m.nodes))
	for i, k := range last {
		if k > 0 && m.weights[i] == nil {
			m.ends[k-1] = append(m.ends[k-1], i)
		}
	}
}

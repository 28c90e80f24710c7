package critic

import (
	"fmt"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Machine computes gradients for batches up to a maximum number of rows, servers and jobs; smaller batches are padded. T is
// float32 for training and float64 for gradient checks. A Machine is not safe for concurrent use.
type Machine[T kernel.Float] struct {
	rows, mostServers, mostJobs int
	shape                       Shape
	layout                      agents.Params // names and shapes of the weights
	params                      []*G.Node     // in the order of layout
	server, job, features       *G.Node
	serverMask, jobMask         *G.Node
	data                        *G.Node // what each row learns, and its weight
	values, cost                G.Value
	vm                          G.VM
	err                         error // the first of building
}

// huber is the size of an error, in standard deviations of what the network learns, at which the loss turns from quadratic to
// linear.
const huber = 1

// NewMachine builds and compiles the graph. Only one call may run at a time.
func NewMachine[T kernel.Float](s Shape, rows, servers, jobs int) (m *Machine[T], err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; return an error for them.
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("build graph of the critic: %v", r)
		}
	}()
	if err := s.validate(); err != nil {
		return nil, err
	}
	if min(rows, servers, jobs) < 1 {
		return nil, fmt.Errorf("build graph of the critic: %d rows, %d servers and %d jobs, want 1 or more of each", rows, servers,
			jobs)
	}
	g := G.NewGraph()
	m = &Machine[T]{
		rows: rows, mostServers: servers, mostJobs: jobs, shape: s, layout: Layout(s),
		server: graphop.Input[T](g, "in.server", rows*servers, s.Server), job: graphop.Input[T](g, "in.job", rows*jobs, s.Job),
		features:   graphop.Input[T](g, "in.features", rows, s.Features),
		serverMask: graphop.Input[T](g, "in.server_mask", rows, servers), jobMask: graphop.Input[T](g, "in.job_mask", rows, jobs),
		data: graphop.Input[T](g, "in.data", rows, columns),
	}
	for _, p := range m.layout {
		m.params = append(m.params, graphop.Input[T](g, p.Name, p.Shape...))
	}
	values := walk(layers[*G.Node](builder[T]{m}))
	if m.err != nil {
		return nil, fmt.Errorf("build graph of the critic: %w", m.err)
	}
	loss, err := losses(values, m.data)
	if err != nil {
		return nil, fmt.Errorf("build loss of the critic: %w", err)
	}
	cost, err := G.Sum(loss)
	if err != nil {
		return nil, fmt.Errorf("build loss of the critic: %w", err)
	}
	G.Read(values, &m.values)
	G.Read(cost, &m.cost)
	if _, err := G.Grad(cost, m.params...); err != nil {
		return nil, fmt.Errorf("build gradients of the critic: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(m.params...))
	return m, nil
}

// Close releases the machine.
func (m *Machine[T]) Close() error { return m.vm.Close() }

// Run computes the mean over the states of the Huber loss of the network's numbers against what they should be, and writes its
// gradient to grad, in the order of Layout.
func (m *Machine[T]) Run(p agents.Params, states []State, want []float64, grad []T) (loss float64, err error) {
	if len(states) > m.rows || len(states) != len(want) {
		return 0, fmt.Errorf("run the critic on %d states and %d targets, want as many of both and at most %d", len(states), len(want),
			m.rows)
	}
	for i, node := range m.params {
		graphop.Convert(graphop.Values[T](node), p[i].Data)
	}
	for _, node := range []*G.Node{m.server, m.job, m.features, m.serverMask, m.jobMask, m.data} {
		clear(graphop.Values[T](node))
	}
	for r := range states {
		s := &states[r]
		if s.Servers > m.mostServers || s.Jobs > m.mostJobs || len(s.Features) != m.shape.Features {
			return 0, fmt.Errorf("run the critic on %d servers, %d jobs and %d features, want at most %d, at most %d, and %d", s.Servers,
				s.Jobs, len(s.Features), m.mostServers, m.mostJobs, m.shape.Features)
		}
		graphop.Convert(graphop.Values[T](m.server)[r*m.mostServers*m.shape.Server:], s.Server)
		graphop.Convert(graphop.Values[T](m.job)[r*m.mostJobs*m.shape.Job:], s.Job)
		graphop.Convert(graphop.Values[T](m.features)[r*m.shape.Features:], s.Features)
		kernel.Fill(graphop.Values[T](m.serverMask)[r*m.mostServers:][:s.Servers], 1)
		kernel.Fill(graphop.Values[T](m.jobMask)[r*m.mostJobs:][:s.Jobs], 1)
		row := graphop.Values[T](m.data)[r*columns:]
		row[colWant], row[colWeight] = T(want[r]), 1/T(len(states))
	}
	if err := graphop.RunBack(m.vm, m.params, grad); err != nil {
		return 0, fmt.Errorf("run graph of the critic: %w", err)
	}
	return float64(m.cost.Data().(T)), nil
}

// Values returns the network's numbers for the rows of the last run. The slice is valid until the next run.
func (m *Machine[T]) Values() []T { return m.values.Data().([]T) }

// builder implements the layers as nodes. It keeps the first error in the machine and does nothing after it.
type builder[T kernel.Float] struct{ *Machine[T] }

func (b builder[T]) servers() *G.Node { return b.server }

func (b builder[T]) jobs() *G.Node { return b.job }

func (b builder[T]) node(n *G.Node, err error) *G.Node {
	b.err = err
	return n
}

func (b builder[T]) dense(x *G.Node, name string, act kernel.Activation) *G.Node {
	if b.err != nil {
		return nil
	}
	at := find(b.layout, name)
	return b.node(graph.Dense(x, b.params[at], b.params[at+1], act))
}

func (b builder[T]) pool(servers, jobs *G.Node) *G.Node {
	if b.err != nil {
		return nil
	}
	return b.node(graph.Pool(servers, jobs, b.features, b.serverMask, b.jobMask, b.rows))
}

// Columns of the input data.
const (
	colWant   = iota // what the network's number should be
	colWeight        // of the row, 0 for padding
	columns
)

// losses adds the weighted Huber loss of each row [B], from the values [B,1] and data [B,columns].
func losses(values, data *G.Node) (*G.Node, error) {
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		d, err := graphop.Like("critic.lossGrad", nil, in[0], lossBack[float32], lossBack[float64], dy, in[0], in[1])
		return G.Nodes{d, nil}, err
	}
	return graphop.Apply("critic.loss", nil, tensor.Shape{values.Shape()[0]}, loss[float32], loss[float64], grad,
		[]bool{true, false}, values, data)
}

func loss[T kernel.Float](y []T, in [][]T) {
	for r, v := range in[0] {
		e := v - in[1][r*columns+colWant]
		if e = max(e, -e); e <= huber {
			e *= e / 2
		} else {
			e = huber * (e - T(huber)/2)
		}
		y[r] = e * in[1][r*columns+colWeight]
	}
}

func lossBack[T kernel.Float](dv []T, in [][]T) {
	for r, v := range in[1] {
		e := v - in[2][r*columns+colWant]
		dv[r] = in[0][r] * in[2][r*columns+colWeight] * min(max(e, -huber), huber)
	}
}

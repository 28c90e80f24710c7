package learn

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Sample is one choice of the decoder and what came of it: a row of a batch.
type Sample struct {
	agents.Choice
	Adjacent []float32 // [servers*servers] the coordination graph of the round; nil where nothing was committed
	Gain     float64   // advantage
}

// Stats sums over the rows of a batch.
type Stats struct {
	Rows    int
	Loss    float64
	Entropy float64
	KL      float64 // mean of ratio - 1 - log ratio: unbiased and not negative (Schulman, 2020)
	Clipped int     // rows at which the ratio left the clip range
	Stops   int
}

// Machine computes gradients for batches of a fixed number of rows on clusters of a fixed size. T is float32 for training,
// float64 for checking gradients. Not safe for concurrent use, but several machines may run at once.
type Machine[T kernel.Float] struct {
	rows, servers, tokens int
	shape                 agents.Shape
	clip                  float64
	in                    inputs
	params                []*G.Node // in the order of agents.Layout
	logp, cost            G.Value
	vm                    G.VM
}

// inputs are the nodes that a batch fills.
type inputs struct {
	server, token, item   *G.Node
	serverMask, tokenMask *G.Node
	inducingMask          *G.Node // always 1
	legal, prior          *G.Node
	adjacent, committed   *G.Node
	data                  *G.Node
}

// NewMachine builds and compiles the graph. Building is not safe to do twice at once; running is.
func NewMachine[T kernel.Float](s agents.Shape, rows, servers, tokens int, clip float64) (m *Machine[T], err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; they end here as errors.
		if r := recover(); r != nil {
			err = fmt.Errorf("build training graph: %v", r)
		}
	}()
	m = &Machine[T]{rows: rows, servers: servers, tokens: tokens, shape: s, clip: clip}
	g := G.NewGraph()
	node := func(name string, shape ...int) *G.Node {
		var zero T
		value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(make([]T, tensor.Shape(shape).TotalSize())))
		dtype := tensor.Float64
		if _, ok := any(zero).(float32); ok {
			dtype = tensor.Float32
		}
		return G.NewTensor(g, dtype, len(shape), G.WithShape(shape...), G.WithName(name), G.WithValue(value))
	}
	n, choices := servers*tokens, servers*tokens+1
	m.in = inputs{
		server: node("in.server", rows*servers, s.Server), token: node("in.token", rows*tokens, s.Token),
		item: node("in.item", rows*n, s.Item), serverMask: node("in.server_mask", rows, servers),
		tokenMask: node("in.token_mask", rows, tokens), inducingMask: node("in.inducing_mask", rows, s.Inducing),
		legal: node("in.legal", rows, choices), prior: node("in.prior", rows, choices),
		adjacent:  node("in.adjacent", rows, servers*servers),
		committed: node("in.committed", rows, n), data: node("in.data", rows, columns),
	}
	for i := range values[T](m.in.inducingMask) {
		values[T](m.in.inducingMask)[i] = 1
	}
	named := map[string]*G.Node{}
	for _, p := range agents.Layout(s) {
		w := node(p.Name, p.Shape...)
		named[p.Name] = w
		m.params = append(m.params, w)
	}
	b := &builder{batch: rows, servers: servers, tokens: tokens, heads: s.Heads, params: named}
	logits := b.logits(&m.in)
	if b.err != nil {
		return nil, b.err
	}
	return m, m.finish(g, logits)
}

func (m *Machine[T]) finish(g *G.ExprGraph, logits *G.Node) error {
	logp, err := graph.MaskedLogSoftmax(logits, m.in.legal)
	if err != nil {
		return fmt.Errorf("build log-probabilities: %w", err)
	}
	rows, err := surrogate(logp, m.in.data, m.clip)
	if err != nil {
		return fmt.Errorf("build objective: %w", err)
	}
	cost, err := G.Sum(rows)
	if err != nil {
		return fmt.Errorf("build objective: %w", err)
	}
	G.Read(logp, &m.logp)
	G.Read(cost, &m.cost)
	if _, err := G.Grad(cost, m.params...); err != nil {
		return fmt.Errorf("build gradients: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(m.params...))
	return nil
}

// Close releases the machine.
func (m *Machine[T]) Close() error { return m.vm.Close() }

// Rows is the number of samples that a run takes at most.
func (m *Machine[T]) Rows() int { return m.rows }

// Run computes the summed gradient of the samples' losses, each weighted by weight, into grad, which has the layout of the
// parameters one after another. spread weighs the entropy bonus.
func (m *Machine[T]) Run(p agents.Params, samples []Sample, weight, spread float64, grad []T) (Stats, error) {
	if len(samples) > m.rows {
		return Stats{}, fmt.Errorf("run %d samples on a machine for %d", len(samples), m.rows)
	}
	for i, w := range m.params {
		convert(values[T](w), p[i].Data)
	}
	m.fill(samples, weight, spread)
	m.vm.Reset()
	if err := m.vm.RunAll(); err != nil {
		return Stats{}, fmt.Errorf("run training graph: %w", err)
	}
	at := 0
	for _, w := range m.params {
		g, err := w.Grad()
		if err != nil {
			return Stats{}, fmt.Errorf("read gradient of %s: %w", w.Name(), err)
		}
		d := g.Data().([]T)
		at += copy(grad[at:], d)
		clear(d) // Gorgonia adds to what is there
	}
	return m.stats(samples), nil
}

func (m *Machine[T]) fill(samples []Sample, weight, spread float64) {
	in, n := &m.in, m.servers*m.tokens
	for _, node := range []*G.Node{in.adjacent, in.committed, in.data, in.legal, in.prior} {
		clear(values[T](node))
	}
	for r := range m.rows {
		if r >= len(samples) {
			values[T](in.legal)[r*(n+1)+n] = 1 // a padded row may only stop
			continue
		}
		s := &samples[r]
		o := s.Observation
		convert(values[T](in.server)[r*len(o.Server):], o.Server)
		convert(values[T](in.token)[r*len(o.Token):], o.Token)
		convert(values[T](in.item)[r*len(o.Item):], o.Item)
		convert(values[T](in.serverMask)[r*m.servers:], o.ServerMask)
		convert(values[T](in.tokenMask)[r*m.tokens:], o.TokenMask)
		legal, prior := values[T](in.legal)[r*(n+1):], values[T](in.prior)[r*(n+1):]
		for a, ok := range s.Legal {
			if ok {
				legal[a], prior[a] = 1, T(s.Prior[a])
			}
		}
		convert(values[T](in.adjacent)[r*m.servers*m.servers:], s.Adjacent)
		for _, a := range s.Committed {
			values[T](in.committed)[r*n+a] = 1
		}
		d := values[T](in.data)[r*columns : (r+1)*columns]
		d[colAction], d[colOld], d[colGain] = T(s.Action), T(s.LogProb), T(s.Gain)
		d[colWeight], d[colSpread] = T(weight), T(spread)
	}
}

func (m *Machine[T]) stats(samples []Sample) Stats {
	st := Stats{Rows: len(samples), Loss: float64(m.cost.Data().(T))}
	lp, a := m.logp.Data().([]T), m.servers*m.tokens+1
	for r := range samples {
		row := lp[r*a : (r+1)*a]
		shift := float64(row[samples[r].Action]) - samples[r].LogProb
		ratio := math.Exp(shift)
		st.Entropy += float64(entropy(row))
		st.KL += ratio - 1 - shift
		if ratio < 1-m.clip || ratio > 1+m.clip {
			st.Clipped++
		}
		if samples[r].Action == a-1 {
			st.Stops++
		}
	}
	return st
}

// LogProbs returns the log-probabilities of the choices of row r of the last run. Valid until the next.
func (m *Machine[T]) LogProbs(r int) []T {
	a := m.servers*m.tokens + 1
	return m.logp.Data().([]T)[r*a : (r+1)*a]
}

func values[T kernel.Float](n *G.Node) []T { return n.Value().Data().([]T) }

func convert[T kernel.Float](dst []T, src []float32) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

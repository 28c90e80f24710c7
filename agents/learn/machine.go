package learn

import (
	"fmt"
	"math"
	"slices"

	G "gorgonia.org/gorgonia"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/attention/graph"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Sample is one choice among candidates and its outcome: a row of a batch.
type Sample struct {
	*agents.Observation
	Adjacent []float32 // the coordination graph, constant for the sample, [Servers*Servers]; if Shape.Joint, [Candidates*Candidates]
	Gone     []bool    // [Candidates] which candidates can no longer be taken; nil: none
	Prior    []float32 // [Candidates] the parts of the logits that are not learned
	Saved    []float64 // [Candidates] normalised label: what each candidate saves over the first, which has 0; nil for PPO
	Action   int       // the candidate taken
	LogProb  float64   // its log-probability under the policy that took it
	Gain     float64   // its normalised advantage
}

// Usual returns the index of the candidate that the prior chooses: the one whose part of the logit that is not learned is
// largest.
func (s *Sample) Usual() int { return slices.Index(s.Prior, slices.Max(s.Prior)) }

// Stats are sums over the rows of a batch.
type Stats struct {
	Rows    int
	Loss    float64
	Entropy float64
	KL      float64 // PPO: sum of ratio - 1 - log ratio, unbiased and not negative (Schulman, 2020)
	Clipped int     // PPO: number of rows whose ratio left the clip range
	Agree   int     // number of rows at which the likeliest candidate is the one that saves most
	Kept    int     // number of rows at which the likeliest candidate is the prior's choice
	Value   float64 // sum of what the likeliest candidates save over the prior's choice
}

// Machine computes gradients for batches up to a maximum number of rows, servers, jobs and candidates; smaller batches are
// padded. T is float32 for training and float64 for gradient checks. A Machine is not safe for concurrent use, but several
// machines may run at the same time.
type Machine[T kernel.Float] struct {
	rows, servers, jobs, candidates int
	shape                           agents.Shape
	loss                            Loss
	in                              inputs
	params                          []*G.Node // in the order of agents.Layout; nil for parameters that the loss does not use
	logp, cost                      G.Value
	vm                              G.VM
	flat                            []float32 // scratch of tie
}

// inputs are the nodes that a machine fills from a batch.
type inputs struct {
	server, job, candidate *G.Node
	weights, of, adjacent  *G.Node
	serverMask, jobMask    *G.Node
	inducingMask           *G.Node // always 1
	legal, prior           *G.Node
	shown, single          *G.Node              // with Shape.Joint: which candidates there are, and coalitions of one each
	tied                   [agents.Ties]*G.Node // with Shape.Joint: see agents.Observation.TieStrengths
	saved, data            *G.Node
}

// NewMachine builds and compiles the graph. Only one call of NewMachine may run at a time; machines may run concurrently.
func NewMachine[T kernel.Float](s agents.Shape, rows, servers, jobs, candidates int, loss Loss) (m *Machine[T], err error) {
	defer func() {
		// Gorgonia panics on some mistakes in building; return an error for them.
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("build training graph: %v", r)
		}
	}()
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	if err := loss.validate(); err != nil {
		return nil, fmt.Errorf("build training graph: %w", err)
	}
	if min(rows, servers, jobs, candidates) < 1 {
		return nil, fmt.Errorf("build training graph: %d rows, %d servers, %d jobs and %d candidates, want 1 or more of each",
			rows, servers, jobs, candidates)
	}
	m = &Machine[T]{rows: rows, servers: servers, jobs: jobs, candidates: candidates, shape: s, loss: loss}
	g := G.NewGraph()
	m.in = inputs{
		server: graphop.Input[T](g, "in.server", rows*servers, s.Server), job: graphop.Input[T](g, "in.job", rows*jobs, s.Job),
		candidate: graphop.Input[T](g, "in.candidate", rows*candidates, s.Candidate),
		weights:   graphop.Input[T](g, "in.weights", rows, candidates*servers),
		of:        graphop.Input[T](g, "in.of", rows*candidates), serverMask: graphop.Input[T](g, "in.server_mask", rows, servers),
		jobMask: graphop.Input[T](g, "in.job_mask", rows, jobs), legal: graphop.Input[T](g, "in.legal", rows, candidates),
		prior: graphop.Input[T](g, "in.prior", rows, candidates), saved: graphop.Input[T](g, "in.saved", rows, candidates),
		data: graphop.Input[T](g, "in.data", rows, columns),
	}
	switch {
	case s.Joint:
		m.joint(g)
	case s.Graph != agents.GraphNone:
		m.in.adjacent = graphop.Input[T](g, "in.adjacent", rows, servers*servers)
	}
	if s.Attention == agents.Attend {
		m.in.inducingMask = graphop.Input[T](g, "in.inducing_mask", rows, s.Inducing)
		kernel.Fill(graphop.Values[T](m.in.inducingMask), 1)
	}
	layout := agents.Layout(s)
	m.params = make([]*G.Node, len(layout))
	b := &builder{batch: rows, shape: s, in: &m.in, param: func(name string) *G.Node {
		i := slices.IndexFunc(layout, func(p agents.Param) bool { return p.Name == name })
		if m.params[i] == nil {
			m.params[i] = graphop.Input[T](g, name, layout[i].Shape...)
		}
		return m.params[i]
	}}
	bids := agents.Walk(&s, agents.Layers[*G.Node](b))
	logits := b.Add(m.in.prior, bids)
	if b.err != nil {
		return nil, b.err
	}
	if err := m.finish(g, bids, logits); err != nil {
		return nil, err
	}
	return m, nil
}

// joint adds the inputs of shapes with Joint that the network uses.
func (m *Machine[T]) joint(g *G.ExprGraph) {
	n := m.candidates
	if m.shape.Attention == agents.Attend {
		m.in.shown = graphop.Input[T](g, "in.shown", m.rows, n)
	}
	if m.shape.Graph == agents.GraphNone {
		return
	}
	for k := range m.in.tied {
		m.in.tied[k] = graphop.Input[T](g, fmt.Sprintf("in.tied%d", k), m.rows, n*n)
	}
	m.in.single = graphop.Input[T](g, "in.single", m.rows, n*n)
	for r := range m.rows {
		for i := range n {
			slot[T](m.in.single, r, m.rows)[i*n+i] = 1
		}
	}
}

func (m *Machine[T]) finish(g *G.ExprGraph, bids, logits *G.Node) error {
	if m.loss.Temperature != 1 {
		cooled, err := G.HadamardProd(logits, G.NewConstant(T(1/m.loss.Temperature)))
		if err != nil {
			return fmt.Errorf("build log-probabilities: %w", err)
		}
		logits = cooled
	}
	logp, err := graph.MaskedLogSoftmax(logits, m.in.legal)
	if err != nil {
		return fmt.Errorf("build log-probabilities: %w", err)
	}
	x := logp
	if m.loss.Kind == Value {
		x = bids
	}
	rows, err := objective(x, m.in.saved, m.in.legal, m.in.data, m.loss)
	if err != nil {
		return fmt.Errorf("build objective: %w", err)
	}
	cost, err := G.Sum(rows)
	if err != nil {
		return fmt.Errorf("build objective: %w", err)
	}
	G.Read(logp, &m.logp)
	G.Read(cost, &m.cost)
	used := slices.DeleteFunc(slices.Clone(m.params), func(n *G.Node) bool { return n == nil })
	if _, err := G.Grad(cost, used...); err != nil {
		return fmt.Errorf("build gradients: %w", err)
	}
	m.vm = G.NewTapeMachine(g, G.BindDualValues(used...))
	return nil
}

// Close releases the machine.
func (m *Machine[T]) Close() error { return m.vm.Close() }

// Rows returns the largest number of samples in a run.
func (m *Machine[T]) Rows() int { return m.rows }

// Run computes the sum over the samples of weight times the gradient of the loss, and writes it to grad, in the order of the
// parameters. Parameters that the loss does not use get 0. spread is the weight of the entropy bonus.
func (m *Machine[T]) Run(p agents.Params, samples []Sample, weight, spread float64, grad []T) (Stats, error) {
	if len(samples) > m.rows {
		return Stats{}, fmt.Errorf("run %d samples on a machine for %d", len(samples), m.rows)
	}
	for i := range samples {
		if err := m.check(&samples[i]); err != nil {
			return Stats{}, fmt.Errorf("run sample %d: %w", i, err)
		}
	}
	for i, w := range m.params {
		if w != nil {
			graphop.Convert(graphop.Values[T](w), p[i].Data)
		}
	}
	m.fill(samples, weight, spread)
	m.vm.Reset()
	if err := m.vm.RunAll(); err != nil {
		return Stats{}, fmt.Errorf("run training graph: %w", err)
	}
	at := 0
	for i, w := range m.params {
		part := grad[at : at+len(p[i].Data)]
		at += len(part)
		if w == nil {
			clear(part)
			continue
		}
		if _, err := graphop.TakeGradient(part, w); err != nil {
			return Stats{}, err
		}
	}
	return m.stats(samples), nil
}

// check returns an error if a sample does not fit the machine.
func (m *Machine[T]) check(s *Sample) error {
	o := s.Observation
	for _, c := range []struct {
		name           string
		got, low, most int
	}{
		{"servers", o.Servers, 0, m.servers},
		{"jobs", o.Jobs, 0, m.jobs},
		{"candidates", o.Candidates, 1, m.candidates},
		{"server numbers", len(o.Server), o.Servers * m.shape.Server, o.Servers * m.shape.Server},
		{"job numbers", len(o.Job), o.Jobs * m.shape.Job, o.Jobs * m.shape.Job},
		{"candidate numbers", len(o.Candidate), o.Candidates * m.shape.Candidate, o.Candidates * m.shape.Candidate},
		{"candidates' jobs", len(o.Of), o.Candidates, o.Candidates},
		{"prior", len(s.Prior), o.Candidates, o.Candidates},
		{"action", s.Action, 0, o.Candidates - 1},
	} {
		if c.got < c.low || c.got > c.most {
			return fmt.Errorf("%s: %d, want %d to %d", c.name, c.got, c.low, c.most)
		}
	}
	nodes := m.shape.Nodes(o)
	if want := nodes * nodes; m.shape.Graph != agents.GraphNone && len(s.Adjacent) != want {
		return fmt.Errorf("adjacent: %d numbers, want %d", len(s.Adjacent), want)
	}
	if s.Gone != nil && (len(s.Gone) != o.Candidates || s.Gone[s.Action]) {
		return fmt.Errorf("gone: %d flags with action %d, want %d and an action that is not gone", len(s.Gone), s.Action, o.Candidates)
	}
	for _, k := range o.Taken {
		if k < 0 || int(k) >= o.Candidates {
			return fmt.Errorf("taken: candidate %d of %d", k, o.Candidates)
		}
	}
	if len(s.Saved) != o.Candidates && (m.loss.Kind != PPO || s.Saved != nil) {
		return fmt.Errorf("saved: %d numbers, want %d", len(s.Saved), o.Candidates)
	}
	return nil
}

func (m *Machine[T]) fill(samples []Sample, weight, spread float64) {
	in := &m.in
	for _, node := range append([]*G.Node{in.server, in.job, in.candidate, in.weights, in.adjacent, in.serverMask, in.jobMask,
		in.legal, in.prior, in.saved, in.data, in.shown}, in.tied[:]...) {
		if node != nil {
			clear(graphop.Values[T](node))
		}
	}
	kernel.Fill(graphop.Values[T](in.of), -1)
	for r := range m.rows {
		legal := slot[T](in.legal, r, m.rows)
		if r >= len(samples) {
			legal[0] = 1 // a padded row needs a candidate to choose; its weight is 0
			continue
		}
		s := &samples[r]
		o := s.Observation
		graphop.Convert(slot[T](in.server, r, m.rows), o.Server)
		graphop.Convert(slot[T](in.job, r, m.rows), o.Job)
		graphop.Convert(slot[T](in.candidate, r, m.rows), o.Candidate)
		kernel.Fill(slot[T](in.serverMask, r, m.rows)[:o.Servers], 1)
		kernel.Fill(slot[T](in.jobMask, r, m.rows)[:o.Jobs], 1)
		weights := slot[T](in.weights, r, m.rows)
		for _, share := range o.Shares {
			weights[int(share.Candidate)*m.servers+int(share.Server)] = T(share.Weight)
		}
		of := slot[T](in.of, r, m.rows)
		for i, k := range o.Of {
			of[i] = T(k)
		}
		if in.adjacent != nil {
			adjacent := slot[T](in.adjacent, r, m.rows)
			for i := range o.Servers {
				graphop.Convert(adjacent[i*m.servers:], s.Adjacent[i*o.Servers:(i+1)*o.Servers])
			}
		}
		kernel.Fill(legal[:o.Candidates], 1)
		for i, gone := range s.Gone {
			if gone {
				legal[i] = 0
			}
		}
		m.tie(s, r)
		graphop.Convert(slot[T](in.prior, r, m.rows), s.Prior)
		saved := slot[T](in.saved, r, m.rows)
		for i, v := range s.Saved {
			saved[i] = T(v)
		}
		d := slot[T](in.data, r, m.rows)
		d[colAction], d[colOld], d[colGain] = T(s.Action), T(s.LogProb), T(s.Gain)
		d[colWeight], d[colSpread] = T(weight), T(spread)
	}
}

// tie fills the inputs of row r that shapes with Joint have.
func (m *Machine[T]) tie(s *Sample, r int) {
	o, n := s.Observation, s.Candidates
	if m.in.shown != nil {
		kernel.Fill(slot[T](m.in.shown, r, m.rows)[:n], 1)
	}
	if m.in.single == nil {
		return
	}
	m.flat = slices.Grow(m.flat[:0], agents.Ties*n*n)[:agents.Ties*n*n]
	var by [agents.Ties][]float32
	for k := range by {
		by[k] = m.flat[k*n*n : (k+1)*n*n]
	}
	o.TieStrengths(s.Adjacent, &by)
	for k := range by {
		to := slot[T](m.in.tied[k], r, m.rows)
		for i := range n {
			graphop.Convert(to[i*m.candidates:], by[k][i*n:(i+1)*n])
		}
	}
}

func (m *Machine[T]) stats(samples []Sample) Stats {
	st := Stats{Rows: len(samples), Loss: float64(m.cost.Data().(T))}
	for r := range samples {
		s, row := &samples[r], m.LogProbs(r)
		st.Entropy += float64(entropy(row))
		best, usual := 0, s.Usual()
		for a, lp := range row {
			if lp > row[best] {
				best = a
			}
		}
		if best == usual {
			st.Kept++
		}
		if s.Saved != nil {
			st.Value += s.Saved[best] - s.Saved[usual]
			if s.Saved[best] == slices.Max(s.Saved) {
				st.Agree++
			}
		}
		if m.loss.Kind != PPO {
			continue
		}
		shift := float64(row[s.Action]) - s.LogProb
		ratio := math.Exp(shift)
		st.KL += ratio - 1 - shift
		if ratio < 1-m.loss.Clip || ratio > 1+m.loss.Clip {
			st.Clipped++
		}
	}
	return st
}

// LogProbs returns the log-probabilities of the candidates of row r of the last run, and attention.Masked beyond the sample's own
// candidates. The slice is valid until the next run.
func (m *Machine[T]) LogProbs(r int) []T {
	return m.logp.Data().([]T)[r*m.candidates : (r+1)*m.candidates]
}

// slot returns the part of a node's values that belongs to row r, where rows is the number of rows.
func slot[T kernel.Float](n *G.Node, r, rows int) []T {
	x := graphop.Values[T](n)
	each := len(x) / rows
	return x[r*each : (r+1)*each]
}

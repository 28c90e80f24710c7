package belief

import (
	"math"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Network corrects what a History predicts of a job, by Inputs about it. Each of its members is a network of its own, fitted from
// other first weights: for each bin it adds a number to the logarithm of the odds that a job which reaches the bin ends in it
// (hazards in discrete time: Gensheimer and Narasimhan, A scalable discrete-time survival model for neural networks, PeerJ 2019).
// The probabilities of the members are averaged. With weights of 0 a Network corrects nothing.
//
// Nobody may change a Network that a Learner uses. Several learners may use it at the same time.
type Network struct {
	Inputs  Scaling
	Members []Member
}

// Member is a network of two hidden layers of ReLU units: W[0] [Inputs,hidden], W[1] [hidden,hidden], W[2] [hidden,1].
type Member struct {
	W, B [3][]float32 // weights and biases of the layers
}

// Hidden returns the number of units of each hidden layer.
func (m *Member) Hidden() int { return len(m.B[0]) }

// Parts returns weights and biases, layer by layer in turn. They share the memory of the member.
func (m *Member) Parts() [][]float32 { return inTurn(m.W[:], m.B[:]) }

func inTurn(weights, biases [][]float32) [][]float32 {
	var all [][]float32
	for i := range weights {
		all = append(all, weights[i], biases[i])
	}
	return all
}

// NewMember returns a member with weights and biases of 0.
func NewMember(hidden int) Member {
	var m Member
	in := Inputs
	for i, out := range [...]int{hidden, hidden, 1} {
		m.W[i], m.B[i] = make([]float32, in*out), make([]float32, out)
		in = out
	}
	return m
}

// Scratch is memory for a forward pass. The zero value is ready to use.
type Scratch struct{ a, b []float32 }

// Forward computes the corrections z [rows] of bins with normalised inputs x [rows,Inputs]. It allocates nothing once the
// scratch memory has grown.
func (m *Member) Forward(s *Scratch, z, x []float32) {
	h := m.Hidden()
	rows := kernel.RowsOf("inputs", x, Inputs)
	s.a, s.b = kernel.Grow(s.a, rows*h), kernel.Grow(s.b, rows*h)
	kernel.Dense(s.a, x, m.W[0], m.B[0], Inputs, h, kernel.ReLU)
	kernel.Dense(s.b, s.a, m.W[1], m.B[1], h, h, kernel.ReLU)
	kernel.Dense(z, s.b, m.W[2], m.B[2], h, 1, kernel.None)
}

// corrector corrects the predictions of one learner.
type corrector struct {
	scratch Scratch
	x       [Hazards * Inputs]float32
	z       [Hazards]float32
	p       [Bins]float64
}

// NewLearned returns a History whose predictions the network corrects. It must be told of jobs by Arrived and Runs; jobs of
// which it was not told are predicted as by a History. Save returns what the History has learned, and Restore takes it.
func NewLearned(net *Network, by Rank) *Learner {
	l := New(History, by)
	l.net, l.live, l.users = net, map[*cluster.JobSpec]*live{}, map[string]*user{}
	return l
}

// corrected returns the distribution of a job by the network. It computes it again only if a job has ended since, or if the
// user's other jobs have changed.
func (l *Learner) corrected(j *live) *answered {
	if j.ended == l.ended && j.changed == j.owner.changed {
		return &j.d
	}
	j.ended, j.changed = l.ended, j.owner.changed
	c := &l.corrector
	l.inputs(j, &c.x)
	l.net.Inputs.Apply(c.x[:])
	base := &l.view(l.who(j.spec)).Distribution
	clear(c.p[:])
	for i := range l.net.Members {
		l.net.Members[i].Forward(&c.scratch, c.z[:], c.x[:])
		base.correct(&c.p, &c.z)
	}
	j.d.set(&c.p)
	return &j.d
}

// correct adds the probabilities to sum that d has once the logarithms of its odds are changed by z.
func (d *Distribution) correct(sum *[Bins]float64, z *[Hazards]float32) {
	reached := 1.0
	for i, shift := range z {
		odds := d.odds(i) * math.Exp(float64(shift))
		stays := reached / (1 + odds)
		sum[i] += stays * odds
		reached = stays
	}
	sum[open] += reached
}

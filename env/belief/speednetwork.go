package belief

import (
	"math"

	"github.com/clustergym/clustergym/internal/kernel"
)

// SpeedNetwork corrects what the regression of Speeds says of the coefficients of a kind of job. Each of its members, fitted from
// other first weights, gets these coefficients, how sure they are and what each circle of jobs changed in them, and the set of
// measured differences between configurations of the job itself, over which it sums (Zaheer et al., Deep Sets, NeurIPS 2017). It
// answers by how many standard deviations each coefficient of CPU is off, and by which factor, as a logarithm, the standard
// deviation of each coefficient is too small. The means of the others stay: with corrected ones, policies decided worse. The
// answers of the members are averaged, and the coefficients are made sensible again: whatever its weights, more CPU never makes a
// job slower. With weights of 0 a SpeedNetwork corrects nothing.
//
// Nobody may change a SpeedNetwork that a Speeds uses. Several may use it at the same time.
type SpeedNetwork struct {
	Context, Point Scaling // of inputs
	Members        []SpeedMember
}

// Scaling is the mean and the standard deviation of each input among the examples that a network was fitted on.
type Scaling struct{ Mean, Scale []float32 }

// Apply scales rows of inputs, in place, to mean 0 and standard deviation 1, from -4 to 4. What is not known, NaN, becomes 0.
func (s *Scaling) Apply(x []float32) {
	for i, v := range x {
		k := i % len(s.Mean)
		if v != v {
			x[i] = 0
			continue
		}
		x[i] = min(max((v-s.Mean[k])/s.Scale[k], -4), 4)
	}
}

// SpeedMember is a network of five layers, all but the last of ReLU units. Two compute features of each point; the features of
// all points are added. W[2] takes the context and these sums, W[3] what W[2] returns, and W[4] returns the answer.
type SpeedMember struct {
	W, B [SpeedLayers][]float32 // weights and biases of the layers
}

// SpeedLayers is the number of layers of a SpeedMember, and SpeedAnswer that of the numbers that it answers with: the shift of
// each coefficient of CPU, then the logarithm of the factor of the standard deviation of each coefficient.
const (
	SpeedLayers = 5
	SpeedAnswer = SpeedShifts + SpeedEffects
)

// SpeedShape returns the numbers of inputs and outputs of a layer of a SpeedMember with the given number of hidden units.
func SpeedShape(layer, hidden int) (in, out int) {
	switch layer {
	case 0:
		return SpeedPoint, hidden
	case 2:
		return SpeedContext + hidden, hidden
	case SpeedLayers - 1:
		return hidden, SpeedAnswer
	}
	return hidden, hidden
}

// NewSpeedMember returns a member with weights and biases of 0.
func NewSpeedMember(hidden int) SpeedMember {
	var m SpeedMember
	for i := range m.W {
		in, out := SpeedShape(i, hidden)
		m.W[i], m.B[i] = make([]float32, in*out), make([]float32, out)
	}
	return m
}

// Hidden returns the number of units of each hidden layer.
func (m *SpeedMember) Hidden() int { return len(m.B[0]) }

// Parts returns weights and biases, layer by layer in turn. They share the memory of the member.
func (m *SpeedMember) Parts() [][]float32 { return inTurn(m.W[:], m.B[:]) }

// Forward computes the answer z [SpeedAnswer] to a normalised context [SpeedContext] and points [n,SpeedPoint]. It allocates
// nothing once the scratch memory has grown.
func (m *SpeedMember) Forward(s *Scratch, z, context, points []float32) {
	h, n := m.Hidden(), kernel.RowsOf("points", points, SpeedPoint)
	s.a, s.b = kernel.Grow(s.a, max(n*h, SpeedContext+h)), kernel.Grow(s.b, max(n, 1)*h)
	a, b := s.a[:n*h], s.b[:n*h]
	if n > 0 {
		kernel.Dense(a, points, m.W[0], m.B[0], SpeedPoint, h, kernel.ReLU)
		kernel.Dense(b, a, m.W[1], m.B[1], h, h, kernel.ReLU)
	}
	x := s.a[:SpeedContext+h]
	copy(x, context)
	clear(x[SpeedContext:])
	for i, v := range b {
		x[SpeedContext+i%h] += v
	}
	kernel.Dense(s.b[:h], x, m.W[2], m.B[2], SpeedContext+h, h, kernel.ReLU)
	kernel.Dense(s.a[:h], s.b[:h], m.W[3], m.B[3], h, h, kernel.ReLU)
	kernel.Dense(z, s.a[:h], m.W[4], m.B[4], h, SpeedAnswer, kernel.None)
}

// Limits of a correction.
const (
	mostShift = 3 // standard deviations
	mostWiden = 2 // logarithm
)

// speedCorrector is memory for the corrections of one Speeds.
type speedCorrector struct {
	scratch Scratch
	in      SpeedInputs
	z       [SpeedAnswer]float32
}

// NewLearnedSpeeds returns a belief that has seen no reading and learns from readings, as that of NewSpeeds(true), whose
// coefficients the network corrects. Save returns what it has learned, and Restore takes it, like those of a belief without a
// network.
func NewLearnedSpeeds(net *SpeedNetwork) *Speeds {
	l := NewSpeeds(true)
	l.net = net
	return l
}

// correct corrects what is believed of a kind of job, if there is a network.
func (l *Speeds) correct(j *measured, key asked, b *believed) {
	b.wider = nil
	if l.net == nil || len(l.net.Members) == 0 {
		return
	}
	c, n := &l.corrector, float64(len(l.net.Members))
	l.describe(j, b, key.cpuMilli, key.workers, &c.in)
	points := c.in.Points[:c.in.Count*SpeedPoint]
	l.net.Context.Apply(c.in.Context[:])
	l.net.Point.Apply(points)
	var shift [SpeedShifts]float64
	var wider speedFactors
	for i := range l.net.Members {
		l.net.Members[i].Forward(&c.scratch, c.z[:], c.in.Context[:], points)
		for k := range shift {
			shift[k] += min(max(float64(c.z[k]), -mostShift), mostShift) / n
		}
		for k := range wider {
			wider[k] += min(max(float64(c.z[SpeedShifts+k]), -mostWiden), mostWiden) / n
		}
	}
	for k, z := range shift {
		i := cpuAt + k
		b.mean[i] += z * math.Sqrt(max(b.covariance[i][i], 0))
	}
	sensible(&b.mean, &b.covariance)
	b.wider = &wider
}

// widen returns the factor by which a network changes the standard deviation of a difference x with a variance; it is 1 without
// a network.
func (b *believed) widen(x *vector, variance float64) float64 {
	if b.wider == nil {
		return 1
	}
	sum := 0.0
	for i, share := range b.shares(x, variance) {
		sum += share * b.wider[i]
	}
	return math.Exp(sum)
}

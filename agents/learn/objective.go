package learn

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/attention"
	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// Kind is the kind of objective that a machine learns by.
type Kind uint8

// The kinds. pi is the vector of the candidates' probabilities. For Expert and PPO the loss of a row is the negative of the given
// objective; for Value it is the given loss.
const (
	Expert Kind = iota // sum over candidates of pi*Saved, plus the entropy bonus: the policy gradient over all actions
	Value              // mean over all candidates except the first of huber(bid - first's bid - Saved): regression
	PPO                // clipped surrogate of the action taken, plus the entropy bonus
)

func (k Kind) String() string {
	switch k {
	case Expert:
		return "expert"
	case Value:
		return "value"
	case PPO:
		return "ppo"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Loss configures an objective.
type Loss struct {
	Kind  Kind
	Clip  float64 // PPO: the largest deviation of a ratio from 1, above 0
	Huber float64 // Value: size of an error above which the loss is linear, above 0
	// Temperature divides the logits before the softmax, above 0. Value does not use the probabilities.
	Temperature float64
}

func (l Loss) validate() error {
	switch {
	case l.Kind > PPO:
		return fmt.Errorf("loss kind %d, want %d to %d", l.Kind, Expert, PPO)
	case l.Kind == PPO && !(l.Clip > 0):
		return fmt.Errorf("loss clip %v, want more than 0", l.Clip)
	case l.Kind == Value && !(l.Huber > 0):
		return fmt.Errorf("loss huber %v, want more than 0", l.Huber)
	case !(l.Temperature > 0):
		return fmt.Errorf("loss temperature %v, want more than 0", l.Temperature)
	}
	return nil
}

// score adds the bids [batch,O] of candidates from their hidden layer u [batch*O,m] and weights w [m,1]. It is a dense layer
// without bias whose result has the shape of the logits.
func score(u, w *G.Node, batch int) (*G.Node, error) {
	if u.Dims() != 2 || batch <= 0 || u.Shape()[0]%batch != 0 || !w.Shape().Eq(tensor.Shape{u.Shape()[1], 1}) {
		return nil, fmt.Errorf("score candidates of shape %v with weights %v in %d groups", u.Shape(), w.Shape(), batch)
	}
	m := u.Shape()[1]
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		return graphop.Packed("learn.scoreGrad", m, in, scoreBack[float32](m), scoreBack[float64](m), dy, in[0], in[1])
	}
	return graphop.Apply("learn.score", m, tensor.Shape{batch, u.Shape()[0] / batch}, scores[float32](m), scores[float64](m),
		grad, []bool{true, true}, u, w)
}

func scores[T kernel.Float](m int) graphop.Body[T] {
	return func(y []T, in [][]T) { kernel.Dense(y, in[0], in[1], nil, m, 1, kernel.None) }
}

func scoreBack[T kernel.Float](m int) graphop.Body[T] {
	return func(out []T, in [][]T) {
		u := len(in[1])
		kernel.DenseBack(out[:u], out[u:], nil, in[0], in[1], in[2], m, 1)
	}
}

// Columns of the input data: other numbers that the loss of a row needs.
const (
	colAction = iota
	colOld    // log-probability under the policy that played
	colGain   // advantage
	colWeight // of the row, 0 for padding
	colSpread // weight of the entropy bonus
	columns
)

// row contains the inputs of a row's loss.
type row[T kernel.Float] struct {
	x           []T // log-probabilities of the candidates; for Value, their bids
	saved       []T
	legal, data []T
}

// objective adds the weighted loss of each row [B], from x, saved and legal [B,O] and data [B,columns].
func objective(x, saved, legal, data *G.Node, l Loss) (*G.Node, error) {
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		d, err := graphop.Like("learn.objectiveGrad", l, in[0], lossBack[float32](l), lossBack[float64](l),
			dy, in[0], in[1], in[2], in[3])
		return G.Nodes{d, nil, nil, nil}, err
	}
	return graphop.Apply("learn.objective", l, tensor.Shape{x.Shape()[0]}, loss[float32](l), loss[float64](l), grad,
		[]bool{true, false, false, false}, x, saved, legal, data)
}

func rowOf[T kernel.Float](in [][]T, r, rows int) row[T] {
	a := len(in[0]) / rows
	return row[T]{in[0][r*a : (r+1)*a], in[1][r*a : (r+1)*a], in[2][r*a : (r+1)*a], in[3][r*columns : (r+1)*columns]}
}

func loss[T kernel.Float](l Loss) graphop.Body[T] {
	return func(y []T, in [][]T) {
		for r := range y {
			w := rowOf(in, r, len(y))
			switch l.Kind {
			case Expert:
				y[r] = -(w.expected() + w.data[colSpread]*entropy(w.x))
			case Value:
				y[r] = w.regret(T(l.Huber))
			case PPO:
				ratio, bounded := w.ratio(l.Clip)
				gain := float64(w.data[colGain])
				y[r] = -(T(min(ratio*gain, bounded*gain)) + w.data[colSpread]*entropy(w.x))
			}
			y[r] *= w.data[colWeight]
		}
	}
}

func lossBack[T kernel.Float](l Loss) graphop.Body[T] {
	return func(dx []T, in [][]T) {
		for r, dy := range in[0] {
			w := rowOf(in[1:], r, len(in[0]))
			d := dx[r*len(w.x) : (r+1)*len(w.x)]
			clear(d)
			scale := dy * w.data[colWeight]
			switch l.Kind {
			case Expert:
				w.spreadBack(d, scale)
				for j, lp := range w.x {
					if w.legal[j] != 0 {
						d[j] -= scale * kernel.Exp(lp) * w.saved[j]
					}
				}
			case Value:
				w.regretBack(d, scale, T(l.Huber))
			case PPO:
				w.spreadBack(d, scale)
				ratio, bounded := w.ratio(l.Clip)
				if gain := float64(w.data[colGain]); ratio*gain <= bounded*gain {
					d[int(w.data[colAction])] -= scale * T(ratio*gain)
				}
			}
		}
	}
}

// expected returns the policy's expected saving.
func (w *row[T]) expected() (sum T) {
	for j, lp := range w.x {
		if w.legal[j] != 0 {
			sum += kernel.Exp(lp) * w.saved[j]
		}
	}
	return sum
}

// spreadBack adds the gradient of the negative entropy bonus to d.
func (w *row[T]) spreadBack(d []T, scale T) {
	for j, lp := range w.x {
		if w.legal[j] != 0 {
			d[j] += scale * w.data[colSpread] * kernel.Exp(lp) * (lp + 1)
		}
	}
}

// ratio returns the probability of the action relative to the policy that played, unclipped and clipped.
func (w *row[T]) ratio(clip float64) (ratio, bounded float64) {
	ratio = math.Exp(float64(w.x[int(w.data[colAction])] - w.data[colOld]))
	return ratio, min(max(ratio, 1-clip), 1+clip)
}

// regret returns the mean Huber loss of the differences between each candidate's bid and the first's, against the labels.
func (w *row[T]) regret(huber T) (sum T) {
	n := 0
	for j := 1; j < len(w.x); j++ {
		if w.legal[j] == 0 {
			continue
		}
		n++
		if e := max(w.off(j), -w.off(j)); e <= huber {
			sum += e * e / 2
		} else {
			sum += huber * (e - huber/2)
		}
	}
	return sum / T(max(n, 1))
}

func (w *row[T]) regretBack(d []T, scale, huber T) {
	n := 0
	for j := 1; j < len(w.x); j++ {
		if w.legal[j] != 0 {
			n++
		}
	}
	scale /= T(max(n, 1))
	for j := 1; j < len(w.x); j++ {
		if w.legal[j] != 0 {
			e := scale * min(max(w.off(j), -huber), huber)
			d[j] += e
			d[0] -= e
		}
	}
}

// off returns the error of candidate j: its bid, less the first candidate's bid, less its label.
func (w *row[T]) off(j int) T { return w.x[j] - w.x[0] - w.saved[j] }

// entropy returns the entropy of a row of log-probabilities. Masked entries add nothing.
func entropy[T kernel.Float](lp []T) T {
	h := T(0)
	for _, l := range lp {
		if l > attention.Masked/2 {
			h -= kernel.Exp(l) * l
		}
	}
	return h
}

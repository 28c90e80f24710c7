package learn

import (
	"fmt"
	"math"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/clustergym/clustergym/internal/graphop"
	"github.com/clustergym/clustergym/internal/kernel"
)

// score joins the parts of the logits: prior [B,A], bids [B*(A-1),1], bonus [B,A-1] and stop [B,1] give [B,A]. It stands for
// Concat, whose gradient would slice beyond 255 and meet Gorgonia's aliasing of slices.
func score(prior, bids, bonus, stop *G.Node) (*G.Node, error) {
	b, a := prior.Shape()[0], prior.Shape()[1]
	if bids.Shape().TotalSize() != b*(a-1) || bonus.Shape().TotalSize() != b*(a-1) || stop.Shape().TotalSize() != b {
		return nil, fmt.Errorf("join scores of shapes %v, %v, %v and %v", prior.Shape(), bids.Shape(), bonus.Shape(), stop.Shape())
	}
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		dBids, err := graphop.Like("learn.scoreItems", a, in[1], items[float32](a), items[float64](a), dy)
		if err != nil {
			return nil, err
		}
		dBonus, err := graphop.Like("learn.scoreItems", a, in[2], items[float32](a), items[float64](a), dy)
		if err != nil {
			return nil, err
		}
		dStop, err := graphop.Like("learn.scoreStop", a, in[3], last[float32](a), last[float64](a), dy)
		return G.Nodes{nil, dBids, dBonus, dStop}, err
	}
	return graphop.Apply("learn.score", a, tensor.Shape{b, a}, join[float32](a), join[float64](a), grad,
		[]bool{false, true, true, true}, prior, bids, bonus, stop)
}

func join[T kernel.Float](a int) graphop.Body[T] {
	return func(y []T, in [][]T) {
		prior, bids, bonus, stop := in[0], in[1], in[2], in[3]
		for r := range len(y) / a {
			for j := range a - 1 {
				// The same association as in the decoder: payoffs join the bids before the prior does.
				y[r*a+j] = prior[r*a+j] + (bids[r*(a-1)+j] + bonus[r*(a-1)+j])
			}
			y[r*a+a-1] = prior[r*a+a-1] + stop[r]
		}
	}
}

func items[T kernel.Float](a int) graphop.Body[T] {
	return func(dx []T, in [][]T) {
		for r := range len(dx) / (a - 1) {
			copy(dx[r*(a-1):(r+1)*(a-1)], in[0][r*a:])
		}
	}
}

func last[T kernel.Float](a int) graphop.Body[T] {
	return func(dx []T, in [][]T) {
		for r := range dx {
			dx[r] = in[0][r*a+a-1]
		}
	}
}

// Columns of the data that the loss of a row needs.
const (
	colAction = iota
	colOld    // log-probability under the policy that played
	colGain   // advantage
	colWeight // of the row, 0 for padding
	colSpread // weight of the entropy bonus
	columns
)

// surrogate is the loss of each row [B]: the clipped surrogate of PPO with entropy bonus, negative,
//
//	-weight·(min(ratio·gain, clip(ratio, 1-ε, 1+ε)·gain) + spread·entropy)
//
// from log-probabilities [B,A] and data [B,columns].
func surrogate(logp, data *G.Node, clip float64) (*G.Node, error) {
	b, a := logp.Shape()[0], logp.Shape()[1]
	grad := func(in G.Nodes, _, dy *G.Node) (G.Nodes, error) {
		d, err := graphop.Like("learn.surrogateGrad", clip, in[0], lossBack[float32](a, clip), lossBack[float64](a, clip),
			dy, in[0], in[1])
		return G.Nodes{d, nil}, err
	}
	return graphop.Apply("learn.surrogate", clip, tensor.Shape{b}, loss[float32](a, clip), loss[float64](a, clip), grad,
		[]bool{true, false}, logp, data)
}

func loss[T kernel.Float](a int, clip float64) graphop.Body[T] {
	return func(y []T, in [][]T) {
		for r := range y {
			lp, row := in[0][r*a:(r+1)*a], in[1][r*columns:(r+1)*columns]
			ratio := math.Exp(float64(lp[int(row[colAction])] - row[colOld]))
			gain := float64(row[colGain])
			bounded := min(max(ratio, 1-clip), 1+clip)
			y[r] = -row[colWeight] * (T(min(ratio*gain, bounded*gain)) + row[colSpread]*entropy(lp))
		}
	}
}

func lossBack[T kernel.Float](a int, clip float64) graphop.Body[T] {
	return func(dx []T, in [][]T) {
		for r, dy := range in[0] {
			lp, row := in[1][r*a:(r+1)*a], in[2][r*columns:(r+1)*columns]
			d := dx[r*a : (r+1)*a]
			scale := -dy * row[colWeight]
			for j, l := range lp {
				d[j] = 0
				if l > kernel.Masked/2 {
					d[j] = -scale * row[colSpread] * kernel.Exp(l) * (l + 1)
				}
			}
			act := int(row[colAction])
			ratio := math.Exp(float64(lp[act] - row[colOld]))
			gain := float64(row[colGain])
			if bounded := min(max(ratio, 1-clip), 1+clip); ratio*gain <= bounded*gain {
				d[act] += scale * T(ratio*gain)
			}
		}
	}
}

// entropy of a row of log-probabilities; masked entries add nothing.
func entropy[T kernel.Float](lp []T) T {
	h := T(0)
	for _, l := range lp {
		if l > kernel.Masked/2 {
			h -= kernel.Exp(l) * l
		}
	}
	return h
}

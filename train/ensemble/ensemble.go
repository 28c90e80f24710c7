// Package ensemble fits the members of a network one after the other: it steps through the examples epoch by epoch, keeps each
// member as it did best on examples that it was not fitted to, stops when it does no better, and stores everything after each
// epoch, so that a run which was killed goes on as if it had not been.
package ensemble

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/adam"
	"github.com/clustergym/clustergym/internal/rng"
)

// Member is a member of a network.
type Member interface {
	// Parts returns weights and biases, layer by layer in turn. They share the memory of the member.
	Parts() [][]float32
	// Tensors returns the same with names that begin with the prefix.
	Tensors(prefix string) []checkpoints.Tensor
}

// Settings are those of a fit.
type Settings struct {
	Seed            uint64
	Members, Epochs int // Epochs is the most of a member
	Patience        int // epochs without progress after which a member is done
	Rate, Decay     float64
}

// Problem is what members are fitted to.
type Problem[M Member] struct {
	Name     string // of its random streams
	Settings Settings
	Examples int      // number of training examples
	New      func() M // returns a member with weights of 0, which corrects nothing
	// Read returns the member whose Tensors have this prefix.
	Read func(tensors []checkpoints.Tensor, prefix string) (M, error)
	// Batch returns how many of the examples in this order make the next batch, at least 1.
	Batch func(order []int) int
	// Step computes the mean loss of a batch and writes its gradient by the weights, in the order of Parts.
	Step func(m M, batch []int, grad []float32) (float64, error)
	// Score returns the loss by which members are kept.
	Score func(m M) float64
}

// Metrics is what an epoch reports: one line of metrics.jsonl.
type Metrics struct {
	Member     int     `json:"member"`
	Epoch      int     `json:"epoch"`      // of the member, from 1
	Training   float64 `json:"training"`   // mean loss of the examples during the epoch, nats
	Validation float64 `json:"validation"` // mean loss of the validation examples after it, nats
	Best       float64 `json:"best"`       // least such loss of the member so far; it begins as the loss without a network
}

// Fit is the state of a fit between two epochs.
type Fit[M Member] struct {
	Problem[M]
	Done []M // members that are done

	grad   []float32
	epoch  int // of the member in progress
	member M   // in progress
	adam   adam.State
	best   M       // the member in progress as it did best
	loss   float64 // its loss on validation
	since  int     // epochs since then
}

// New returns a fit before its first epoch.
func New[M Member](p Problem[M]) *Fit[M] {
	f := &Fit[M]{Problem: p}
	f.begin()
	f.grad = make([]float32, len(f.adam.M))
	return f
}

// begin prepares the next member.
func (f *Fit[M]) begin() {
	f.member = f.New()
	f.draw()
	n := 0
	for _, part := range f.member.Parts() {
		n += len(part)
	}
	f.adam, f.epoch, f.since = adam.New(n), 0, 0
	f.keep(f.Score(f.member))
}

// keep remembers the member as the best so far.
func (f *Fit[M]) keep(loss float64) {
	f.best, f.loss, f.since = f.New(), loss, 0
	for i, part := range f.best.Parts() {
		copy(part, f.member.Parts()[i])
	}
}

// Finished reports whether all members are done.
func (f *Fit[M]) Finished() bool { return len(f.Done) == f.Settings.Members }

// Next makes an epoch. Its order of examples is drawn from a stream of its own, so that a resumed fit draws the same.
func (f *Fit[M]) Next(ctx context.Context) (*Metrics, error) {
	sum, err := f.pass(ctx)
	if err != nil {
		return nil, err
	}
	f.epoch++
	f.since++
	m := &Metrics{
		Member: len(f.Done) + 1, Epoch: f.epoch, Training: sum / float64(f.Examples), Validation: f.Score(f.member),
	}
	if m.Validation < f.loss {
		f.keep(m.Validation)
	}
	m.Best = f.loss
	if f.since >= f.Settings.Patience || f.epoch == f.Settings.Epochs {
		f.Done = append(f.Done, f.best)
		if !f.Finished() {
			f.begin()
		}
	}
	return m, nil
}

// pass steps through all examples in an order drawn at random and returns the sum of their losses.
func (f *Fit[M]) pass(ctx context.Context) (sum float64, err error) {
	draw := rng.Stream(f.Settings.Seed, f.Name, "order", strconv.Itoa(len(f.Done)), strconv.Itoa(f.epoch))
	for order := draw.Perm(f.Examples); len(order) > 0; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n := f.Batch(order)
		loss, err := f.Step(f.member, order[:n], f.grad)
		if err != nil {
			return 0, err
		}
		if math.IsNaN(loss) || math.IsInf(loss, 0) {
			return 0, fmt.Errorf("member %d, epoch %d: loss %v, want a finite number", len(f.Done)+1, f.epoch+1, loss)
		}
		sum += loss * float64(n)
		order = order[n:]
		f.adam.Next()
		w := 0
		for i, part := range f.member.Parts() {
			decay := f.Settings.Decay * float64(1-i%2) // of weights, not of biases
			f.adam.Step(part, f.grad[w:w+len(part)], w, 1, f.Settings.Rate, decay)
			w += len(part)
		}
	}
	return sum, nil
}

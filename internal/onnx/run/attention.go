package run

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/clustergym/clustergym/internal/kernel"
)

// heads is an input of attention: matrices [n width], one for each of a number of heads in each row of a batch.
type heads struct {
	t                      *Tensor
	batch, number, n, size int
}

// headsOf reads an input [batch heads n size], or [batch n heads*size] with the number of heads as an attribute.
func (c *call) headsOf(k int, attribute string) (h heads, err error) {
	t := c.in[k]
	number := int(c.int(attribute, 0))
	switch d := t.Shape; {
	case len(d) == 4:
		return heads{t, d[0], d[1], d[2], d[3]}, nil
	case len(d) == 3 && number > 0 && d[2]%number == 0:
		return heads{t, d[0], number, d[1], d[2] / number}, nil
	}
	return h, fmt.Errorf("input %d is %v with %s %d, want 4 dimensions, or 3 of which the last is a multiple of it", k, t, attribute,
		number)
}

// matrix returns the matrix of a head in a row of the batch.
func (h *heads) matrix(b, head int) kernel.Matrix[float32] {
	if len(h.t.Shape) == 4 {
		size := h.n * h.size
		first := (b*h.number + head) * size
		return kernel.Mat(h.t.Floats[first:first+size], h.n, h.size)
	}
	wide := h.n * h.number * h.size
	return kernel.Mat(h.t.Floats[b*wide:(b+1)*wide], h.n, h.number*h.size).Columns(head*h.size, h.size)
}

func attention(c *call) error {
	q, err := c.headsOf(0, "q_num_heads")
	if err != nil {
		return err
	}
	k, err := c.headsOf(1, "kv_num_heads")
	if err != nil {
		return err
	}
	v, err := c.headsOf(2, "kv_num_heads")
	if err != nil {
		return err
	}
	if k.batch != q.batch || v.batch != q.batch || k.size != q.size || v.n != k.n || v.number != k.number || k.number == 0 ||
		q.number%k.number != 0 || len(q.t.Shape) != len(v.t.Shape) {
		return fmt.Errorf("queries %v, keys %v and values %v do not go together", q.t, k.t, v.t)
	}
	bias, err := c.bias([]int{q.batch, q.number, q.n, k.n})
	if err != nil {
		return err
	}
	shape := []int{q.batch, q.number, q.n, v.size}
	if len(q.t.Shape) == 3 {
		shape = []int{q.batch, q.n, q.number * v.size}
	}
	y, err := c.make(Float, shape)
	if err != nil {
		return err
	}
	out := heads{y, q.batch, q.number, q.n, v.size}
	scores, err := c.make(Float, []int{q.n, k.n})
	if err != nil {
		return err
	}
	for b := range q.batch {
		for h := range q.number {
			own := h / (q.number / k.number)
			if err := c.attend(out.matrix(b, h), scores, q.matrix(b, h), k.matrix(b, own), v.matrix(b, own), bias.at(b, h)); err != nil {
				return err
			}
		}
	}
	return c.give(y, nil)
}

// attend computes one head. It uses scores, whose elements it overwrites.
func (c *call) attend(
	dst kernel.Matrix[float32], scores *Tensor, q, k, v kernel.Matrix[float32], bias func(i, j int) float32,
) error {
	rows, columns := q.Rows, k.Rows
	clear(scores.Floats)
	scale := c.float("scale", float32(1/math.Sqrt(float64(q.Cols))))
	if err := c.multiply(kernel.Mat(scores.Floats, rows, columns), q, k.T(), scale); err != nil {
		return err
	}
	if err := c.charge(scoreWork * len(scores.Floats)); err != nil {
		return err
	}
	limit, causal := float64(c.float("softcap", 0)), c.int("is_causal", 0) != 0
	for i := range rows {
		row := scores.Floats[i*columns : (i+1)*columns]
		for j := range row {
			if limit > 0 {
				row[j] = float32(limit * math.Tanh(float64(row[j])/limit))
			}
			if row[j] += bias(i, j); causal && j > i {
				row[j] = float32(math.Inf(-1))
			}
		}
		soften(row, row, 0, 1, columns, false)
	}
	return c.multiply(dst, kernel.Mat(scores.Floats, rows, columns), v, 1)
}

// scoreWork is what a score of attention costs, without its products.
const scoreWork = 40

// bias is what attention adds to its scores: a mask, or nothing.
type bias struct {
	t       *Tensor
	strides []int
}

// bias returns the mask of attention, which is input 3: numbers to add, or where to look.
func (c *call) bias(shape []int) (bias, error) {
	t := c.input(3)
	if t == nil {
		return bias{}, nil
	}
	if t.Type.integer() {
		return bias{}, errors.New("a mask of integers, want float32 or bool")
	}
	if all, err := broadcast(t.Shape, shape); err != nil || len(all) != len(shape) || !slices.Equal(all, shape) {
		return bias{}, fmt.Errorf("a mask %v for scores %v", t, shape)
	}
	return bias{t, reach(t.Shape, shape)}, nil
}

// at returns what is added to the scores of a head.
func (m *bias) at(b, head int) func(i, j int) float32 {
	if m.t == nil {
		return func(int, int) float32 { return 0 }
	}
	first := b*m.strides[0] + head*m.strides[1]
	return func(i, j int) float32 {
		at := first + i*m.strides[2] + j*m.strides[3]
		switch {
		case m.t.Type == Float:
			return m.t.Floats[at]
		case m.t.Ints[at] == 0:
			return float32(math.Inf(-1))
		}
		return 0
	}
}

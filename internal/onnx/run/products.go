package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/internal/kernel"
)

// multiply sets dst, which holds zeros, to alpha times the product of a and b.
func (c *call) multiply(dst, a, b kernel.Matrix[float32], alpha float32) error {
	read := dst.Rows*a.Cols + a.Cols*dst.Cols // again for each product, where matrices of a few rows do not pay
	if err := c.charge(productWork + read + dst.Rows*dst.Cols*a.Cols/productsPerWork); err != nil {
		return err
	}
	if a.Cols > 0 {
		kernel.Gemm(dst, alpha, a, b, 0)
	}
	return nil
}

func matMul(c *call) error {
	a, b := c.in[0], c.in[1]
	if len(a.Shape) == 0 || len(b.Shape) == 0 {
		return fmt.Errorf("%v times %v, want matrices or vectors", a, b)
	}
	// A vector is a matrix of one row or column, whose dimension is dropped from the result.
	as, bs := a.Shape, b.Shape
	if len(as) == 1 {
		as = []int{1, as[0]}
	}
	if len(bs) == 1 {
		bs = []int{bs[0], 1}
	}
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	if bs[len(bs)-2] != k {
		return fmt.Errorf("%v times %v", a, b)
	}
	batch, err := broadcast(as[:len(as)-2], bs[:len(bs)-2])
	if err != nil {
		return err
	}
	shape := slices.Clone(batch)
	if len(a.Shape) > 1 {
		shape = append(shape, m)
	}
	if len(b.Shape) > 1 {
		shape = append(shape, n)
	}
	out, err := c.make(Float, shape)
	if err != nil || out.Len() == 0 {
		return c.give(out, err)
	}
	if len(bs) == 2 { // one matrix for all rows: one product instead of many
		m = len(out.Floats) / n
		err := c.multiply(kernel.Mat(out.Floats, m, n), kernel.Mat(a.Floats, m, k), kernel.Mat(b.Floats, k, n), 1)
		return c.give(out, err)
	}
	sa, sb := reach(as[:len(as)-2], batch), reach(bs[:len(bs)-2], batch)
	da, db := last(sa), last(sb)
	walk(batch, sa, sb, func(at, i, j, rows int) {
		for r := range rows {
			x, y, z := (i+r*da)*m*k, (j+r*db)*k*n, (at+r)*m*n
			if err == nil {
				err = c.multiply(kernel.Mat(out.Floats[z:z+m*n], m, n), kernel.Mat(a.Floats[x:x+m*k], m, k),
					kernel.Mat(b.Floats[y:y+k*n], k, n), 1)
			}
		}
	})
	return c.give(out, err)
}

func gemm(c *call) error {
	a, b := c.in[0], c.in[1]
	if len(a.Shape) != 2 || len(b.Shape) != 2 {
		return fmt.Errorf("%v times %v, want matrices", a, b)
	}
	x, y := kernel.Mat(a.Floats, a.Shape[0], a.Shape[1]), kernel.Mat(b.Floats, b.Shape[0], b.Shape[1])
	if c.int("transA", 0) != 0 {
		x = x.T()
	}
	if c.int("transB", 0) != 0 {
		y = y.T()
	}
	if x.Cols != y.Rows {
		return fmt.Errorf("a matrix [%d %d] times [%d %d]", x.Rows, x.Cols, y.Rows, y.Cols)
	}
	out, err := c.make(Float, []int{x.Rows, y.Cols})
	if err != nil {
		return err
	}
	if err := c.multiply(kernel.Mat(out.Floats, x.Rows, y.Cols), x, y, c.float("alpha", 1)); err != nil {
		return err
	}
	bias := c.input(2)
	if bias == nil {
		return c.give(out, nil)
	}
	if err := within(bias, out.Shape); err != nil {
		return err
	}
	beta := c.float("beta", 1)
	zip(out.Floats, out.Shape, out.Floats, out.Shape, bias.Floats, bias.Shape, func(x, y float32) float32 {
		return x + float32(beta*y) // the conversion keeps processors from fusing the two
	})
	return c.give(out, nil)
}

// sumWork is what a factor of a product costs that einsum adds.
const sumWork = 4

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// einsum computes a sum of products of two tensors, or of the elements of one, that a text such as "bij,bjk->bik" describes. It
// knows no dots, which stand for several dimensions.
func einsum(c *call) error {
	text := strings.ReplaceAll(c.node.attributes["equation"].s, " ", "")
	left, result, explicit := strings.Cut(text, "->")
	terms := strings.Split(left, ",")
	if len(text) > 100 || len(terms) != len(c.in) || !explicit || strings.Trim(text, letters+",->") != "" {
		return fmt.Errorf("equation %.100q for %d inputs, want letters for the dimensions of each and of the result", text, len(c.in))
	}
	// The letters of the result come first, so that each of its elements is the sum of a row.
	order := result
	for _, letter := range strings.ReplaceAll(left, ",", "") {
		if !strings.ContainsRune(order, letter) {
			order += string(letter)
		}
	}
	if len(order) > maxRank || strings.Trim(result, left) != "" {
		return fmt.Errorf("equation %.100q, want at most %d letters, and in the result those of inputs", text, maxRank)
	}
	shape, steps := make([]int, len(order)), [2][]int{make([]int, len(order)), make([]int, len(order))}
	for i := range shape {
		shape[i] = -1
		if strings.Count(result, order[i:i+1]) > 1 {
			return fmt.Errorf("equation %.100q has %c twice in the result", text, order[i])
		}
	}
	for k, term := range terms {
		if len(term) != len(c.in[k].Shape) {
			return fmt.Errorf("equation %.100q: %q for %v", text, term, c.in[k])
		}
		for i, stride := range strides(c.in[k].Shape) {
			at, size := strings.IndexByte(order, term[i]), c.in[k].Shape[i]
			if shape[at] >= 0 && shape[at] != size {
				return fmt.Errorf("equation %.100q: %c is %d and %d", text, term[i], shape[at], size)
			}
			shape[at], steps[k][at] = size, steps[k][at]+stride // a letter that is there twice follows the diagonal
		}
	}
	products, err := count(shape)
	if err == nil {
		err = c.charge(sumWork * len(terms) * products)
	}
	if err != nil {
		return err
	}
	out, err := c.make(Float, slices.Clone(shape[:len(result)]))
	if err == nil {
		err = c.reserve(8 * out.Len())
	}
	if err != nil || products == 0 {
		return c.give(out, err)
	}
	c.addProducts(out, shape, steps)
	return c.give(out, nil)
}

// addProducts adds the products of all elements of a shape, whose first dimensions are those of out.
func (c *call) addProducts(out *Tensor, shape []int, steps [2][]int) {
	x, y := c.in[0].Floats, []float32{1}
	if len(c.in) == 2 {
		y = c.in[1].Floats
	}
	sums := make([]float64, out.Len())
	inner, _ := count(shape[len(out.Shape):])
	dx, dy := last(steps[0]), last(steps[1])
	walk(shape, steps[0], steps[1], func(at, i, j, n int) {
		if inner == 1 {
			for k := range n {
				sums[at+k] = float64(x[i+k*dx] * y[j+k*dy])
			}
			return
		}
		sum := 0.0
		for k := range n {
			sum += float64(x[i+k*dx] * y[j+k*dy])
		}
		sums[at/inner] += sum
	})
	for i, sum := range sums {
		out.Floats[i] = float32(sum)
	}
}

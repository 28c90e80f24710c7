package run

import (
	"fmt"
	"slices"

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
	if shape, err := broadcast(bias.Shape, out.Shape); err != nil || !slices.Equal(shape, out.Shape) {
		return fmt.Errorf("%v added to %v", bias, out)
	}
	beta := c.float("beta", 1)
	zip(out.Floats, out.Shape, out.Floats, out.Shape, bias.Floats, bias.Shape, func(x, y float32) float32 {
		return x + float32(beta*y) // the conversion keeps processors from fusing the two
	})
	return c.give(out, nil)
}

package kernel

// narrow is the largest number of columns for which a product runs in plain loops. BLAS is fast only for long rows, and the rows
// of heads and of the last layers are short.
const narrow = 8

// gemmNarrow is Gemm for at most narrow columns of a matrix b that is not transposed.
func gemmNarrow[T Float](dst Matrix[T], alpha T, a, b Matrix[T], beta T) {
	for i := range dst.Rows {
		row := dst.Data[i*dst.Stride:][:dst.Cols]
		for j, v := range row {
			row[j] = keep(v, beta)
		}
		for l := range a.Cols {
			v := alpha * a.Data[a.index(i, l)]
			for j, y := range b.Data[l*b.Stride:][:len(row)] {
				row[j] += v * y
			}
		}
	}
}

// keep returns beta*old, the old content that a product adds to. If beta is 0, it returns 0 even if old is NaN.
func keep[T Float](old, beta T) T {
	if beta == 0 {
		return 0
	}
	return beta * old
}
